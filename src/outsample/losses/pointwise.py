"""Losses with a value per sample: squared, absolute, zero-one, cost matrix, log, and a user's function.

For each the crossed mean of `losses.base` is computed without going through all pairs of a label and a prediction
where a closed form allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.data.tables import lend
from outsample.losses.base import (
    LABELS,
    PAIRS_AT_MOST,
    PAIRS_AT_ONCE,
    Loss,
    as_losses,
    class_shares,
    label_variance,
    meetings,
    per_sample,
    weighted_mean,
)
from outsample.running.arrays import Array, Floats
from outsample.running.threads import cached_property

# Up to this many classes, comparing predictions with each class is faster than `np.bincount`.
FEW_CLASSES = 20


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """(y − prediction)², averaged over outputs when there are several.

    >>> SquaredLoss().pointwise(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array([0., 4.])
    >>> float(SquaredLoss().crossed_mean(np.array([0.0, 2.0]), np.array([1.0, 1.0])))
    1.0
    """

    multioutput: bool = False
    name = "squared"
    task = "regression"
    statistic = "moments"
    quadratic = True

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, np.inf

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        return SquaredLoss(multioutput=n_outputs > 1)

    def pointwise(self, y: Array, prediction: Array) -> Array:
        off = np.asarray(y - prediction)
        return per_sample(np.multiply(off, off, out=off), self.multioutput)

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        # E(y − p)² = Var y + (ȳ − p)²
        off = per_sample((prediction - self.best_constant(y, label_weight)) ** 2, self.multioutput)
        return label_variance(y, label_weight) + weighted_mean(off, weight)

    def risk_and_crossed_mean(
        self, values: Floats, pool: Array, pool_weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        return values[..., 0], label_variance(pool, pool_weight) + values[..., 1]

    def best_constant(self, y: Array, weight: Floats | None = None) -> Array:
        return np.asarray(y.mean(axis=0) if weight is None else np.average(y, axis=0, weights=weight))


@dataclass(frozen=True)
class AbsoluteLoss(Loss):
    """|y − prediction|, averaged over outputs when there are several.

    >>> float(AbsoluteLoss().crossed_mean(np.array([0.0, 3.0]), np.array([1.0, 2.0])))
    1.5
    """

    multioutput: bool = False
    name = "absolute"
    task = "regression"

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, np.inf

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        return AbsoluteLoss(multioutput=n_outputs > 1)

    def pointwise(self, y: Array, prediction: Array) -> Array:
        return per_sample(np.abs(y - prediction), self.multioutput)

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        if not self.multioutput:
            return weighted_mean(mean_distance(y, prediction, label_weight), weight)
        outputs = [mean_distance(y[:, k], prediction[..., k], label_weight) for k in range(y.shape[1])]
        return weighted_mean(np.mean(outputs, axis=0), weight)

    def best_constant(self, y: Array, weight: Floats | None = None) -> Array | None:
        if weight is None:
            return np.asarray(np.median(y, axis=0))
        if not self.multioutput:
            return np.asarray(_weighted_median(y, weight))
        return np.array([_weighted_median(column, weight) for column in y.T])


def _weighted_median(y: Array, weight: Floats) -> float:
    """The middle of the numbers that have at most half of the weight on either side."""
    order = np.argsort(y, kind="stable")
    below = np.cumsum(weight[order]) / weight.sum()
    ends = np.searchsorted(below, 0.5, side="left"), np.searchsorted(below, 0.5, side="right")
    return float(np.mean(y[order[np.minimum(ends, len(y) - 1)]]))


def mean_distance(y: Array, points: Array, weight: Floats | None = None) -> Array:
    """Mean over j of |y_j − point| for every point, in O(log n) each by prefix sums of the sorted labels."""
    if weight is not None:
        return _weighted_distance(y, points, weight / weight.sum())
    ordered = np.sort(y)
    m = len(ordered)
    # Centred at the median: prefix sums of labels far from zero would round away their differences.
    center = ordered[m // 2]
    ordered, points = ordered - center, points - center
    prefix = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, points)
    return np.asarray((points * (2 * below - m) + prefix[m] - 2 * prefix[below]) / m)


def _weighted_distance(y: Array, points: Array, share: Floats) -> Array:
    """Σ_j share_j |y_j − point| for every point; the shares sum to one."""
    order = np.argsort(y, kind="stable")
    mass, moment = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (share[order], (share * y)[order]))
    below = np.searchsorted(y[order], points)
    return np.asarray(points * (2 * mass[below] - mass[-1]) + moment[-1] - 2 * moment[below])


@dataclass(frozen=True)
class ZeroOneLoss(Loss):
    """1 where the predicted class is not the true one, else 0; labels may be of any kind.

    The two verbs on the eighteen faces of Magdon-Ismail & Mertsalov. A rule is wrong on 2 of the real labels; the rule
    learned from permuted labels is wrong on 6 of these and on half of newly permuted ones. The difference of the latter
    two is the optimism, 17 %, and the estimated out-sample error is 11 + 17 = 28 %.

    >>> y = np.repeat(["man", "woman"], 9)
    >>> rule = y.copy()
    >>> rule[[0, 9]] = rule[[9, 0]]
    >>> permuted_rule = y.copy()
    >>> permuted_rule[[0, 1, 2, 9, 10, 11]] = permuted_rule[[9, 10, 11, 0, 1, 2]]
    >>> zero_one = ZeroOneLoss()
    >>> in_sample, permuted_in_sample = zero_one.risk(y, rule), zero_one.risk(y, permuted_rule)
    >>> optimism = zero_one.crossed_mean(y, permuted_rule) - permuted_in_sample
    >>> [round(float(100 * e)) for e in (in_sample, permuted_in_sample, optimism, in_sample + optimism)]
    [11, 33, 17, 28]
    """

    name = "zero-one"
    task = "classification"
    statistic = "confusion"
    unit_interval = True

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, 1.0

    def pointwise(self, y: Array, prediction: Array) -> Array:
        return np.asarray(y != prediction, dtype=np.float64)

    def risk(self, y: Array, prediction: Array, weight: Floats | None = None) -> Array:
        return np.asarray(weighted_mean(y != prediction, weight))

    def score(self, risk: Any, n: Any = None) -> Any:
        # With n known, round to the nearest multiple of 1/n: scikit-learn's accuracy to the last bit.
        return 1.0 - risk if n is None else np.rint((1.0 - risk) * n) / n

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        labels, shares = _labels_and_shares(y, label_weight)
        predicted = _shares_of(labels, prediction, weight)
        agreement = sum(share * of_label for share, of_label in zip(shares, predicted, strict=True))
        return np.asarray(1.0 - agreement)

    def risk_and_crossed_mean(
        self, values: Floats, pool: Array, pool_weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        return _means_of_cost(1.0 - np.eye(values.shape[-1]), values, pool, pool_weight)

    def constants(self, y: Array, weight: Floats | None = None) -> Iterator[Array]:
        yield from (np.broadcast_to(label, y.shape) for label in np.unique(y))

    def scale(self, y: Array, weight: Floats | None = None) -> float:
        return float(1.0 - _labels_and_shares(y, weight)[1].max())


def _labels_and_shares(y: Array, weight: Floats | None) -> tuple[Array, Floats]:
    """(distinct labels, share of each), sorted."""
    if weight is None:
        labels, counts = np.unique(y, return_counts=True)
        return labels, counts / len(y)
    labels, codes = np.unique(y, return_inverse=True)
    return labels, class_shares(codes.reshape(-1), len(labels), weight)


def _shares_of(labels: Array, prediction: Array, weight: Floats | None) -> Iterable[Array]:
    """For each label its (weighted) share among the predictions, (...)."""
    if len(labels) <= FEW_CLASSES:
        return (weighted_mean(prediction == label, weight) for label in labels)
    place = np.minimum(np.searchsorted(labels, prediction), len(labels) - 1)
    place[labels[place] != prediction] = len(labels)
    rows = place.reshape(-1, place.shape[-1])
    held = np.array([np.bincount(row, weight, len(labels) + 1)[:-1] for row in rows])
    total = place.shape[-1] if weight is None else weight.sum()
    return np.asarray((held / total).T.reshape(len(labels), *place.shape[:-1]))


def _means_of_cost(cost: Floats, shares: Floats, pool: Array, pool_weight: Floats | None) -> tuple[Floats, Floats]:
    """(risk, crossed mean), each (draws, models), from shares of (label, prediction), (draws, models, K, K)."""
    expected_cost = class_shares(pool, len(cost), pool_weight) @ cost
    in_sample = (shares * cost).sum(axis=(-2, -1))
    return in_sample, (shares.sum(axis=-2) * expected_cost).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class MatrixLoss(Loss):
    """The cost C[true class, predicted class]; rows and columns follow the K sorted classes."""

    matrix: Any
    name = "loss matrix"
    task = "classification"
    statistic = "confusion"

    def __post_init__(self) -> None:
        cost = np.asarray(self.matrix, dtype=np.float64)
        if cost.ndim != 2 or cost.shape[0] != cost.shape[1] or not np.isfinite(cost).all():
            raise ValueError(f"a loss matrix must be square and finite, got shape {cost.shape}")
        object.__setattr__(self, "matrix", cost)

    @property
    def range(self) -> tuple[float, float]:
        return float(self.matrix.min()), float(self.matrix.max())

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        if classes is not None and len(classes) != len(self.matrix):
            raise ValueError(
                f"loss: the matrix is for {len(self.matrix)} classes, y has {len(classes)}: {classes.tolist()[:10]}"
            )
        return self

    def pointwise(self, y: Array, prediction: Array) -> Array:
        return np.asarray(self.matrix[y, prediction])

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        return weighted_mean(self._expected_cost(y, label_weight)[prediction], weight)

    def _expected_cost(self, y: Array, weight: Floats | None) -> Floats:
        """Mean cost over the labels y of predicting each class, (K,)."""
        return np.asarray(class_shares(y, len(self.matrix), weight) @ self.matrix)

    def constants(self, y: Array, weight: Floats | None = None) -> Iterator[Array]:
        yield from (np.full(len(y), code) for code in range(len(self.matrix)))

    def scale(self, y: Array, weight: Floats | None = None) -> float:
        return float(self._expected_cost(y, weight).min())

    def risk_and_crossed_mean(
        self, values: Floats, pool: Array, pool_weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        return _means_of_cost(self.matrix, values, pool, pool_weight)


@dataclass(frozen=True)
class LogLoss(Loss):
    """−log of the probability of the true class; probabilities are clipped to [ε, 1 − ε], ε that of doubles."""

    name = "log"
    task = "classification"
    responses = ("predict_proba",)
    limitless = True

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, np.inf

    def pointwise(self, y: Array, prediction: Array) -> Array:
        codes = np.broadcast_to(y, prediction.shape[:-1])[..., None]
        return np.asarray(-np.take_along_axis(_log_probability(prediction), codes, axis=-1)[..., 0])

    def expected(self, probabilities: Floats, prediction: Array) -> Array:
        losses = -_log_probability(prediction)
        return np.asarray(sum(share * losses[..., c] for c, share in enumerate(probabilities.T)))

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        shares = class_shares(y, prediction.shape[-1], label_weight)
        return weighted_mean(-(_log_probability(prediction) * shares).sum(axis=-1), weight)

    def constants(self, y: Array, weight: Floats | None = None) -> Iterator[Array]:
        shares = class_shares(y, int(y.max()) + 1, weight)
        yield np.broadcast_to(shares, (len(y), len(shares)))

    def scale(self, y: Array, weight: Floats | None = None) -> float:
        shares = _labels_and_shares(y, weight)[1]
        return float(-(shares * np.log(shares)).sum())


def _log_probability(probability: Array) -> Array:
    tiny = np.finfo(np.float64).eps
    return np.asarray(np.log(np.clip(probability, tiny, 1 - tiny)))


@dataclass(frozen=True)
class CallableLoss(Loss):
    """A user's function of labels and predictions that returns one loss per sample.

    The crossed mean of class labels calls the function once for every pair of classes. That of numbers uses all pairs
    of a label and a prediction, or a fixed random choice of about `PAIRS_AT_MOST` of them (see `meetings`).
    """

    function: Callable[[Any, Any], Any]
    classes: Any = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return getattr(self.function, "__name__", type(self.function).__name__)

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        if n_outputs > 1:
            raise ValueError(
                f"loss {self.name}: a function of one loss per sample needs a single output, y has {n_outputs}"
            )
        return CallableLoss(self.function, classes)

    def pointwise(self, y: Array, prediction: Array) -> Array:
        Y = np.broadcast_to(y, prediction.shape)
        rows = [self._losses(Y[i], prediction[i]) for i in np.ndindex(prediction.shape[:-1])]
        return np.stack(rows).reshape(prediction.shape)

    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        if self.classes is not None and len(self.classes) ** 2 <= PAIRS_AT_MOST:
            met, shares = _labels_and_shares(y, label_weight)
            return weighted_mean((shares @ self._costs[met])[prediction], weight)
        lead, n = prediction.shape[:-1], prediction.shape[-1]
        places = meetings(len(y), n)
        share = np.ones(len(y)) if label_weight is None else label_weight
        means = [
            weighted_mean(self._mean_over_labels(y, share, places, prediction[i]), weight) for i in np.ndindex(lead)
        ]
        return np.asarray(means).reshape(lead)

    @cached_property
    def _costs(self) -> Floats:
        """The loss for each true and each predicted class, (K, K)."""
        codes = np.arange(len(self.classes))
        return self._losses(*(pair.ravel() for pair in np.meshgrid(codes, codes, indexing="ij"))).reshape(
            len(codes), -1
        )

    def _mean_over_labels(self, pool: Array, share: Floats, places: NDArray[np.intp], prediction: Array) -> Floats:
        """Mean loss of each prediction over the labels it is paired with, weighted by `share`, (n,)."""
        n = len(prediction)
        step = max(1, PAIRS_AT_ONCE // n)
        total, met = np.zeros(n), np.zeros(n)
        for start in range(0, len(places), step):
            some = places[start : start + step]
            labels = np.broadcast_to(pool[some], (len(some), n))
            pairs = self._losses(labels.ravel(), np.tile(prediction, len(labels)))
            total += (pairs.reshape(len(labels), n) * share[some]).sum(axis=0)
            met += share[some].sum(axis=0)
        return total / met

    def _losses(self, y: Array, prediction: Array) -> Array:
        if self.classes is not None:
            y, prediction = self.classes[y], self.classes[prediction]
        losses = as_losses(lend(self.function, self.function, y, prediction, names=LABELS), self.name)
        if losses.shape != (len(y),):
            raise ValueError(
                f"loss {self.name} must return one number per sample, shape ({len(y)},); it returned {losses.shape}"
            )
        return losses
