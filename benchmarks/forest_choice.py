"""Forests on real tables: how well the setting is chosen out of bag, and how far off its error is.

Twelve settings of 100 trees on tables of 200 to 2000 rows, a third of which is held out, three times. Regret is the
held-out error of the chosen setting minus that of the best of the twelve; bias is the estimate minus the held-out
error, averaged over settings. Errors of regression are shares of the variance of y.

    python benchmarks/forest_choice.py FOLDER RESULTS      # FOLDER: classification/*.csv, regression/*.csv

Finished splits are kept in RESULTS, one JSON line each, and not computed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import table
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, ParameterGrid, train_test_split

from outsample import GridSearch, OutOfBag

GRID = {"max_features": [0.15, "sqrt", 0.6, 1.0], "min_samples_leaf": [1, 3, 10]}
ROWS = (200, 2000)
SPLITS = 3


def tables(folder: Path) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(kind, name, table) of those with a number of rows within `ROWS`, the smallest first."""
    found = [(path.parent.name, path.stem, pd.read_csv(path)) for path in sorted(folder.glob("*/*.csv"))]
    return iter(sorted((t for t in found if ROWS[0] <= len(t[2]) <= ROWS[1]), key=lambda t: len(t[2])))


def record(kind: str, data: pd.DataFrame, split: int) -> dict[str, list[float]]:
    """Errors of the twelve settings on one split: corrected and raw out of bag, by five folds, and held out."""
    X, y = data.drop(columns="target").to_numpy(float), data["target"].to_numpy()
    classes = kind == "classification"
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=split, stratify=y if classes else None)
    scale = 1.0 if classes else float(np.var(y_test))
    forest = (RandomForestClassifier if classes else RandomForestRegressor)(100, random_state=split)

    def error(labels, predictions):
        return float(np.mean(labels != predictions if classes else (labels - predictions) ** 2)) / scale

    search = GridSearch(forest, GRID, criterion=OutOfBag(True, keep_predictions=True), refit=False, random_state=split)
    search.fit(X, y)
    order = np.argsort([list(ParameterGrid(GRID)).index(params) for params in search.curve_.params])
    left_out = search.curve_.out_of_fold[order]
    raw = np.unique(y)[left_out] if classes else left_out
    folds = GridSearchCV(forest, GRID, cv=5, refit=False, scoring=None if classes else "neg_mean_squared_error")
    scores = folds.fit(X, y).cv_results_["mean_test_score"]
    settings = [forest.set_params(**params).fit(X, y).predict(X_test) for params in ParameterGrid(GRID)]
    return {
        "oob": (search.curve_.out_sample[order] / scale).tolist(),
        "raw": [error(y, predicted) for predicted in raw],
        "cv": ((1 - scores if classes else -scores) / scale).tolist(),
        "test": [error(y_test, predicted) for predicted in settings],
    }


def summary(records: list[dict]) -> Iterator[str]:
    """Regret and bias of each way to choose, with standard errors over tables."""
    for kind in ("classification", "regression"):
        own = [r for r in records if r["kind"] == kind]
        if not own:
            continue
        names = sorted({r["name"] for r in own})
        rows = []
        for way, label in (("oob", "out of bag, corrected"), ("raw", "out of bag, raw"), ("cv", "5 folds")):
            regrets, biases, ratios = ([] for _ in range(3))
            for name in names:
                errors = [(np.array(r[way]), np.array(r["test"])) for r in own if r["name"] == name]
                regrets.append(np.mean([test[np.argmin(found)] - test.min() for found, test in errors]))
                biases.append(np.mean([np.mean(found - test) for found, test in errors]))
                chosen, by_folds = (
                    np.mean([np.array(r["test"])[np.argmin(r[w])] for r in own if r["name"] == name])
                    for w in (way, "cv")
                )
                ratios.append(np.log(max(chosen, 1e-3) / max(by_folds, 1e-3)))
            rows.append([label, *(plus_minus(values) for values in (regrets, biases)), plus_minus(ratios, np.exp)])
        yield f"{kind}, {len(names)} tables"
        yield ""
        yield from table(["chosen by", "regret", "bias", "held-out error in that of 5 folds"], rows)


def plus_minus(values: list[float], shown=lambda value: value) -> str:
    """Mean over tables and its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{shown(np.mean(values)):.4f} ± {error:.4f}"


def main() -> None:
    """Compute what is missing, then print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--most", type=int, help="compute at most so many further splits")
    options = parser.parse_args()
    records = [json.loads(line) for line in options.results.open()] if options.results.exists() else []
    known = {(r["kind"], r["name"], r["split"]) for r in records}
    every = [(split, *found) for split in range(SPLITS) for found in tables(options.folder)]
    missing = [found for found in every if (found[1], found[2], found[0]) not in known]
    for split, kind, name, data in missing[: options.most]:
        records.append({"kind": kind, "name": name, "split": split, **record(kind, data, split)})
        with options.results.open("a") as file:
            file.write(json.dumps(records[-1]) + "\n")
    print("\n".join(summary(records)))


if __name__ == "__main__":
    main()
