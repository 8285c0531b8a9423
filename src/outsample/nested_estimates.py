"""Nested cross-validation of Bates, Hastie & Tibshirani: pure functions of losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outsample.losses import weighted_mean

Floats = NDArray[np.float64]
Folds = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class NestedRepeat:
    """One random partition into K folds, for every model of a path.

    Attributes
    ----------
    outer : (models,) mean over rows of the loss of models fitted to the other K − 1 folds.
    inner : (models,) mean loss of models fitted to K − 2 folds.
    squared_gaps : (models,) mean over folds of (inner mean without the fold − mean of the fold)².
    fold_variance : (models,) mean over folds of the squared standard error of the fold's mean.
    row_variance : (models,) variance of the losses of single rows.
    """

    outer: Floats
    inner: Floats
    squared_gaps: Floats
    fold_variance: Floats
    row_variance: Floats


def nested_repeat(outer: Floats, inner: Floats, folds: Folds, weight: Floats | None = None) -> NestedRepeat:
    """What one partition says.

    Parameters
    ----------
    outer : (models, n) loss of each row by the models fitted without its fold.
    inner : (K, models, n) loss of each row by the models fitted without its fold and without fold k; not read for
        rows of fold k itself.
    folds : (n,) fold of each row, 0 … K − 1.
    """
    w = np.ones(len(folds)) if weight is None else weight
    gaps, variances, means, spreads, sizes = [], [], [], [], []
    for k in range(len(inner)):
        inside = folds == k
        own, rest = outer[:, inside], inner[k][:, ~inside]
        mean_in = weighted_mean(rest, w[~inside])
        gaps.append((mean_in - weighted_mean(own, w[inside])) ** 2)
        variances.append(_variance(own, w[inside]) * np.square(w[inside]).sum() / w[inside].sum() ** 2)
        means.append(mean_in)
        spreads.append(_variance(rest, w[~inside]))
        sizes.append(w[~inside].sum())
    return NestedRepeat(
        outer=weighted_mean(outer, w),
        inner=np.average(means, axis=0, weights=sizes),
        squared_gaps=np.mean(gaps, axis=0),
        fold_variance=np.mean(variances, axis=0),
        row_variance=np.mean(spreads, axis=0),
    )


def _variance(losses: Floats, weight: Floats) -> Floats:
    """Unbiased variance of losses (models, rows); equal weights give the usual one."""
    spread = losses - weighted_mean(losses, weight)[:, None]
    total = weight.sum()
    return np.asarray((np.square(spread) * weight).sum(axis=-1) / (total - np.square(weight).sum() / total))


def nested_estimate(repeats: list[NestedRepeat], n_folds: int, effective_n: float) -> tuple[Floats, Floats]:
    """(risk, standard error), each (models,).

    The mean squared error of cross-validation is estimated by the mean squared gap minus what the fold's own mean
    varies (Bates, Hastie & Tibshirani 2024, Algorithm 1). Its root, brought from (K−1)/K n rows to n, is kept between
    the naive standard error and √K times it. The risk of models fitted to K − 2 folds is corrected for their smaller
    size by (1 + (K−2)/K) times its distance from ordinary cross-validation.
    """
    inner = np.mean([r.inner for r in repeats], axis=0)
    outer = np.mean([r.outer for r in repeats], axis=0)
    mean_squared_error = np.mean([r.squared_gaps - r.fold_variance for r in repeats], axis=0)
    naive = np.sqrt(np.mean([r.row_variance for r in repeats], axis=0) / effective_n)
    root = np.sqrt(np.maximum(mean_squared_error, 0.0) * (n_folds - 1) / n_folds)
    risk = inner - (1 + (n_folds - 2) / n_folds) * (inner - outer)
    return risk, np.clip(root, naive, np.sqrt(n_folds) * naive)
