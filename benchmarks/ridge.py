"""Ridge, 100 alphas by permutation, leave-one-out and GCV together (`compare`), against one SVD of the same table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measuring import milliseconds, side_by_side, table, times
from sklearn.linear_model import Ridge, RidgeCV

import outsample

SHAPES = [(500, 20), (2000, 200), (5000, 50), (20_000, 100), (300, 2000)]
CRITERIA = ["permutation", "loo", "gcv"]
ALPHAS = np.logspace(-3, 4, 100)


def every_criterion(X, y):
    """Out-sample error by all criteria for every alpha, and each criterion's choice."""
    return outsample.compare(Ridge(), X, y, param_grid={"alpha": ALPHAS}, criteria=CRITERIA, random_state=0)


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
    ours, svd, ridge_cv = side_by_side(jobs, repeats)
    return [f"{n} × {p}", milliseconds(ours), f"{ours / svd:.2f}", times(ridge_cv, ours)]


def lines(repeats: int, quick: bool) -> Iterator[str]:
    """The table."""
    rows = [row(n, p, repeats) for n, p in SHAPES[: 2 if quick else None]]
    yield from table(["rows × columns", "all three criteria", "in SVDs of X", "RidgeCV, leave-one-out only"], rows)
