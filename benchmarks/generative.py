"""Naive Bayes and discriminant analysis along a parameter: the whole search against GridSearchCV(cv=5).

Processor time, no last fit on either side.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measuring import milliseconds, side_by_side, table, times
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import NearestCentroid

import outsample

JOBS = {
    "GaussianNB, 20 × var_smoothing": (GaussianNB(), {"var_smoothing": np.logspace(-9, 0, 20)}),
    "LDA (lsqr), 10 × shrinkage": (
        LinearDiscriminantAnalysis(solver="lsqr"),
        {"shrinkage": np.linspace(0.05, 0.95, 10)},
    ),
    "QDA, 10 × reg_param": (QuadraticDiscriminantAnalysis(), {"reg_param": np.linspace(0.05, 0.95, 10)}),
    "BernoulliNB, 20 × alpha": (BernoulliNB(), {"alpha": np.logspace(-3, 2, 20)}),
    "NearestCentroid, 10 × shrink_threshold": (NearestCentroid(), {"shrink_threshold": np.linspace(0.1, 2.0, 10)}),
}
SHAPES = [(1000, 20), (5000, 50)]


def row(name, n, p, repeats):
    """One line of the table."""
    estimator, grid = JOBS[name]
    X, y = make_classification(n, p, n_informative=10, flip_y=0.1, random_state=0)

    def search(criterion):
        options = {"criterion": criterion, "refit": False, "random_state": 0}
        return outsample.GridSearch(estimator, grid, **options).fit(X, y)

    jobs = [
        lambda: search("loo"),
        lambda: search(outsample.CrossValidation(5)),
        lambda: search(outsample.Permutation(10)),
        lambda: GridSearchCV(estimator, grid, cv=5, refit=False).fit(X, y),
    ]
    for job in jobs[:3]:
        job()
    left_out, folds, permuted, theirs = side_by_side(jobs, repeats, time.process_time)
    ours = (left_out, folds, permuted)
    return [name, f"{n} × {p}", milliseconds(theirs), *(times(theirs, seconds) for seconds in ours)]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    rows = [row(name, n, p, repeats) for name in JOBS for n, p in SHAPES[: 1 if quick else None]]
    header = ["learner", "rows × columns", "GridSearchCV(cv=5)", "leave-one-out", "5 folds", "10 permutations"]
    yield from table(header, rows)
