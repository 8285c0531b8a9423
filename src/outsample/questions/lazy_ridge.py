"""Least squares and ridge, with or without a `StandardScaler`, over tables that do not fit into memory.

They are known from sums of squares and products of the columns and the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import StandardScaler

from outsample.criteria.base import Criterion
from outsample.data.lazy import LazyTable, in_memory_only
from outsample.losses.base import Loss
from outsample.paths.linear.moments import Moments, RidgeOfProducts
from outsample.paths.linear.ridge import DIRECT_SOLVERS
from outsample.problem import ask
from outsample.questions.beyond_memory import (
    AT_ONCE,
    Judged,
    LazySearch,
    added_by_fold,
    keep_names,
    rows_by_fold,
    steps_of,
)
from outsample.running.arrays import Floats, Rows
from outsample.running.threads import one_blas_thread

_SERVED = "LinearRegression and Ridge, with or without a StandardScaler before them"
# Where the other rows have less than this share of a column's variance, the difference of sums has lost digits.
_TOO_LITTLE = 1e-4
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class _Kind:
    """Fits that share their sums: whether a scaler divides by standard deviations, whether there is an intercept."""

    scaled: bool
    intercept: bool


@dataclass(frozen=True, eq=False)
class _Fits:
    """Ridge fits to some of the rows; picklable.

    Attributes
    ----------
    at, level : (p,) and a number, where columns and labels are taken from.
    scale : (p,) unit of each column.
    live : (p,) columns that vary; the others have no coefficient.
    mean, variance : (p,) of each column; a variance of zero where it is constant.
    solved : fits to the columns that vary, in these units.
    n : rows fitted.
    """

    kind: _Kind
    at: Floats
    level: float
    scale: Floats
    live: Rows
    mean: Floats
    variance: Floats
    solved: RidgeOfProducts
    n: float

    @classmethod
    def of(cls, moments: Moments, kind: _Kind, alphas: Floats, origin: Floats, level: float) -> _Fits:
        """The fits by sums from an origin of columns and labels."""
        from_origin = moments if kind.intercept else moments.moved(origin, level)
        products, covariances, at, mean = from_origin.centred(kind.intercept)
        centred = moments.centred(True)
        variance, means = np.diagonal(centred[0]) / moments.weight, centred[2] + origin
        # As scikit-learn tells constant columns.
        n = moments.weight
        varies = variance > n * _EPS * variance + np.square(n * means * _EPS)
        live = np.flatnonzero(varies) if kind.intercept else np.arange(len(variance))
        scale = np.where(varies & kind.scaled, np.sqrt(np.maximum(variance, 0.0)), 1.0)
        units = scale[live]
        solved = RidgeOfProducts(
            products[np.ix_(live, live)] / np.outer(units, units), covariances[live] / units[:, None], alphas
        )
        if not solved.sound or n <= len(live) + 1:
            raise ValueError(
                in_memory_only("a model whose columns are linearly dependent, nearly or too many for its penalty,")
            )
        shift = origin if kind.intercept else 0.0
        variance = np.where(varies, variance, 0.0)
        return cls(kind, at + shift, float(mean[0]) + level * kind.intercept, scale, live, means, variance, solved, n)

    @property
    def coefficients(self) -> Floats:
        """Of the columns in units of `scale`, (models, p)."""
        whole = np.zeros((len(self.solved.alphas), len(self.scale)))
        whole[:, self.live] = self.solved.coefficients()[:, :, 0]
        return whole

    def rows(self, X: Floats) -> Floats:
        """Rows of X in units of `scale`, from where they are taken, columns that vary only."""
        return np.asarray((X[:, self.live] - self.at[self.live]) / self.scale[self.live])

    def residuals(self, X: Floats, y: Floats) -> Floats:
        """Of every model, (models, rows)."""
        return np.asarray(y - self.level - self.solved.coefficients()[:, :, 0] @ self.rows(X).T)

    def left_out_residuals(self, X: Floats, y: Floats) -> tuple[Floats, int]:
        """(residuals of rows left out one by one (models, rows), number of rows for which digits are lost)."""
        rows, n = self.rows(X), self.n
        squares = self._variances_without(X) if self.kind.scaled else None
        apart = (y - self.level)[:, None]
        total = n if self.kind.intercept else None
        predicted, doubtful = self.solved.without_each(rows, apart, np.ones(len(y)), total, squares)
        if squares is not None:
            doubtful |= (squares < _TOO_LITTLE).any(axis=1)
        return (apart - predicted)[:, :, 0], int(doubtful.sum())

    def _variances_without(self, X: Floats) -> Floats:
        """Variances of the live columns without each row, in units of those of all rows, (rows, live columns)."""
        n, variance = self.n, self.variance[self.live]
        apart = np.square(X[:, self.live] - self.mean[self.live])
        share = np.divide(apart, variance, out=np.full_like(apart, 1 - 1 / n), where=variance > 0)
        # Where a column is constant, this share makes its unit stay what it is.
        return np.asarray(n / (n - 1) * (1 - share / (n - 1)))


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over rows; they add up over blocks.

    Attributes
    ----------
    inside, outside : (models,) in-sample and left-out losses.
    squares : (models,) squares of the left-out losses.
    products : (models,) left-out losses times squared distances of the labels from their mean.
    fourths : squares of these squared distances.
    doubtful : number of rows for which digits are lost.
    """

    inside: Floats
    outside: Floats
    squares: Floats
    products: Floats
    fourths: float
    doubtful: int

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(
            self.inside + other.inside,
            self.outside + other.outside,
            self.squares + other.squares,
            self.products + other.products,
            self.fourths + other.fourths,
            self.doubtful + other.doubtful,
        )


def _moments_of(X: Floats, y: Floats, start: int, bounds: Rows, origin: Floats, level: float) -> dict[int, Moments]:
    """Sums of the rows of a block, by fold."""
    found = {}
    with one_blas_thread:
        for k, rows in rows_by_fold(bounds, start, len(y)):
            found[k] = Moments.of(X[rows] - origin, y[rows, None] - level)
    return found


def _losses_of(
    X: Floats,
    y: Floats,
    start: int,
    bounds: Rows,
    whole: Sequence[_Fits],
    folds: Sequence[Sequence[_Fits]] | None,
    mean: float,
) -> dict[int, _Sums]:
    """Sums of the losses of a block, by fold; without fits of folds, rows are left out one by one.

    `mean` is that of all labels.
    """
    found: dict[int, _Sums] = {}
    with one_blas_thread:
        for k, part in rows_by_fold(bounds, start, len(y)):
            for first in range(part.start, part.stop, AT_ONCE):
                rows = slice(first, min(first + AT_ONCE, part.stop))
                sums = _sums_of(X[rows], y[rows], whole, None if folds is None else folds[k], mean)
                found[k] = found[k] + sums if k in found else sums
    return found


def _sums_of(X: Floats, y: Floats, whole: Sequence[_Fits], fold: Sequence[_Fits] | None, mean: float) -> _Sums:
    inside, outside, doubtful = [fits.residuals(X, y) for fits in whole], [], 0
    if fold is None:
        for fits in whole:
            residuals, lost = fits.left_out_residuals(X, y)
            outside.append(residuals)
            doubtful += lost
    else:
        outside = [fits.residuals(X, y) for fits in fold]
    losses, apart = np.square(np.concatenate(outside)), np.square(y - mean)
    return _Sums(
        inside=np.square(np.concatenate(inside)).sum(axis=1),
        outside=losses.sum(axis=1),
        squares=np.square(losses).sum(axis=1),
        products=losses @ apart,
        fourths=float(apart @ apart),
        doubtful=doubtful,
    )


class RidgeSearch(LazySearch):
    """Every setting of least squares or ridge."""

    path = "Moments"

    def __init__(
        self,
        estimator: BaseEstimator,
        settings: Sequence[dict[str, Any]],
        table: LazyTable,
        criterion: Criterion,
        loss: Any,
    ) -> None:
        super().__init__(estimator, settings, table, criterion, loss)
        self._kinds = [_kind_of(model) for model in self._models]
        self._alphas = [float(getattr(_last(model), "alpha", 0.0)) for model in self._models]
        X, y = table.head()
        self.loss = _served_loss(ask(self._models[0], X, y, loss=loss).loss)
        self._origin, self._level = X.mean(axis=0), float(y.mean())

    def _outside(self, whole: Sequence[_Fits], fold: Moments) -> list[_Fits]:
        """The fits of all settings to the rows outside a fold."""
        fits = self._fits(self._whole - fold)
        if any((own.variance < _TOO_LITTLE * of.variance).any() for own, of in zip(fits, whole, strict=True)):
            raise ValueError(in_memory_only("a column that hardly varies outside one of the folds"))
        return fits

    def _judged(self, bounds: Rows) -> Judged:
        folds: list[Moments] = added_by_fold(self._table.over_blocks(_moments_of, bounds, self._origin, self._level))
        self._whole = reduce(add, folds)
        whole = self._fits(self._whole)
        outside = None if self._n_folds is None else [self._outside(whole, fold) for fold in folds]
        mean = self._level + float(self._whole.y[0] / self._whole.weight)
        sums: list[_Sums] = added_by_fold(self._table.over_blocks(_losses_of, bounds, whole, outside, mean))
        total = reduce(add, sums)
        if total.doubtful:
            raise ValueError(in_memory_only(f"a fit that {total.doubtful} rows, each alone, nearly determine"))
        back = np.argsort(np.concatenate(list(self._groups().values())), kind="stable")
        return Judged(
            in_sample=self._risk(total.inside, self._whole)[back],
            fold_risks=np.stack([self._risk(own.outside, fold)[back] for own, fold in zip(sums, folds, strict=True)]),
            fold_sizes=np.array([fold.weight for fold in folds], dtype=np.intp),
            spread=self._spread_of_rows(total)[back],
            scale=float(_spread(self._whole)) if self.loss.quadratic else 0.0,
        )

    def _groups(self) -> dict[_Kind, Rows]:
        """Positions of the settings of every kind."""
        return {kind: np.flatnonzero([own == kind for own in self._kinds]) for kind in dict.fromkeys(self._kinds)}

    def _fits(self, moments: Moments) -> list[_Fits]:
        """The fits of all settings, kind after kind."""
        alphas = np.array(self._alphas)
        return [
            _Fits.of(moments, kind, alphas[places], self._origin, self._level)
            for kind, places in self._groups().items()
        ]

    def _risk(self, sums: Floats, of: Moments) -> Floats:
        """Risk from sums of squared errors over the rows with these sums, (models,)."""
        if self.loss.quadratic:
            return np.asarray(sums / of.weight)
        if self.loss.name == "r2":
            return np.asarray(sums / (of.weight * _spread(of)) - 1.0)
        return np.asarray(sums / of.weight)

    def _spread_of_rows(self, sums: _Sums) -> Floats:
        """Variance over rows, ÷ n, of the left-out losses, or of the influences on r2, (models,).

        To first order a row moves 1 − r2 = m/b, the mean loss over the variance of labels, by (l − m c/b)/b, with l its
        loss and c the squared distance of its label from their mean.
        """
        n, losses = self._table.n_rows, sums.outside / self._table.n_rows
        spread = sums.squares / n - np.square(losses)
        if self.loss.name == "r2":
            base = _spread(self._whole)
            share = losses / base
            shared, of_labels = sums.products / n - losses * base, sums.fourths / n - base**2
            spread = (spread - 2 * share * shared + np.square(share) * of_labels) / base**2
        return np.asarray(np.maximum(spread, 0.0))

    def refitted(self, position: int) -> Any:
        """The estimator with one of the settings, fitted to all rows: what scikit-learn would have learned of them."""
        model, kind = self._models[position], self._kinds[position]
        fits = _Fits.of(self._whole, kind, np.array([self._alphas[position]]), self._origin, self._level)
        coefficients = fits.coefficients[0]
        learner = _last(model)
        scaler = _scaler(model)
        centre = fits.at
        if scaler is not None:
            _learned(scaler, self._whole, self._origin, self._table)
            centre = (fits.at - (scaler.mean_ if scaler.with_mean else 0.0)) / fits.scale
        learner.coef_ = coefficients
        learner.intercept_ = fits.level - float(coefficients @ centre) if kind.intercept else 0.0
        learner.n_features_in_ = self._table.n_columns
        if isinstance(learner, Ridge):
            learner.n_iter_, learner.solver_ = None, "cholesky"
        else:
            learner.rank_, learner.singular_ = len(fits.live), np.sqrt(np.maximum(fits.solved.values[::-1], 0.0))
        if scaler is None:
            keep_names(learner, self._table)
        return model


def _spread(moments: Moments) -> float:
    """Variance of the labels, ÷ n."""
    return float((moments.squares[0] - moments.y[0] ** 2 / moments.weight) / moments.weight)


def _learned(scaler: StandardScaler, moments: Moments, origin: Floats, table: LazyTable) -> None:
    """Write into a scaler what it would have learned from the rows."""
    products, _, at, _ = moments.centred(True)
    variance, n = np.diagonal(products) / moments.weight, moments.weight
    scaler.mean_, scaler.n_samples_seen_, scaler.n_features_in_ = at + origin, int(n), table.n_columns
    constant = variance <= n * _EPS * variance + np.square(n * scaler.mean_ * _EPS)
    scaler.var_ = np.where(constant, 0.0, variance) if scaler.with_std else None
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(np.maximum(variance, 0.0))) if scaler.with_std else None
    keep_names(scaler, table)


def _last(model: Any) -> Any:
    return steps_of(model)[-1]


def _scaler(model: Any) -> Any:
    return steps_of(model)[0] if len(steps_of(model)) > 1 else None


def _kind_of(model: Any) -> _Kind:
    """The kind of a learner.

    Raises
    ------
    TypeError
        One sentence, where it is none of those whose sums over rows suffice.
    """
    *before, last = steps_of(model)
    ridge = type(last) is Ridge and last.solver in DIRECT_SOLVERS and np.ndim(last.alpha) == 0 and last.alpha >= 0
    plain = (ridge or type(last) is LinearRegression) and not last.positive
    scaler = before[0] if before else None
    if not plain or len(before) > 1 or (before and type(scaler) is not StandardScaler):
        raise TypeError(f"{in_memory_only(str(model).replace(chr(10), ' '))}. Served without it are {_SERVED}")
    intercept = bool(last.fit_intercept)
    if scaler is not None and scaler.with_mean and not intercept:
        raise TypeError(in_memory_only("a scaler that subtracts means before a fit without an intercept"))
    return _Kind(scaler is not None and bool(scaler.with_std), intercept)


def _served_loss(loss: Loss) -> Loss:
    if not loss.quadratic and loss.name not in ("r2", "neg_mean_squared_error"):
        raise ValueError(f'{in_memory_only(f"loss {loss.name!r}")}. Served without it are "squared" and "r2"')
    return loss
