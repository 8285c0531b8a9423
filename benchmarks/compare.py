"""Twelve criteria on one tree path against one cross-validated grid search over the same trees.

Run: python benchmarks/compare.py [repetitions]. Both sides run in this process, one after the other, in turn; the
first, untimed round compiles and warms up. Prints the median seconds of each side and their ratio.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import outsample

TREE = DecisionTreeClassifier(criterion="entropy", random_state=0)
GRID = {"max_leaf_nodes": list(range(2, 22))}
CRITERIA = [
    "permutation",
    "label-bootstrap",
    "rademacher",
    "discrepancy",
    "expected-discrepancy",
    "resubstitution",
    "holdout",
    "kfold",
    outsample.LeaveOneOut(budget=10),
    "bootstrap",
    "632",
    "632+",
]


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(repetitions: int) -> None:
    """Measure and print."""
    X, y = load_breast_cancer(return_X_y=True)

    def ours() -> object:
        return outsample.compare(TREE, X, y, param_grid=GRID, criteria=CRITERIA, random_state=0)

    def theirs() -> object:
        return GridSearchCV(TREE, GRID, cv=10).fit(X, y)

    print(ours())
    theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repetitions)]
    mine, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(f"\ncompare with {len(CRITERIA)} criteria  {mine:.2f} s")
    print(f"GridSearchCV(cv=10) alone   {other:.2f} s")
    print(f"ratio                       {mine / other:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
