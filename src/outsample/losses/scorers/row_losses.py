"""Losses of a row behind scikit-learn's scores, with their mean over the labels of a pool and their best constant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from outsample.losses.base import class_shares
from outsample.losses.pointwise import mean_distance
from outsample.losses.scorers.form import mean_of_rows
from outsample.running.arrays import Array, Bools, Floats


class RowLoss(ABC):
    """The loss of a row, as in scikit-learn.

    Attributes
    ----------
    of_classes : whether predictions are probabilities (..., n, classes) of codes, otherwise values (..., n).
    squared : whether it is the squared error.
    every_digit : whether its mean has every digit that scikit-learn gives.
    """

    of_classes: bool = False
    squared: bool = False
    every_digit: bool = True

    @abstractmethod
    def losses(self, y: Array, prediction: Array) -> Floats:
        """The loss of every row, (..., n)."""

    @abstractmethod
    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        """The mean loss of every prediction over all labels of a pool, (..., n)."""

    def constant(self, y: Array, weight: Floats | None) -> Array:
        """The constant prediction of least mean loss for every set, (..., 1[, classes])."""
        return mean_of_rows(np.asarray(y, dtype=np.float64), weight)[..., None]

    def usable(self, y: Array, prediction: Array, matched: bool = True) -> Bools:
        """Which sets scikit-learn takes without a word, (...).

        `matched` says whether labels belong to predictions row by row; otherwise they are a pool.
        """
        finite = np.isfinite(prediction).all(axis=(-2, -1) if self.of_classes else -1)
        return np.broadcast_to(finite, np.broadcast_shapes(y.shape[:-1] if matched else (), finite.shape))


class SquaredError(RowLoss):
    """(y − prediction)²."""

    squared = True

    def losses(self, y: Array, prediction: Array) -> Floats:
        return np.asarray(np.square(y - prediction, dtype=np.float64))

    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        center = np.average(pool, weights=pool_weight)
        return np.asarray(np.average((pool - center) ** 2, weights=pool_weight) + (prediction - center) ** 2)


@dataclass(frozen=True)
class Pinball(RowLoss):
    """scale·(α (y − prediction)₊ + (1 − α) (prediction − y)₊); half the absolute error at α = ½."""

    alpha: float = 0.5
    scale: float = 1.0

    def losses(self, y: Array, prediction: Array) -> Floats:
        off = y - prediction
        if self.alpha == 0.5:
            return np.asarray(np.abs(off) * (0.5 * self.scale))
        return np.asarray(np.where(off >= 0, self.alpha * off, (self.alpha - 1) * off) * self.scale)

    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        lean = (self.alpha - 0.5) * (np.average(pool, weights=pool_weight) - prediction)
        return np.asarray((0.5 * mean_distance(pool, prediction, pool_weight) + lean) * self.scale)

    def constant(self, y: Array, weight: Floats | None) -> Array:
        return averaged_quantile(y, self.alpha, weight)


class PercentageError(RowLoss):
    """|y − prediction|/|y|; y is taken as no smaller than the precision of doubles."""

    def losses(self, y: Array, prediction: Array) -> Floats:
        return np.asarray(np.abs(prediction - y) / self._unit(y))

    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        share = 1 / self._unit(pool) * (1.0 if pool_weight is None else pool_weight)
        whole = float(len(pool)) if pool_weight is None else pool_weight.sum()
        return np.asarray(mean_distance(pool, prediction, share) * (share.sum() / whole))

    @staticmethod
    def _unit(y: Array) -> Floats:
        return np.maximum(np.abs(y), np.finfo(np.float64).eps)


class SquaredLogError(RowLoss):
    """(log(1 + y) − log(1 + prediction))²."""

    def losses(self, y: Array, prediction: Array) -> Floats:
        return np.asarray(np.square(np.log1p(y) - np.log1p(prediction)))

    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        return SquaredError().over_labels(np.log1p(pool), np.log1p(prediction), pool_weight)

    def usable(self, y: Array, prediction: Array, matched: bool = True) -> Bools:
        above = (prediction > -1).all(axis=-1) & ((y > -1).all(axis=-1) if matched else (y > -1).all())
        return np.asarray(super().usable(y, prediction, matched) & above)


@dataclass(frozen=True)
class Deviance(RowLoss):
    """Twice the loss of log likelihood in Tweedie's family; power 1 is Poisson's, power 2 Gamma's."""

    power: float

    def losses(self, y: Array, prediction: Array) -> Floats:
        p = self.power
        if p == 1:
            return np.asarray(2 * (xlogy(y, y / prediction) - y + prediction))
        if p == 2:
            return np.asarray(2 * (np.log(prediction / y) + y / prediction - 1))
        of_label = np.power(y, 2 - p) / ((1 - p) * (2 - p))
        return np.asarray(2 * (of_label + self._slope(prediction) * y + np.power(prediction, 2 - p) / (2 - p)))

    def _slope(self, prediction: Array) -> Floats:
        return np.asarray(-np.power(prediction, 1 - self.power) / (1 - self.power))

    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        # Linear in y but for a term of y alone: the loss at the mean label, and what labels have around it.
        center = np.average(pool, weights=pool_weight)
        around = np.average(self.losses(pool, np.full(len(pool), center)), weights=pool_weight)
        return np.asarray(self.losses(np.asarray(center), prediction) + around)

    def usable(self, y: Array, prediction: Array, matched: bool = True) -> Bools:
        low = (y <= 0) if self.power >= 2 else (y < 0)
        allowed = ~(low.any(axis=-1) if matched else low.any()) & (prediction > 0).all(axis=-1)
        return np.asarray(super().usable(y, prediction, matched) & allowed)


class _Probabilities(RowLoss):
    """A loss of class probabilities (..., n, classes)."""

    of_classes = True

    def usable(self, y: Array, prediction: Array, matched: bool = True) -> Bools:
        eps = np.finfo(prediction.dtype).eps
        inside = ((prediction >= 0) & (prediction <= 1)).all(axis=(-2, -1))
        whole = (np.abs(prediction.sum(axis=-1) - 1) <= np.sqrt(eps)).all(axis=-1)
        for c in range(prediction.shape[-1]):
            inside = inside & ((y == c).any(axis=-1) if matched else True)
        return np.asarray(super().usable(y, prediction, matched) & inside & whole)

    def constant(self, y: Array, weight: Floats | None) -> Array:
        n_classes = int(y.max()) + 1
        return np.stack([mean_of_rows(y == c, weight) for c in range(n_classes)], axis=-1)[..., None, :]

    @staticmethod
    def _own(y: Array, values: Array) -> Floats:
        """The value of the class of each row, (..., n), of values (..., n or 1, classes)."""
        lead = np.broadcast_shapes(y.shape, values.shape[:-1])
        values, codes = np.broadcast_to(values, (*lead, values.shape[-1])), np.broadcast_to(y, lead)
        return np.asarray(np.take_along_axis(values, codes[..., None], axis=-1)[..., 0])


def _as_scikit_learn(prediction: Array) -> Array:
    """Probabilities as scorers hand them on: of two classes only the second is read."""
    if prediction.shape[-1] != 2:
        return prediction
    second = prediction[..., 1]
    return np.stack([1 - second, second], axis=-1)


class LogError(_Probabilities):
    """−log of the probability of the label; probabilities are kept from 0 and 1 by the precision of their type."""

    def losses(self, y: Array, prediction: Array) -> Floats:
        return self._own(y, self._all(prediction))

    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        return np.asarray(self._all(prediction) @ class_shares(pool, prediction.shape[-1], pool_weight))

    @staticmethod
    def _all(prediction: Array) -> Floats:
        eps = np.finfo(prediction.dtype).eps
        return np.asarray(-np.log(np.clip(_as_scikit_learn(prediction), eps, 1 - eps), dtype=np.float64))


@dataclass(frozen=True)
class BrierError(_Probabilities):
    """Squared distance of the probabilities from certainty of the label, times `scale`."""

    scale: float = 1.0
    every_digit = False

    def losses(self, y: Array, prediction: Array) -> Floats:
        prediction = _as_scikit_learn(prediction)
        squares = np.square(prediction).sum(axis=-1)
        return np.asarray((squares + 1 - 2 * self._own(y, prediction)) * self.scale)

    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        prediction = _as_scikit_learn(prediction)
        own = prediction @ class_shares(pool, prediction.shape[-1], pool_weight)
        return np.asarray((np.square(prediction).sum(axis=-1) + 1 - 2 * own) * self.scale)


@dataclass(frozen=True)
class AmongFirst(_Probabilities):
    """1 where the label is among the k classes of greatest score; of equal scores the later class is greater."""

    k: int

    def losses(self, y: Array, prediction: Array) -> Floats:
        return np.asarray(self._own(y, self._all(prediction)), dtype=np.float64)

    def over_labels(self, pool: Array, prediction: Array, pool_weight: Floats | None) -> Floats:
        return np.asarray(self._all(prediction) @ class_shares(pool, prediction.shape[-1], pool_weight))

    def _all(self, prediction: Array) -> Floats:
        """1 where a class is among the first k, (..., n, classes)."""
        order = np.flip(np.argsort(prediction, axis=-1, kind="stable"), axis=-1)[..., : self.k]
        among = np.zeros(prediction.shape)
        np.put_along_axis(among, order, 1.0, axis=-1)
        return among

    def usable(self, y: Array, prediction: Array, matched: bool = True) -> Bools:
        complete = RowLoss.usable(self, y, prediction, matched)
        for c in range(prediction.shape[-1]):
            complete = complete & ((y == c).any(axis=-1) if matched else True)
        return np.asarray(complete)


def averaged_quantile(y: Array, level: float, weight: Floats | None) -> Array:
    """The quantile of every set, (..., 1): the mean of the least and the greatest label that have it."""
    lead = y.shape[:-1] if weight is None else np.broadcast_shapes(y.shape[:-1], weight.shape[:-1])
    if weight is None:
        return np.asarray(np.quantile(y, level, axis=-1, method="averaged_inverted_cdf"))[..., None]
    held, share = np.broadcast_to(y, (*lead, y.shape[-1])), np.broadcast_to(weight, (*lead, y.shape[-1]))
    quantiles = np.empty((*lead, 1))
    for i in np.ndindex(lead):
        order = np.argsort(held[i], kind="stable")
        reached = np.cumsum(share[i][order])
        at = level * reached[-1]
        ends = np.searchsorted(reached, at, side="left"), np.searchsorted(reached, at, side="right")
        quantiles[i] = np.mean(held[i][order[np.minimum(ends, len(order) - 1)]])
    return quantiles
