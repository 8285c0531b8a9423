"""Ridge, 100 alphas by permutation, leave-one-out and GCV together, against one SVD of the same table.

Processor time on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from measuring import milliseconds, side_by_side, table, times
from sklearn.linear_model import Ridge, RidgeCV
from threadpoolctl import threadpool_limits

from outsample.paths import find_path

SHAPES = [(500, 20), (2000, 200), (20_000, 100), (300, 2000)]
ALPHAS = np.logspace(-3, 4, 100)


def every_criterion(X, y):
    """Out-sample error by permutation, leave-one-out and GCV for every alpha, (3, alphas)."""
    n = len(y)
    design = find_path(Ridge(), "alpha", list(ALPHAS)).bind(X)
    in_sample = np.square(y - design.fitted(y[None])[0]).mean(axis=1)
    smoother = design.smoother
    permutation = in_sample + 2 * y.var(ddof=1) / n * (smoother.trace - smoother.total / n)
    left_out = np.square(y - design.left_out_predictions(y, np.arange(n))).mean(axis=1)
    return np.stack([permutation, left_out, in_sample / (1 - smoother.trace / n) ** 2])


def row(n, p, repeats):
    """One line of the table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = X[:, 0] + rng.standard_normal(n)
    jobs = [
        lambda: every_criterion(X, y),
        lambda: np.linalg.svd(X, full_matrices=False),
        lambda: RidgeCV(ALPHAS).fit(X, y),
    ]
    ours, svd, ridge_cv = side_by_side(jobs, repeats, time.process_time)
    return [f"{n} × {p}", milliseconds(ours), f"{ours / svd:.2f}", times(ridge_cv, ours)]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    with threadpool_limits(1):
        rows = [row(n, p, repeats) for n, p in SHAPES[: 2 if quick else None]]
    yield from table(["rows × columns", "all three criteria", "in SVDs of X", "RidgeCV, leave-one-out only"], rows)
