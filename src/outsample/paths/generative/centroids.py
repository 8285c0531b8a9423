"""Nearest centroids along `shrink_threshold`."""

from __future__ import annotations

from typing import Any

import numpy as np

from outsample.data.tables import Table
from outsample.paths.base import Design, GridPath
from outsample.paths.generative.design import ClassModels, GenerativeDesign, Scorer, Scores
from outsample.paths.generative.inputs import double_table, is_number, usable_priors
from outsample.paths.generative.statistics import LEAST_SHARE, ClassMoments
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Bools, Floats, Rows


class NearestCentroidPath(GridPath):
    """`NearestCentroid` along `shrink_threshold`, Euclidean metric, dense X."""

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    takes_weight = False

    @classmethod
    def serves(cls, estimator: Any, alone: bool) -> bool:
        return bool(estimator.metric == "euclidean")

    @classmethod
    def accepts(cls, value: object) -> bool:
        return value is None or (is_number(value, 0.0) and value != 0)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        table, priors = double_table(X), self.estimator.priors
        named = isinstance(priors, str) and priors in ("uniform", "empirical")
        known = classes is not None and (named or (priors is not None and usable_priors(priors, len(classes))))
        if table is None or classes is None or not known or not np.ptp(table, axis=0).any():
            return RefitPath.of(self).bind(X, classes, weight)
        models = Centroids(table, np.array([value or 0.0 for value in self.values]), len(classes), priors)
        return GenerativeDesign(self, models, X, classes, weight)


class Centroids(ClassModels):
    """Distances to class means that are shrunken towards the mean of all rows, for every threshold.

    Scores are squared distances, negative. All answers but labels under equal priors are in units of the standard
    deviations within classes, plus twice the logarithms of the priors.

    Parameters
    ----------
    table : (n, p).
    thresholds : (models,) zero for no shrinkage.
    priors : "uniform", "empirical" or (K,).
    """

    def __init__(self, table: Floats, thresholds: Floats, n_classes: int, priors: Any) -> None:
        self._center = table.mean(axis=0)
        self.table = table - self._center
        self._thresholds, self._priors = thresholds, priors
        self.n_models, self.n_classes = len(thresholds), n_classes
        self._spread = self.table.std(axis=0)
        # Sums of a few binary digits are exact, so that scikit-learn finds no deviation, and does not divide by it.
        short = (table[0] * 1024 == np.round(table[0] * 1024)) & (np.abs(table[0]) < 2**20)
        self._constant = short & (np.ptp(table, axis=0) == 0)

    def read(self, X_new: Table) -> Floats | None:
        new = double_table(X_new)
        return None if new is None or new.shape[1] != self.table.shape[1] else new - self._center

    def statistics(self, table: Floats, codes: Array, weight: Floats | None) -> ClassMoments:
        return ClassMoments.of(table, codes, self.n_classes)

    def scorer(self, statistics: ClassMoments, table: Floats, response: str) -> Scorer:
        weight, means = statistics.weight[:, None], statistics.mean[:, :, None]
        squares = statistics.scatter.sum(axis=0)[:, None]

        def scores(block: slice) -> Scores:
            return self._scores(table[block].T, weight, means, squares, squares, response)

        return scores

    def left_out_scorer(self, statistics: ClassMoments, codes: Array, weight: Floats | None, response: str) -> Scorer:
        squares = statistics.scatter.sum(axis=0)[:, None]

        def scores(block: Rows) -> Scores:
            rows, own = self.table[block].T, codes[block]
            place, n_own = np.arange(len(own)), statistics.weight[own]
            left = np.repeat(statistics.weight[:, None], len(own), axis=1)
            left[own, place] -= 1.0
            apart = rows - statistics.mean[own].T
            means = np.repeat(statistics.mean[:, :, None], len(own), axis=2)
            means[own, :, place] -= (apart / (n_own - 1.0)).T
            remaining = squares - np.square(apart) * (n_own / (n_own - 1.0))
            return self._scores(rows, left, means, remaining, squares, response)

        return scores

    def _scores(
        self, rows: Floats, weight: Floats, means: Floats, squares: Floats, before: Floats, response: str
    ) -> Scores:
        """Scores (models, K, rows) of `rows` (p, rows).

        Parameters
        ----------
        weight, means : (K, rows) and (K, p, rows), or one instead of rows where all have the same statistics.
        squares : (p, rows or 1) sums of squares within classes.
        before : the same before a row was removed from them.
        """
        n = weight.sum(axis=0)
        prior = self._prior(weight)
        plain = response == "predict" and bool(np.isclose(prior, 1.0 / self.n_classes).all())
        spread = np.sqrt(np.maximum(squares, 0.0) / (n - self.n_classes))
        unit = np.where(self._constant[:, None], 1.0, spread)
        values = np.empty((self.n_models, self.n_classes, rows.shape[1]))
        alike = np.zeros((self.n_models, rows.shape[1]), bool)
        for m, threshold in enumerate(self._thresholds):
            centres = means if threshold == 0 else _shrunken(means, weight, spread, threshold)
            alike[m] = (centres == centres[0]).all(axis=(0, 1))
            for k in range(self.n_classes):
                apart = rows - centres[k] if plain else (rows - centres[k]) / unit
                values[m, k] = -np.square(apart).sum(axis=0)
        if not plain:
            values += 2.0 * np.log(prior)
        uses_spread = (self._thresholds > 0)[:, None] | (not plain)
        return Scores(values, uses_spread & self._uncertain(squares, before, n, plain), alike & plain)

    def _uncertain(self, squares: Floats, before: Floats, n: Floats, plain: bool) -> Bools:
        """Where standard deviations within classes have too few digits, or are as good as zero, (rows,)."""
        few = (squares < LEAST_SHARE * before) & (before > 0)
        # A standard deviation of zero is none to scikit-learn, one of rounding is one.
        zero = squares <= 1e-12 * len(self.table) * np.square(self._spread)[:, None]
        zero &= ~self._constant[:, None]
        return np.asarray((few | (zero & (not plain))).any(axis=0) | (n <= self.n_classes))

    def _prior(self, weight: Floats) -> Floats:
        """Priors of the classes, (K, rows or 1)."""
        if isinstance(self._priors, str):
            counts = weight if self._priors == "empirical" else np.ones((self.n_classes, 1))
            return np.asarray(counts / counts.sum(axis=0))
        return np.asarray(self._priors, np.float64)[:, None]


def _shrunken(means: Floats, weight: Floats, spread: Floats, threshold: float) -> Floats:
    """Class means moved towards the mean of all rows by `threshold` standard errors, (K, p, rows or 1)."""
    n = weight.sum(axis=0)
    overall = (means * weight[:, None]).sum(axis=0) / n
    errors = np.sqrt(1.0 / weight - 1.0 / n)[:, None] * (spread + np.median(spread, axis=0))
    deviations = (means - overall) / errors
    kept = np.sign(deviations) * np.maximum(np.abs(deviations) - threshold, 0.0)
    return np.asarray(overall + errors * kept)
