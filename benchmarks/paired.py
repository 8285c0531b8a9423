"""Do the tests of `compare_models` keep their level? Pairs of learners that are equally good, on simulated data.

The two learners of a pair see different columns that have the same joint distribution with y, so that their expected
errors are equal although on any data set one of them is better. Rejections at 5 % should not exceed 5 %; beside it, the
same without the correction for resampling, and how often both learners are plausible, which should be 90 % or more
(each is in the set in 95 %). The last lines have a true difference, known from large sets, for the interval to cover.

    python benchmarks/paired.py RESULTS [--data-sets 500]

Finished lines are kept in RESULTS, one JSON line each, and not computed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import table
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample.curve.intervals import difference_of_rows, widening
from outsample.curve.plausible import plausible_models
from outsample.data.stability import share_of_training

SIZES = (50, 100, 300)
CASES = {
    "tree": (DecisionTreeClassifier(random_state=0), True),
    "tree of 4 leaves": (DecisionTreeClassifier(max_leaf_nodes=4, random_state=0), True),
    "5 neighbours": (KNeighborsClassifier(5), True),
    "logistic": (LogisticRegression(), True),
    "linear regression": (LinearRegression(), False),
    "lasso, pure noise": (Lasso(0.1), False),
    "regression tree": (DecisionTreeRegressor(min_samples_leaf=5, random_state=0), False),
}
LEFT, RIGHT, BOTH = slice(0, 3), slice(3, 6), slice(0, 6)


def data(n: int, classes: bool, rng: np.random.Generator, noise: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Six columns: y depends on the first three as on the last three, or on none."""
    X = rng.standard_normal((n, 6))
    signal = 0.0 if noise else X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] + X[:, 4] * X[:, 5]
    y = signal + rng.standard_normal(n)
    return X, (y > 0).astype(int) if classes else y


def left_out(pair: list[tuple], X: np.ndarray, y: np.ndarray, classes: bool, seed: int) -> np.ndarray:
    """Losses of two learners, each on its columns, on the rows of ten folds, as `compare_models` has them: (2, n)."""
    losses = np.empty((2, len(y)))
    folds = (StratifiedKFold if classes else KFold)(10, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        for i, (learner, columns) in enumerate(pair):
            said = clone(learner).fit(X[train][:, columns], y[train]).predict(X[test][:, columns])
            losses[i, test] = said != y[test] if classes else (said - y[test]) ** 2
    return losses


def rejections(learner, classes: bool, n: int, data_sets: int) -> list[float]:
    """Shares of data sets: p below 0.05 as reported, below 0.05 without the correction, both plausible."""
    found = []
    for number in range(data_sets):
        X, y = data(n, classes, np.random.default_rng([n, number]), isinstance(learner, Lasso))
        losses = left_out([(learner, LEFT), (learner, RIGHT)], X, y, classes, number)
        factor = widening(n, 0.9 * n, share_of_training(learner))
        p = [difference_of_rows(*losses, None, None, f).pvalue for f in (factor, 1.0)]
        found.append([p[0] < 0.05, p[1] < 0.05, plausible_models(losses, widening=factor).all()])
    return np.mean(found, axis=0).tolist()


def coverage(n: int, data_sets: int) -> list[float]:
    """Share of data sets whose interval covers the true difference of two trees, full and of 4 leaves."""
    full, small = CASES["tree"][0], CASES["tree of 4 leaves"][0]
    X_new, y_new = data(20_000, True, np.random.default_rng(0))
    true, found = [], []
    for number in range(data_sets):
        X, y = data(n, True, np.random.default_rng([n, number]))
        wrong = [np.mean(clone(tree).fit(X, y).predict(X_new) != y_new) for tree in (full, small)]
        true.append(wrong[0] - wrong[1])
        losses = left_out([(full, BOTH), (small, BOTH)], X, y, True, number)
        found.append(difference_of_rows(*losses, None, None, widening(n, 0.9 * n, share_of_training(full))).interval())
    low, high = np.array(found).T
    return [float(np.mean((low <= np.mean(true)) & (np.mean(true) <= high)))]


def remembered(path: Path, key: str, compute: Callable[[], list[float]]) -> list[float]:
    """What `compute` gives, kept under a key in a file of JSON lines."""
    known = dict(json.loads(line) for line in path.read_text().splitlines()) if path.exists() else {}
    if key not in known:
        known[key] = compute()
        with path.open("a") as file:
            file.write(json.dumps([key, known[key]]) + "\n")
    return known[key]


def main() -> None:
    """Compute what is not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--data-sets", type=int, default=500)
    options = parser.parse_args()
    rows, times = [], options.data_sets
    for n in SIZES:
        for name, case in CASES.items():
            found = remembered(options.results, f"{name} {n} {times}", lambda c=case, n=n: rejections(*c, n, times))
            rows.append([name, str(n), *(f"{share:.3f}" for share in found)])
    heads = ["learner, twice", "n", "rejected at .05", "without the correction", "both plausible"]
    print("\n".join(table(heads, rows)))
    for n in SIZES:
        (share,) = remembered(options.results, f"coverage {n} {times}", lambda n=n: coverage(n, times))
        print(f"True difference of trees of 4 leaves and full ones, n = {n}: covered in {share:.3f}.")


if __name__ == "__main__":
    main()
