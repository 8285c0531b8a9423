"""Twelve criteria on one tree path against one cross-validated grid search over the same trees."""

from __future__ import annotations

from collections.abc import Iterator

from measuring import milliseconds, side_by_side, table
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


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    X, y = load_breast_cancer(return_X_y=True)

    def ours():
        return outsample.compare(TREE, X, y, param_grid=GRID, criteria=CRITERIA, random_state=0)

    def theirs():
        return GridSearchCV(TREE, GRID, cv=10).fit(X, y)

    ours()
    mine, other = side_by_side([ours, theirs], repeats)
    header = ["569 × 30, 20 sizes", f"compare, {len(CRITERIA)} criteria", "GridSearchCV(cv=10) alone", "ratio"]
    yield from table(header, [["one process", milliseconds(mine), milliseconds(other), f"{mine / other:.2f}"]])
