"""Does the default choose as well as ten folds? Real tables, searches as people run them, judged on rows held out.

    OUTSAMPLE_DATA=… python benchmarks/suite.py RECORD.jsonl [--families tree knn …] [--splits 3] [--most-rows 2000]

RECORD keeps every finished line, so that an interrupted run goes on; the table is printed at the end. Every table of
`suite/` is split at random, a quarter is held out. Ours is `GridSearch(estimator, grid)` and nothing else; its rivals
are `cv=10`, `cv=5`, "permutation" and "two-stage". Searches by `cv=` are GridSearchCV's own numbers. Errors are shares
of wrong labels and mean squared errors, relative to `cv=10`; processor time is that of GridSearchCV(cv=10), where it
was run (first split), over ours.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample

FOREST = {"max_features": [0.2, 0.5, 1.0], "min_samples_leaf": [1, 3, 10]}
BOOSTING = {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [4, 15, 31]}
SHAPES = {"max_depth": [2, 3, 5, 8], "min_samples_leaf": [1, 3, 10]}
SUPPORT = np.logspace(-2, 2, 5)
LEAVES, NEIGHBORS = {"max_leaf_nodes": range(2, 51)}, range(1, 41)


def scaled(learner: Any, **grid: Any) -> tuple[Any, dict[str, Any]]:
    """A learner behind a scaler, and its grid."""
    name = type(learner).__name__.lower()
    return make_pipeline(StandardScaler(), learner), {f"{name}__{key}": values for key, values in grid.items()}


FAMILIES: dict[str, dict[str, tuple[Any, dict[str, Any]]]] = {
    "tree": {
        "classification": (DecisionTreeClassifier(random_state=0), LEAVES),
        "regression": (DecisionTreeRegressor(random_state=0), LEAVES),
    },
    "two-parameter tree": {
        "classification": (DecisionTreeClassifier(random_state=0), SHAPES),
        "regression": (DecisionTreeRegressor(random_state=0), SHAPES),
    },
    "knn": {
        "classification": scaled(KNeighborsClassifier(), n_neighbors=NEIGHBORS),
        "regression": scaled(KNeighborsRegressor(), n_neighbors=NEIGHBORS),
    },
    "linear": {
        "classification": scaled(LogisticRegression(max_iter=2000), C=np.logspace(-3, 3, 10)),
        "regression": scaled(Ridge(), alpha=np.logspace(-3, 4, 20)),
    },
    "svm": {
        "classification": scaled(SVC(), C=SUPPORT, gamma=SUPPORT / 10),
        "regression": scaled(SVR(), C=SUPPORT, gamma=SUPPORT / 10),
    },
    "forest": {
        "classification": (RandomForestClassifier(100, random_state=0), FOREST),
        "regression": (RandomForestRegressor(100, random_state=0), FOREST),
    },
    "boosting": {
        "classification": (HistGradientBoostingClassifier(max_iter=60, random_state=0), BOOSTING),
        "regression": (HistGradientBoostingRegressor(max_iter=60, random_state=0), BOOSTING),
    },
}
RIVALS = {
    "auto": {},
    "cv=10": {"cv": 10},
    "cv=5": {"cv": 5},
    "permutation": {"criterion": "permutation"},
    "two-stage": {"criterion": "two-stage"},
}
CHEAP = ("tree", "knn", "linear")


def tables(folder: Path) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
    """(kind, name, X, y), small tables first."""
    found = []
    for kind in ("classification", "regression"):
        for file in (folder / "suite" / kind).glob("*.csv"):
            frame = pd.read_csv(file)
            y = frame.pop("target").to_numpy()
            found.append((kind, file.stem, frame.to_numpy(dtype=float), y))
    return sorted(found, key=lambda table: table[2].size)


def lines_of(family: str, kind: str, table: str, X: np.ndarray, y: np.ndarray, split: int, most: int) -> list[dict]:
    """What every rival chose on one split, what it cost, and how wrong it is on the rows held out."""
    seed = zlib.crc32(f"{table}/{split}".encode()) % 2**31
    labels = y if kind == "classification" else None
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=labels)
    X, y = X[:most], y[:most]
    estimator, grid = FAMILIES[family][kind]
    rivals = RIVALS if family in CHEAP else {name: RIVALS[name] for name in ("auto", "cv=10", "cv=5")}
    found = []
    for name, arguments in rivals.items():
        start = time.process_time()
        seeds = {} if "cv" in arguments else {"random_state": split}
        search = outsample.GridSearch(estimator, grid, **arguments, **seeds).fit(X, y)
        line = {"family": family, "kind": kind, "table": table, "split": split, "rival": name, "rows": len(y)}
        line |= {"seconds": time.process_time() - start, "fits": search.n_fits_, "criterion": search.curve_.criterion}
        said = search.predict(X_test)
        wrong = said != y_test if kind == "classification" else np.square(said - y_test)
        error, spread = float(np.mean(wrong)), float(np.std(wrong) / np.sqrt(len(wrong)))
        found.append(line | {"error": error, "error_se": spread, "chosen": str(search.best_params_)})
    if split == 0:
        start = time.process_time()
        GridSearchCV(estimator, grid, cv=10).fit(X, y)
        found[0]["theirs"] = time.process_time() - start
    return found


def main() -> None:
    """Run what is not in the record yet, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("record", type=Path)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--most-rows", type=int, default=2000)
    parser.add_argument("--most-cells", type=int, default=10**9)
    arguments = parser.parse_args()
    arguments.record.touch()
    known = [json.loads(line) for line in arguments.record.read_text().splitlines()]
    done = {(line["family"], line["table"], line["split"]) for line in known}
    warnings.simplefilter("ignore")
    folder = Path(os.environ.get("OUTSAMPLE_DATA", "../shared/data"))
    with arguments.record.open("a") as record:
        for split in range(arguments.splits):
            for kind, table, X, y in tables(folder):
                for family in arguments.families:
                    if (family, table, split) in done or X.size > arguments.most_cells:
                        continue
                    for line in lines_of(family, kind, table, X, y, split, arguments.most_rows):
                        record.write(json.dumps(line) + "\n")
                    record.flush()
    print(summary(arguments.record))


def summary(record: Path) -> str:
    """Geometric means of errors relative to cv=10, with standard errors over tables; worst tables; cost."""
    frame = pd.read_json(record, lines=True)
    rows = []
    for (family, kind), group in frame.groupby(["family", "kind"]):
        errors = group.pivot_table(index=["table", "split"], columns="rival", values="error")
        # Half an error more on both sides, so that perfect models have a ratio too.
        small = 0.5 / 100 if kind == "classification" else 0.0
        ratios = np.log((errors + small).div(errors["cv=10"] + small, axis=0)).groupby("table").mean()
        ours = group[group.rival == "auto"]
        row = {"family": family, "kind": kind, "tables": len(ratios)}
        for name in ratios:
            mean, error = np.exp(ratios[name].mean()), ratios[name].std() / np.sqrt(len(ratios))
            row[name] = f"{mean:.3f} ± {mean * error:.3f}"
        row["worst"] = f"{np.exp(ratios['auto'].max()):.2f} {ratios['auto'].idxmax()}"
        row["fits"] = f"{ours.fits.mean():.0f}"
        timed = ours.dropna(subset=["theirs"])
        row["times faster"] = f"{np.exp(np.log(timed.theirs / timed.seconds).mean()):.1f}"
        rows.append(row)
    return pd.DataFrame(rows).to_string(index=False)


if __name__ == "__main__":
    main()
