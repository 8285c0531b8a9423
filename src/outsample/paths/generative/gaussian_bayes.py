"""Gaussian naive Bayes along `var_smoothing`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from outsample.data.tables import Table
from outsample.paths.base import Design, GridPath
from outsample.paths.generative.design import ClassModels, GenerativeDesign, Scorer, Scores
from outsample.paths.generative.inputs import double_table, is_number, usable_priors
from outsample.paths.generative.statistics import LEAST_SHARE, ClassMoments
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Bools, Floats, Rows

# Squares (x − m)² / v are expanded into products with the table up to this value of x² / v: eleven digits are left.
_LARGEST_EXPANDED = 1e4
# scikit-learn takes a class whose weight is as small as this for empty.
_NO_WEIGHT = 1e-7
# Columns whose variances are multiplied before their logarithm is taken.
_COLUMNS_AT_ONCE = 64


class GaussianBayesPath(GridPath):
    """`GaussianNB` along `var_smoothing`, dense X in double precision."""

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def accepts(cls, value: object) -> bool:
        return is_number(value, 0.0)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        table, priors = double_table(X), self.estimator.priors
        if table is None or classes is None or not usable_priors(priors, len(classes)):
            return RefitPath.of(self).bind(X, classes, weight)
        models = GaussianBayes(table, np.array(self.values, np.float64), len(classes), priors)
        return GenerativeDesign(self, models, X, classes, weight)


@dataclass(frozen=True)
class GaussianStatistics:
    """Moments of the classes, weighted, and of all rows together, whose largest variance sets the smoothing."""

    classes: ClassMoments
    together: ClassMoments

    def __add__(self, other: GaussianStatistics) -> GaussianStatistics:
        return GaussianStatistics(self.classes + other.classes, self.together + other.together)

    def __sub__(self, other: GaussianStatistics) -> GaussianStatistics:
        return GaussianStatistics(self.classes - other.classes, self.together - other.together)

    def lost(self, whole: GaussianStatistics) -> bool:
        """Whether removing rows from `whole` has left too few digits."""
        light = self.classes.weight < LEAST_SHARE * whole.classes.weight
        return self.classes.lost(whole.classes) or self.together.lost(whole.together) or bool(light.any())

    @property
    def largest_variance(self) -> float:
        """The largest variance of a column over all rows."""
        return float(self.together.scatter.max() / self.together.weight[0])


class GaussianBayes(ClassModels):
    """Normal densities with independent columns, for every value of `var_smoothing`.

    Parameters
    ----------
    table : (n, p).
    smoothing : (models,) what is added to variances, in units of the largest variance of a column.
    priors : (K,) or None for the shares of the classes.
    """

    def __init__(self, table: Floats, smoothing: Floats, n_classes: int, priors: Any) -> None:
        self._center = table.mean(axis=0)
        self.table = table - self._center
        self._smoothing, self._priors = smoothing, priors
        self.n_models, self.n_classes = len(smoothing), n_classes

    def read(self, X_new: Table) -> Floats | None:
        new = double_table(X_new)
        return None if new is None or new.shape[1] != self.table.shape[1] else new - self._center

    def statistics(self, table: Floats, codes: Array, weight: Floats | None) -> GaussianStatistics:
        classes = ClassMoments.of(table, codes, self.n_classes, weight)
        if weight is None:
            return GaussianStatistics(classes, classes.together())
        return GaussianStatistics(classes, ClassMoments.of(table, np.zeros(len(table), np.intp), 1))

    def scorer(self, statistics: GaussianStatistics, table: Floats, response: str) -> Scorer:
        classes = statistics.classes
        added = self._smoothing * statistics.largest_variance
        variances = classes.scatter / classes.weight[:, None] + added[:, None, None]
        constant = self._log_priors(classes.weight) - 0.5 * np.log(2 * np.pi * variances).sum(axis=2)
        expanded = _Expansion(classes.mean, variances, np.square(table).max(axis=0, initial=0.0))
        doubt = np.full((self.n_models, 1), bool((classes.weight < _NO_WEIGHT).any()))

        def scores(block: slice) -> Scores:
            return Scores(constant[:, :, None] - 0.5 * expanded.forms(table[block]), doubt)

        return scores

    def left_out_scorer(
        self, statistics: GaussianStatistics, codes: Array, weight: Floats | None, response: str
    ) -> Scorer:
        return _LeftOut(self, statistics, codes, weight)

    def log_priors_without(self, weight: Floats, codes: Array, own: Floats) -> Floats:
        """Logarithms of the priors when rows of classes `codes` and weights `own` are left out, (K, rows)."""
        if self._priors is not None:
            return np.log(np.asarray(self._priors, np.float64))[:, None]
        left = np.repeat(weight[:, None], len(codes), axis=1)
        left[codes, np.arange(len(codes))] -= own
        return np.asarray(np.log(left) - np.log(left.sum(axis=0)))

    def _log_priors(self, weight: Floats) -> Floats:
        shares = weight / weight.sum() if self._priors is None else np.asarray(self._priors, np.float64)
        return np.asarray(np.log(shares))

    @property
    def smoothing(self) -> Floats:
        """(models,) `var_smoothing`."""
        return self._smoothing


class _Expansion:
    """Σ_j (x_j − m_j)² / v_j of every model, class and row by products with the table.

    Columns whose squares are too large for the expansion, such as those that are constant in a class, go one by one.
    """

    def __init__(self, mean: Floats, variances: Floats, largest: Floats) -> None:
        self._mean, self._variances = mean, variances
        self._direct = (largest > _LARGEST_EXPANDED * variances) | ~(variances > 0)
        inverse = np.where(self._direct, 0.0, 1.0 / variances)
        self._shape = inverse.shape[:2]
        self._coefficients = np.concatenate([inverse, -2.0 * inverse * mean], axis=2).reshape(-1, 2 * mean.shape[1])
        self._constant = (inverse * np.square(mean)).sum(axis=2)
        self._apart = np.argwhere(self._direct.any(axis=0))

    def forms(self, rows: Floats) -> Floats:
        """(models, K, rows)."""
        both = np.concatenate([np.square(rows), rows], axis=1)
        found = (self._coefficients @ both.T).reshape(*self._shape, len(rows)) + self._constant[:, :, None]
        for k, j in self._apart:
            models = np.flatnonzero(self._direct[:, k, j])
            found[models, k] += np.square(rows[:, j] - self._mean[k, j]) / self._variances[models, k, j][:, None]
        return np.asarray(found)


class _LeftOut:
    """Scores of rows by the models without them.

    Without row i of weight w, its class of weight W has the mean m − (x_i − m) w/(W − w) and the sum of squares
    S − (x_i − m)² W w/(W − w); the smoothing changes too, for all classes, with the largest variance of a column.
    """

    def __init__(
        self, models: GaussianBayes, statistics: GaussianStatistics, codes: Array, weight: Floats | None
    ) -> None:
        self._models, self._classes, self._together = models, statistics.classes, statistics.together
        self._codes, self._weight = codes, np.ones(len(codes)) if weight is None else weight
        added = models.smoothing * statistics.largest_variance
        self._typical = 1.0 / (self._classes.scatter / self._classes.weight[:, None] + added[:, None, None])

    def __call__(self, rows: Rows) -> Scores:
        models, codes, own = self._models, self._codes[rows], self._weight[rows]
        table = np.ascontiguousarray(models.table[rows].T)
        added = models.smoothing[:, None] * self._largest_variances(table, rows)
        least = added.min(axis=0)
        values = np.empty((models.n_models, models.n_classes, len(rows)))
        log_priors = models.log_priors_without(self._classes.weight, codes, own)
        for k in range(models.n_classes):
            members = self._codes == k
            squares, variances = self._without(table, rows, self._classes, k, members, self._weight, least)
            forms = _forms(squares, variances, added, np.ascontiguousarray(self._typical[:, k]))
            values[:, k] = log_priors[k] - 0.5 * forms
        left = self._classes.weight[codes] - own
        doubt = (left < _NO_WEIGHT) | (left < LEAST_SHARE * self._classes.weight[codes])
        return Scores(values, doubt)

    def _largest_variances(self, table: Floats, rows: Rows) -> Floats:
        """The largest variance of a column over all rows but one, (rows,)."""
        everyone, ones = np.ones(len(self._codes), bool), np.ones(len(self._codes))
        return np.asarray(self._without(table, rows, self._together, 0, everyone, ones)[1].max(axis=0))

    def _without(
        self,
        table: Floats,
        rows: Rows,
        moments: ClassMoments,
        k: int,
        members: Bools,
        weight: Floats,
        smoothed: Floats | float = 0.0,
    ) -> tuple[Floats, Floats]:
        """(squared deviations from the mean of class k, its variances), each (p, rows), without each row.

        Parameters
        ----------
        members : (n,) the rows of the class.
        smoothed : (rows,) the least that is added to the variances: where it is large, fewer digits of them do.
        """
        from outsample._kernels.left_out_rows import moments_without

        W, scatter = moments.weight[k], moments.scatter[k]
        own = np.where(members[rows], weight[rows], 0.0)
        left = W - own
        squares, variances = np.empty_like(table), np.empty_like(table)
        arguments = moments.mean[k], scatter, W * own / left**2, (W / left) ** 2, 1.0 / left
        moments_without(table, *arguments, squares, variances)
        few = variances < (LEAST_SHARE * scatter / W)[:, None]
        if few.any():
            few &= (variances + smoothed < LEAST_SHARE * scatter[:, None] / left) & members[rows]
            self._read_anew(variances, few, rows, members, weight)
            np.maximum(variances, 0.0, out=variances)
        return squares, variances

    def _read_anew(self, variances: Floats, few: Bools, rows: Rows, members: Bools, weight: Floats) -> None:
        """Replace variances that have too few digits left, because one row makes up most of them."""
        if not self._models.whole:
            variances[few] = np.nan
            return
        for j, i in np.argwhere(few):
            others = members.copy()
            others[rows[i]] = False
            column, shares = self._models.table[others, j], weight[others]
            if len(column):
                apart = column - np.average(column, weights=shares)
                variances[j, i] = np.average(np.square(apart), weights=shares)


def _forms(squares: Floats, variances: Floats, added: Floats, typical: Floats) -> Floats:
    """Σ_j d²/(v + e) + log 2π(v + e) of every model and row, (models, rows), a few columns at a time."""
    from outsample._kernels.left_out_rows import BLOCK, diagonal_forms

    forms, products, room = np.zeros(added.shape), np.empty(added.shape), np.empty((2, BLOCK))
    logs = np.repeat(np.log(2 * np.pi / typical).sum(axis=1)[:, None], added.shape[1], axis=1)
    for start in range(0, len(squares), _COLUMNS_AT_ONCE):
        columns = slice(start, start + _COLUMNS_AT_ONCE)
        scale = np.ascontiguousarray(typical[:, columns])
        diagonal_forms(squares[columns], variances[columns], added, scale, room[0], room[1], forms, products)
        logs += np.log(products)
    return np.asarray(forms + logs)
