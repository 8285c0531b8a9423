"""Forests on real tables: how well the setting is chosen out of bag, and how far off its error is.

Twelve settings of 100 trees on tables of 200 to 2000 rows, a third of which is held out, three times. Regret is the
held-out error of the chosen setting minus that of the best of the twelve; bias is the estimate minus the held-out
error, averaged over settings. Errors of regression are shares of the variance of y.

    python benchmarks/forest_choice.py FOLDER RESULTS      # FOLDER: classification/*.csv, regression/*.csv

With --scores the same by log loss and, where there are two classes, by ROC AUC and F1: on all tables with classes,
twice, 600 rows at most to choose on, against ten folds. The error of an estimate is its root mean square over settings.

Finished splits are kept in RESULTS, one JSON line each, and not computed again; a file of its own for --scores.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import table
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import f1_score, log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)

from outsample import GridSearch, OutOfBag

GRID = {"max_features": [0.15, "sqrt", 0.6, 1.0], "min_samples_leaf": [1, 3, 10]}
ROWS = (200, 2000)
SPLITS = 3
# The same of --scores; rows to choose on, and rows held out that are looked at.
SPLITS_OF_SCORES, MOST_ROWS, MOST_TESTED = 2, 600, 4000


def tables(folder: Path, scores: bool) -> list[tuple[str, str, pd.DataFrame]]:
    """(kind, name, table), the smallest first: with a number of rows within `ROWS`, or all with classes, for scores."""
    files = sorted(folder.glob("classification/*.csv" if scores else "*/*.csv"))
    found = [(path.parent.name, path.stem, pd.read_csv(path)) for path in files]
    return sorted((t for t in found if scores or ROWS[0] <= len(t[2]) <= ROWS[1]), key=lambda t: len(t[2]))


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


def risks(y: np.ndarray, shares: np.ndarray) -> dict[str, float]:
    """Log loss and, of two classes, what ROC AUC and F1 miss to 1, of shares of the classes, sorted."""
    names, known = np.unique(y), ~np.isnan(shares).any(axis=1)
    y, shares = y[known], shares[known]
    found = {"log": log_loss(y, shares, labels=names)}
    if len(names) == 2:
        found["roc_auc"] = 1 - roc_auc_score(y, shares[:, 1])
        found["f1"] = 1 - f1_score(y, names[shares.argmax(axis=1)], pos_label=names[1])
    return found


def record_of_scores(data: pd.DataFrame, split: int) -> dict[str, dict[str, list[float]]]:
    """The same by scores: for each of them the risks of the twelve settings, by every way."""
    X, y = data.drop(columns="target").to_numpy(float), data["target"].to_numpy()
    size = min(2 * len(y) // 3, MOST_ROWS)
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, random_state=split, stratify=y)
    X_test, y_test = X_test[:MOST_TESTED], y_test[:MOST_TESTED]
    forest, settings = RandomForestClassifier(100, random_state=split), list(ParameterGrid(GRID))
    folds = StratifiedKFold(10, shuffle=True, random_state=split)
    every = [clone(forest).set_params(**params) for params in settings]
    ways = {
        "cv": [risks(y, cross_val_predict(it, X, y, cv=folds, method="predict_proba")) for it in every],
        "test": [risks(y_test, it.fit(X, y).predict_proba(X_test)) for it in every],
    }
    found = {}
    for loss in ways["test"][0]:
        search = GridSearch(
            forest, GRID, loss=loss, criterion=OutOfBag(True, keep_predictions=True), refit=False, random_state=split
        )
        curve = search.fit(X, y).curve_
        order = np.argsort([settings.index(params) for params in curve.params])
        raw = [np.eye(len(np.unique(y)))[said] if said.ndim == 1 else said for said in curve.out_of_fold[order]]
        found[loss] = {
            "oob": (curve.out_sample[order] + (0.0 if loss == "log" else 1.0)).tolist(),
            "raw": [risks(y, shares)[loss] for shares in raw],
            **{way: [risk[loss] for risk in each] for way, each in ways.items()},
        }
    return found


def summary_of_scores(records: list[dict]) -> Iterator[str]:
    """Regret, bias and error of each way, with standard errors over tables."""
    rows = []
    for loss in ("log", "roc_auc", "f1"):
        for way, label in (("oob", "out of bag, corrected"), ("raw", "out of bag, raw"), ("cv", "10 folds")):
            by_table: dict[str, list[np.ndarray]] = {}
            for r in records:
                if loss in r["scores"]:
                    found, test = (np.array(r["scores"][loss][name]) for name in (way, "test"))
                    regret = test[np.argmin(found)] - test.min()
                    numbers = regret, np.mean(found - test), np.sqrt(np.mean((found - test) ** 2))
                    by_table.setdefault(r["name"], []).append(np.array(numbers))
            means = np.array([np.mean(each, axis=0) for each in by_table.values()])
            rows.append([f"{loss}, {len(means)} tables", label, *(plus_minus(values) for values in means.T)])
    yield from table(["score", "chosen by", "regret", "bias", "error of the estimate"], rows)


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
    parser.add_argument("--scores", action="store_true", help="log loss, ROC AUC and F1 in place of errors")
    parser.add_argument("--most", type=int, help="compute at most so many further splits")
    options = parser.parse_args()
    records = [json.loads(line) for line in options.results.open()] if options.results.exists() else []
    known = {(r["kind"], r["name"], r["split"]) for r in records}
    posed = tables(options.folder, options.scores)
    every = [(split, *found) for split in range(SPLITS_OF_SCORES if options.scores else SPLITS) for found in posed]
    missing = [found for found in every if (found[1], found[2], found[0]) not in known]
    for split, kind, name, data in missing[: options.most]:
        found = {"scores": record_of_scores(data, split)} if options.scores else record(kind, data, split)
        records.append({"kind": kind, "name": name, "split": split, **found})
        with options.results.open("a") as file:
            file.write(json.dumps(records[-1]) + "\n")
    print("\n".join((summary_of_scores if options.scores else summary)(records)))


if __name__ == "__main__":
    main()
