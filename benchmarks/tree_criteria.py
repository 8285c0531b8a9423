"""Trees along their number of leaves on real tables: folds alone against folds and drawn labels.

    OUTSAMPLE_DATA=… python benchmarks/tree_criteria.py RECORD.jsonl [--splits 6] [--most-rows 1000]

RECORD keeps every finished line, so that an interrupted run goes on. Every table of `suite/` is split at random, a
quarter is held out; the criteria choose among 2 … 50 leaves. The table printed has the held-out error of the choice
relative to that of GridSearchCV(cv=10), geometric means over tables with standard errors, and how far the estimate is
from the held-out error (root mean square; of numbers as a share of the variance of y, at most 1).
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import table
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from suite import FAMILIES, LEAVES, tables

from outsample import CrossValidation, GridSearch, RowsAndLabels

CRITERIA = {
    "GridSearchCV(cv=10)": {"cv": 10},
    "5 folds": {"criterion": CrossValidation(5, shuffle=True, pooled=True)},
    "10 folds": {"criterion": CrossValidation(10, shuffle=True, pooled=True)},
    "20 folds": {"criterion": CrossValidation(20, shuffle=True, pooled=True)},
    "rows-and-labels, 10 fits": {"criterion": RowsAndLabels(10)},
    "rows-and-labels, 20 fits": {"criterion": RowsAndLabels(20)},
}


def line_of(kind: str, name: str, X: np.ndarray, y: np.ndarray, split: int, most: int) -> dict[str, object]:
    """Held-out error of every criterion's choice on one split, and its estimate of it."""
    classes = kind == "classification"
    seed = zlib.crc32(f"{name}/{split}".encode()) % 2**31
    parts = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y if classes else None)
    X, X_test, y, y_test = parts[0][:most], parts[1], parts[2][:most], parts[3]
    tree, grid = FAMILIES["tree"][kind]
    scale = 1.0 if classes else float(np.var(y_test))
    errors = {}
    for leaves in LEAVES["max_leaf_nodes"]:
        said = clone(tree).set_params(max_leaf_nodes=leaves).fit(X, y).predict(X_test)
        errors[leaves] = float(np.mean(said != y_test) if classes else np.mean((said - y_test) ** 2)) / scale
    found: dict[str, object] = {"kind": kind, "table": name, "split": split}
    for criterion, arguments in CRITERIA.items():
        seeds = {} if "cv" in arguments else {"random_state": split}
        scoring = "accuracy" if classes else "neg_mean_squared_error"
        search = GridSearch(tree, grid, scoring=scoring, refit=False, **arguments, **seeds).fit(X, y)
        estimate = 1 - search.best_score_ if classes else -search.best_score_ / scale
        found[criterion] = errors[search.best_params_["max_leaf_nodes"]]
        found[f"{criterion}, estimate"] = estimate
    return found


def summary(record: Path) -> str:
    """Relative errors and root mean squares of the estimates' errors."""
    frame, rows = pd.read_json(record, lines=True), []
    for kind, group in frame.groupby("kind"):
        # Half an error in a hundred more on both sides, so that perfect models have a ratio too.
        small = 0.005 if kind == "classification" else 0.0
        base = group["GridSearchCV(cv=10)"] + small
        for name in CRITERIA:
            ratio = np.log((group[name] + small) / base).groupby(group["table"]).mean()
            mean, error = float(np.exp(ratio.mean())), float(ratio.std() / np.sqrt(len(ratio)))
            apart = np.clip(group[f"{name}, estimate"] - group[name], -1, 1)
            rms = float(np.sqrt(np.mean(apart**2)))
            rows.append([str(kind), name, str(len(ratio)), f"{mean:.3f} ± {mean * error:.3f}", f"{rms:.3f}"])
    return "\n".join(table(["kind", "criterion", "tables", "held-out error / cv=10", "error of the estimate"], rows))


def main() -> None:
    """Run what is not in the record yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path)
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--most-rows", type=int, default=1000)
    options = parser.parse_args()
    options.record.touch()
    known = [json.loads(line) for line in options.record.read_text().splitlines()]
    done = {(line["table"], line["split"]) for line in known}
    warnings.simplefilter("ignore")
    folder = Path(os.environ.get("OUTSAMPLE_DATA", "../shared/data"))
    with options.record.open("a") as record:
        for split in range(options.splits):
            for kind, name, X, y in tables(folder):
                if (name, split) in done:
                    continue
                record.write(json.dumps(line_of(kind, name, X, y, split, options.most_rows)) + "\n")
                record.flush()
    print(summary(options.record))


if __name__ == "__main__":
    main()
