"""Gaussian naive Bayes along `var_smoothing`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from outsample.data.tables import Table
from outsample.paths.generative.design import (
    LEAST_SHARE,
    ROUNDING,
    CentredModels,
    ClassPath,
    LeftOutScorer,
    Scorer,
    double_table,
    is_number,
)
from outsample.paths.generative.statistics import ClassMoments, Statistics
from outsample.running.arrays import Array, Floats, Rows

# Squares (x − m)² / v are expanded into products with the table up to this value of x² / v: eleven digits are left.
_LARGEST_EXPANDED = 1e4
# Variances of columns that are constant in a class are rounding below this share of the squared distance from zero.
_ROUNDING_OF_SQUARES = 1e-28
# Columns whose variances are multiplied before their logarithm is taken.
_COLUMNS_AT_ONCE = 64


class GaussianBayesPath(ClassPath):
    """`GaussianNB` along `var_smoothing`, dense X in double precision."""

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def accepts(cls, value: object) -> bool:
        return is_number(value, 0.0)

    def models(self, X: Table) -> GaussianBayes | None:
        table = double_table(X)
        if table is None:
            return None
        return GaussianBayes(table.mean(axis=0), np.array(self.values, np.float64), self.estimator.priors)


@dataclass(frozen=True)
class GaussianStatistics(Statistics):
    """Moments of the classes, weighted, and of all rows together, whose largest variance sets the smoothing.

    Attributes
    ----------
    unweighted : of all rows together where classes are weighted.
    """

    weight: Floats
    classes: ClassMoments
    unweighted: ClassMoments | None

    @property
    def together(self) -> ClassMoments:
        """Moments of all rows as one class, without weights."""
        return self.classes.together() if self.unweighted is None else self.unweighted

    def __add__(self, other: GaussianStatistics) -> GaussianStatistics:
        both = self.unweighted, other.unweighted
        unweighted = None if both[0] is None or both[1] is None else both[0] + both[1]
        classes = self.classes + other.classes
        return GaussianStatistics(classes.weight, classes, unweighted)

    def among(self, places: Rows, n_classes: int) -> GaussianStatistics:
        classes = self.classes.among(places, n_classes)
        return GaussianStatistics(classes.weight, classes, self.unweighted)


class GaussianBayes(CentredModels):
    """Normal densities with independent columns, for every value of `var_smoothing`.

    Parameters
    ----------
    smoothing : (models,) what is added to variances, in units of the largest variance of a column.
    """

    leaves_rows_out = True

    def __init__(self, origin: Floats, smoothing: Floats, priors: Any) -> None:
        super().__init__(origin, len(smoothing), priors)
        self._smoothing = smoothing

    def statistics(self, table: Floats, codes: Array, n_classes: int, weight: Floats | None) -> GaussianStatistics:
        unweighted = None if weight is None else ClassMoments.of(table, np.zeros(len(table), np.intp), 1)
        classes = ClassMoments.of(table, codes, n_classes, weight)
        return GaussianStatistics(classes.weight, classes, unweighted)

    def _added(self, statistics: GaussianStatistics) -> Floats:
        together = statistics.together
        return np.asarray(self._smoothing * (together.scatter.max() / together.weight[0]))

    def _variances(self, statistics: GaussianStatistics) -> Floats:
        """(models, K, p); not numbers where they are rounding."""
        classes = statistics.classes
        variances = classes.scatter / classes.weight[:, None] + self._added(statistics)[:, None, None]
        known = variances > _ROUNDING_OF_SQUARES * np.square(classes.mean + self.origin)
        return np.where(known, variances, np.nan)

    def scorer(self, statistics: GaussianStatistics, response: str) -> Scorer:
        classes, variances = statistics.classes, self._variances(statistics)
        constant = np.log(self.prior(classes.weight)) - 0.5 * np.log(2 * np.pi * variances).sum(axis=2)
        return lambda rows: constant[:, :, None] - 0.5 * _forms(rows, classes.mean, variances)

    def left_out_scorer(self, statistics: GaussianStatistics, response: str) -> LeftOutScorer:
        """Without row i of weight w, its class of weight W has the mean m − (x_i − m) w/(W − w).

        Its sum of squares is S − (x_i − m)² W w/(W − w). The smoothing changes too, for all classes, with the largest
        variance of a column.
        """
        classes, together, typical = statistics.classes, statistics.together, 1.0 / self._variances(statistics)

        def scores(rows: Floats, codes: Array, weight: Floats) -> Floats:
            columns, n_classes = np.ascontiguousarray(rows.T), len(classes.weight)
            whole = float(together.weight[0]), together.mean[0], together.scatter[0]
            largest = _without(columns, np.ones(len(rows)), *whole, 0.0)[1].max(axis=0)
            added = self._smoothing[:, None] * largest
            left = np.repeat(classes.weight[:, None], len(rows), axis=1)
            left[codes, np.arange(len(rows))] -= weight
            log_priors = np.log(self.prior(left))
            values = np.empty((self.n_models, n_classes, len(rows)))
            for k in range(n_classes):
                own = np.where(codes == k, weight, 0.0)
                known = float(classes.weight[k]), classes.mean[k], classes.scatter[k]
                squares, variances = _without(columns, own, *known, added.min(axis=0))
                forms = _left_out_forms(squares, variances, added, np.ascontiguousarray(typical[:, k]))
                values[:, k] = log_priors[k] - 0.5 * forms
            return values

        return scores

    def learned(self, model: Any, statistics: GaussianStatistics) -> Any:
        classes = statistics.classes
        model.epsilon_ = float(self._added(statistics)[0])
        model.theta_ = classes.mean + self.origin
        model.var_ = classes.scatter / classes.weight[:, None] + model.epsilon_
        model.class_count_, model.class_prior_ = classes.weight, self.prior(classes.weight)
        return model


def _forms(rows: Floats, mean: Floats, variances: Floats) -> Floats:
    """Σ_j (x_j − m_j)² / v_j of every model, class and row by products with the table, (models, K, rows).

    Columns whose squares are too large for the expansion, such as those that are constant in a class, go one by one.
    """
    squares = np.square(rows)
    direct = squares.max(axis=0, initial=0.0) > _LARGEST_EXPANDED * variances
    inverse = np.where(direct, 0.0, 1.0 / variances)
    coefficients = np.concatenate([inverse, -2.0 * inverse * mean], axis=2).reshape(-1, 2 * mean.shape[1])
    found = (coefficients @ np.concatenate([squares, rows], axis=1).T).reshape(*inverse.shape[:2], len(rows))
    found += (inverse * np.square(mean)).sum(axis=2)[:, :, None]
    for k, j in np.argwhere(direct.any(axis=0)):
        models = np.flatnonzero(direct[:, k, j])
        found[models, k] += np.square(rows[:, j] - mean[k, j]) / variances[models, k, j][:, None]
    return np.asarray(found)


def _without(
    columns: Floats, own: Floats, weight: float, mean: Floats, scatter: Floats, added: Floats | float
) -> tuple[Floats, Floats]:
    """(squared deviations from the mean of a class, its variances), each (p, rows), without each row.

    Parameters
    ----------
    columns : (p, rows)
    own : (rows,) weights of the rows that are of the class, zero for others.
    weight, mean, scatter : of the class.
    added : (rows,) the least that is added to the variances: where it is large, fewer digits of them do.
    """
    from outsample._kernels.left_out_rows import moments_without

    left = np.where(weight - own > LEAST_SHARE * weight, weight - own, np.nan)
    squares, variances = np.empty_like(columns), np.empty_like(columns)
    shares, levers = weight * own / left**2, (weight / left) ** 2
    moments_without(columns, mean, scatter, shares, levers, 1.0 / left, squares, variances)
    before = (scatter / weight)[:, None]
    few = variances < LEAST_SHARE * before
    if few.any():
        # Without a row that alone differs from the others, the variance is zero.
        variances[variances < ROUNDING * before] = 0.0
        variances[few & (variances > 0) & (variances + added < LEAST_SHARE * before)] = np.nan
    return squares, variances


def _left_out_forms(squares: Floats, variances: Floats, added: Floats, typical: Floats) -> Floats:
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
