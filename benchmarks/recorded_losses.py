"""Left-out losses of every candidate on every row of real tables, recorded once for studies of races.

python benchmarks/recorded_losses.py FOLDER --data TABLES [--families svc forest boosting mlp svc200] [--splits 2]
    [--train 1000]

TABLES is a folder with `classification/*.csv` and `regression/*.csv`, the last column the target. For tables of 500 to
5000 rows, every learner and every split into two thirds to choose on, at most --train rows, and the others to test,
FOLDER gets one file with the losses by ten folds and by five, and the losses of every candidate on the rows held out.
Two hundred candidates see every third table only. Small tables come first. A file that is there is not made again, so
an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

SMALLEST, LARGEST = 500, 5000
FOLDS = (10, 5)
MANY = 100

Family = tuple[BaseEstimator, BaseEstimator, dict[str, list[Any]]]

FAMILIES: dict[str, Family] = {
    "svc": (
        make_pipeline(StandardScaler(), SVC(max_iter=100_000)),
        make_pipeline(StandardScaler(), SVR(max_iter=100_000)),
        {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [0.0003, 0.003, 0.03, 0.3, 3.0]},
    ),
    "forest": (
        RandomForestClassifier(50, random_state=0),
        RandomForestRegressor(50, random_state=0),
        {"max_features": [0.1, 0.3, 0.6, 1.0], "min_samples_leaf": [1, 5, 20]},
    ),
    "boosting": (
        HistGradientBoostingClassifier(max_iter=50, random_state=0),
        HistGradientBoostingRegressor(max_iter=50, random_state=0),
        {"learning_rate": [0.03, 0.1, 0.3], "max_leaf_nodes": [4, 15, 31], "min_samples_leaf": [5, 20, 60]},
    ),
    "mlp": (
        make_pipeline(StandardScaler(), MLPClassifier(max_iter=100, random_state=0)),
        make_pipeline(StandardScaler(), MLPRegressor(max_iter=100, random_state=0)),
        {"hidden_layer_sizes": [(20,), (100,)], "alpha": [1e-4, 1e-2, 1.0]},
    ),
    "svc200": (
        make_pipeline(StandardScaler(), SVC(max_iter=100_000)),
        make_pipeline(StandardScaler(), SVR(max_iter=100_000)),
        {"C": np.logspace(-1, 3, 20).tolist(), "gamma": np.logspace(-3.5, 0.5, 10).tolist()},
    ),
}
"""Learner for classes, learner for numbers, grid."""

STRIDE = {"svc": 1, "forest": 1, "boosting": 1, "mlp": 1, "svc200": 3}
"""One table of so many is recorded."""


def tables(folder: Path) -> Iterator[tuple[str, bool, np.ndarray, np.ndarray]]:
    """(name, whether it has classes, X, y) of every table of the sizes studied, small ones first.

    Targets that are numbers have variance one.
    """
    files = [file for kind in ("classification", "regression") for file in sorted((folder / kind).glob("*.csv"))]
    for file in sorted(files, key=lambda file: file.stat().st_size):
        frame = pd.read_csv(file)
        if SMALLEST <= len(frame) <= LARGEST:
            X, y = frame.iloc[:, :-1].to_numpy(float), frame.iloc[:, -1].to_numpy()
            classes = file.parent.name == "classification"
            yield file.stem, classes, X, y if classes else (y - y.mean()) / y.std()


def candidates(family: str, classes: bool) -> list[BaseEstimator]:
    """The learner with every setting of its grid."""
    for_classes, for_numbers, grid = FAMILIES[family]
    learner = for_classes if classes else for_numbers
    prefix = f"{learner.steps[-1][0]}__" if hasattr(learner, "steps") else ""
    return [
        clone(learner).set_params(**{prefix + name: value for name, value in setting.items()})
        for setting in ParameterGrid(grid)
    ]


def losses_of(model: BaseEstimator, X: np.ndarray, y: np.ndarray, classes: bool) -> np.ndarray:
    """Zero-one or squared loss of every row."""
    predicted = model.predict(X)
    return (predicted != y).astype(float) if classes else (predicted - y) ** 2


def split_rows(n: int, y: np.ndarray, classes: bool, split: int, n_train: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows to choose on, rows to test)."""
    train, test = train_test_split(
        np.arange(n), train_size=n_train, random_state=split, stratify=y if classes else None
    )
    return train, test


def record(family: str, classes: bool, X: np.ndarray, y: np.ndarray, split: int, most: int) -> dict[str, np.ndarray]:
    """Losses by ten folds and by five, (candidates, rows), folds of the rows, losses of every candidate held out.

    Of many candidates the losses by ten folds alone.
    """
    train, test = split_rows(len(y), y, classes, split, min(most, 2 * len(y) // 3))
    models, found = candidates(family, classes), {}
    for k in FOLDS if len(models) < MANY else FOLDS[:1]:
        splitter = (StratifiedKFold if classes else KFold)(k, shuffle=True, random_state=split)
        fold, losses = np.empty(len(train), int), np.empty((len(models), len(train)))
        for number, (fitted, left) in enumerate(splitter.split(X[train], y[train])):
            fold[left] = number
            for j, model in enumerate(models):
                fit = clone(model).fit(X[train[fitted]], y[train[fitted]])
                losses[j, left] = losses_of(fit, X[train[left]], y[train[left]], classes)
        found |= {f"fold{k}": fold, f"losses{k}": losses}
    final = [clone(model).fit(X[train], y[train]) for model in models]
    held_out = np.stack([losses_of(fit, X[test], y[test], classes) for fit in final])
    return {**found, "held_out": held_out}


def main() -> None:
    """Record what is not recorded yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("OUTSAMPLE_DATA", ".")) / "suite")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--train", type=int, default=1000, help="number of rows")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for split in range(options.splits):
        for number, (name, classes, X, y) in enumerate(tables(options.data)):
            for family in options.families:
                file = options.folder / f"{family}-{name}-{split}.npz"
                if number % STRIDE[family] == 0 and not file.exists():
                    start = time.perf_counter()
                    keep(file, classes=classes, **record(family, classes, X, y, split, options.train))
                    print(file.stem, f"{time.perf_counter() - start:.0f} s", flush=True)


def keep(file: Path, **arrays: Any) -> None:
    """Write arrays to a file that is there only when it is whole."""
    part = file.with_suffix(".part")
    with part.open("wb") as out:
        np.savez_compressed(out, **arrays)
    part.rename(file)


if __name__ == "__main__":
    main()
