"""Ridge and nearest neighbours behind a StandardScaler, against GridSearchCV(cv=5) and cvmatrix. Processor time.

Nothing is fitted again on either side (`refit=False`). cvmatrix gives the sums of products of every training set; the
20 ridge fits of each fold, their predictions and r2 are numpy.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measuring import milliseconds, side_by_side, table, times
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import outsample

ALPHAS = np.logspace(-2, 4, 20)
RIDGE = make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": ALPHAS}, "r2"
NEIGHBORS = (
    make_pipeline(StandardScaler(), KNeighborsClassifier()),
    {"kneighborsclassifier__n_neighbors": list(range(1, 41))},
    "accuracy",
)


def data(n, p):
    """A table with columns of different units, and real labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) * rng.uniform(0.1, 10, p) + 5 * rng.standard_normal(p)
    return X, X @ rng.standard_normal(p) + 20 * rng.standard_normal(n)


def ours(job, X, y, criterion):
    """The library's search."""
    estimator, grid, scoring = job
    return outsample.GridSearch(estimator, grid, criterion=criterion, loss=scoring, refit=False, random_state=0).fit(
        X, y
    )


def theirs(job, X, y):
    """scikit-learn's search."""
    estimator, grid, scoring = job
    return GridSearchCV(estimator, grid, scoring=scoring, cv=5, refit=False).fit(X, y)


def by_cvmatrix(X, y, n_folds=5):
    """Mean r2 over folds of every alpha, (alphas,)."""
    from cvmatrix import CVMatrix, Partitioner

    partitioner = Partitioner(np.repeat(np.arange(n_folds), len(y) // n_folds))
    moments = CVMatrix(center_X=True, center_Y=True, scale_X=True, scale_Y=False, ddof=0)
    moments.fit(X, y[:, None])
    scores = []
    for fold in partitioner.folds_dict:
        inside = partitioner.get_validation_indices(fold)
        (products, covariances), (mean, scale, level, _) = moments.training_XTX_XTY(inside)
        values, axes = np.linalg.eigh(products)
        coefficients = axes @ ((axes.T @ covariances) / (values[:, None] + ALPHAS))
        predicted = (X[inside] - mean) / scale @ coefficients + level
        residual = np.square(y[inside, None] - predicted).sum(axis=0)
        scores.append(1 - residual / np.square(y[inside] - y[inside].mean()).sum())
    return np.mean(scores, axis=0)


def _row(name, jobs, repeats):
    """One line: our time, and how much longer the others take."""
    first, *others = side_by_side(jobs, repeats, clock=time.process_time)
    return [name, milliseconds(first), *(times(other, first) for other in others)]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    n = 1000 if quick else 5000
    rows = []
    X, y = data(n, 50)
    for criterion in (outsample.CrossValidation(5), "loo"):
        jobs = [lambda c=criterion: ours(RIDGE, X, y, c), lambda: theirs(RIDGE, X, y), lambda: by_cvmatrix(X, y)]
        rows.append(_row(f"ridge, 20 alphas, {n} × 50, {_name(criterion)}", jobs, repeats))
    Z, labels = X[:, :20], (y > 0).astype(int)
    for criterion in (outsample.CrossValidation(5), "loo"):
        jobs = [lambda c=criterion: ours(NEIGHBORS, Z, labels, c), lambda: theirs(NEIGHBORS, Z, labels)]
        rows.append([*_row(f"neighbours, 40 values of k, {n} × 20, {_name(criterion)}", jobs, repeats), "–"])
    yield from table(["job", "ours", "GridSearchCV(cv=5)", "cvmatrix, 5 folds"], rows)


def _name(criterion):
    return criterion if isinstance(criterion, str) else "five folds"
