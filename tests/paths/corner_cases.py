"""Small tables with the corners that break fast paths: ties, duplicates, constants, tiny n, other dtypes."""

from __future__ import annotations

import numpy as np


def smooth_table(n=60, p=5, seed=0):
    """(X, X_new) without ties."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.normal(size=(23, p))


def awkward_table(n=60, seed=1):
    """(X, X_new) with ties, duplicated rows, a constant column and a column given twice."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = rng.integers(0, 3, n)
    X[:, 2] = 1.5
    X[:, 4] = X[:, 0]
    X[n // 2 :] = X[: n - n // 2]
    X_new = rng.normal(size=(23, 5))
    X_new[:, 1] = rng.integers(0, 4, 23)
    X_new[:, 4] = X_new[:, 0]
    return X, X_new


def with_holes(X, share=0.1, seed=2):
    """X with some values missing."""
    holed = X.copy()
    holed[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return holed


def binary(X, seed=3):
    """Codes that follow the first column, with noise."""
    rng = np.random.default_rng(seed)
    return (np.nan_to_num(X[:, 0]) + rng.normal(size=len(X)) > 0).astype(int)


def three_classes(X, seed=4):
    """Codes 0, 1, 2 that follow the first two columns, with noise."""
    rng = np.random.default_rng(seed)
    score = np.nan_to_num(X[:, 0]) + 0.5 * np.nan_to_num(X[:, 1]) + rng.normal(size=len(X))
    return np.searchsorted(np.quantile(score, [0.4, 0.7]), score)


def real(X, seed=5):
    """Values that follow the first column, with noise."""
    rng = np.random.default_rng(seed)
    return 2.0 * np.nan_to_num(X[:, 0]) + rng.normal(size=len(X)) + 3.0


def weights(n, seed=6):
    """Uneven positive weights."""
    return np.random.default_rng(seed).uniform(0.2, 3.0, n)
