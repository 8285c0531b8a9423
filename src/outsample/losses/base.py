"""What every loss can do, and the weighted means they are made of."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from outsample.running.arrays import Array, Floats

SufficientStatistic = Literal["confusion", "moments"]

RELATIVE_ROUNDING = 1e-12
LABELS = ("y", "prediction")

# Pairs of a label and a prediction that a function judges in one call, and for one crossed mean.
PAIRS_AT_ONCE = 1_000_000
PAIRS_AT_MOST = 250_000
# Labels that every prediction meets at least where there are more pairs than that.
LABELS_AT_LEAST = 20


def weighted_mean(values: Array, weight: Floats | None) -> Array:
    """Mean over the last axis; the same bits whatever the leading axes."""
    if values.ndim > 1 and values.strides[-1] == 0 and values.shape[-1] > 1:
        # One number for all samples, not written out.
        return np.array(values[..., 0], dtype=np.float64)
    values = np.ascontiguousarray(values, dtype=np.float64)
    if weight is None:
        return np.asarray(values.mean(axis=-1))
    return np.asarray((values * weight).sum(axis=-1) / weight.sum())


def class_shares(codes: Array, n_classes: int, weight: Floats | None = None) -> Floats:
    """Share of each class among labels, by number or by weight, (classes,)."""
    total = len(codes) if weight is None else weight.sum()
    return np.asarray(np.bincount(codes, weights=weight, minlength=n_classes) / total)


class Loss(ABC):
    """How wrong a prediction is; smaller is better.

    Attributes
    ----------
    name : the word for it in results.
    task : the kind of learner it judges.
    responses : prediction methods it can read, the preferred one first.
    statistic : the sufficient statistic of a fit, from which this loss can be computed, if there is one.
    unit_interval : whether every loss lies in {0, 1}, so that binomial and Hoeffding arguments apply.
    per_row : whether every row has a loss of its own; otherwise the loss judges a whole set of predictions.
    quadratic : whether it is the squared error, for which linear smoothers have closed forms.
    reads_predictions : whether it is computed from predictions; otherwise fitted models are asked themselves.
    """

    name: str
    task: Literal["classification", "regression", "any"] = "any"
    responses: tuple[str, ...] = ("predict",)
    statistic: SufficientStatistic | None = None
    unit_interval: bool = False
    per_row: bool = True
    quadratic: bool = False
    reads_predictions: bool = True

    @property
    def range(self) -> tuple[float, float]:
        """(least, greatest) risk that this loss can have, infinite where nothing is known."""
        return -np.inf, np.inf

    @property
    def on_new_data(self) -> str:
        """What an out-sample value of this loss is, in words."""
        return f"the expected {self.name} loss on a new sample"

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        """This loss, told what the labels are: their classes (None for regression) and number of outputs."""
        return self

    def takes_weight(self) -> bool:
        """Whether rows can be weighted in it."""
        return True

    @abstractmethod
    def pointwise(self, y: Array, prediction: Array) -> Array:
        """One loss per sample, (..., n)."""

    def risk(self, y: Array, prediction: Array, weight: Floats | None = None) -> Array:
        """Mean loss over samples, (...)."""
        return weighted_mean(self.pointwise(y, prediction), weight)

    @abstractmethod
    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        """Mean loss over all pairs of a label of y and a prediction, (...).

        y is a pool of labels, of any length; `weight` belongs to the predictions, `label_weight` to the labels.
        """

    def expected(self, probabilities: Floats, prediction: Array) -> Array:
        """Mean loss of each sample over class codes drawn with its own probabilities (n, K), (..., n)."""
        n, n_classes = probabilities.shape
        of_class = (probabilities[:, c] * self.pointwise(np.full(n, c), prediction) for c in range(n_classes))
        return np.asarray(sum(of_class))

    def judged(self, summary: Floats, pool: Array, pool_weight: Floats | None = None) -> tuple[Floats, Floats]:
        """(risk, crossed mean) from the summary named by `statistic`, each (draws, models).

        `pool` are the labels each row could have been given, with probabilities in proportion to `pool_weight`.
        """
        raise TypeError(f"{self.name} has no sufficient summary")

    def best_constant(self, y: Array, weight: Floats | None = None) -> Array | None:
        """The constant prediction of least risk, where a closed form is known."""
        return None

    def scale(self, y: Array, weight: Floats | None = None) -> float:
        """The risk of predicting without looking at X: what a difference of risks is large or small against.

        That of the best constant; where none is known, what shuffled labels lose as predictions against the labels
        themselves. It has the unit of the loss; 0 where it cannot be measured.
        """
        constant = self.best_constant(y, weight)
        if constant is None:
            return self._added_risk(y, np.random.default_rng(0).permutation(y))
        return float(self.risk(y, np.broadcast_to(constant, y.shape), weight))

    def rounding(self, y: Array) -> float:
        """What rounding alone may add to the risk of real labels: that of predictions off by 1e-12 of the largest."""
        return self._added_risk(y, y + RELATIVE_ROUNDING * np.abs(y).max())

    def _added_risk(self, y: Array, other: Array) -> float:
        """How far the risk of `other` labels, taken as predictions, is from that of y itself; 0 if unknown."""
        try:
            added = abs(float(self.risk(y, self._predicting(other)) - self.risk(y, self._predicting(y))))
        except Exception:
            # A function of the user may be undefined on predictions that no learner made.
            return 0.0
        return added if np.isfinite(added) else 0.0

    def _predicting(self, y: Array) -> Array:
        """What a learner that is sure of these labels answers."""
        return y

    def score(self, risk: Any, n: Any = None) -> Any:
        """A risk as a score, greater is better, in scikit-learn's habit.

        `n` is the number of equally weighted samples behind each risk, where it is known.
        """
        return -risk

    def reported(self, risk: Any) -> Any:
        """A risk (or a difference of risks) in the scale the user asked for."""
        return risk


def per_sample(errors: Array, multioutput: bool) -> Array:
    return errors.mean(axis=-1) if multioutput else errors


def label_variance(y: Array, weight: Floats | None = None) -> float:
    """Variance of labels (÷ n, or by weight), averaged over outputs where there are several."""
    if weight is None:
        return float(np.mean(np.var(y, axis=0)))
    return float(np.mean(np.average((y - np.average(y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)))


def as_losses(returned: Any, name: str) -> Floats:
    """What a user's loss returned, as real numbers.

    Raises
    ------
    ValueError
        For complex numbers, for what is no number at all, and for nan.
    """
    losses = np.asarray(returned)
    if losses.dtype.kind == "O":
        # Boxed numbers, as labels of mixed types give them.
        with contextlib.suppress(TypeError, ValueError):
            losses = losses.astype(np.float64)
    if losses.dtype.kind not in "fiub":
        raise ValueError(f"loss {name!r} must return real numbers, it returned {losses.dtype}")
    if np.isnan(losses).any():
        which = f" for {np.isnan(losses).sum()} of {losses.size} samples" if losses.ndim else ""
        raise ValueError(f"loss {name!r} must return real numbers, it returned nan{which}")
    return losses.astype(np.float64, copy=False)


def meetings(n_labels: int, n: int) -> NDArray[np.intp]:
    """Which labels of a pool each of n predictions meets, (labels met, n), or (labels, 1) where each meets all."""
    if n_labels * n <= PAIRS_AT_MOST:
        return np.arange(n_labels)[:, None]
    n_met = min(n_labels, max(LABELS_AT_LEAST, PAIRS_AT_MOST // n))
    order, first = np.random.default_rng(0).permutation(n_labels), np.arange(n) * n_labels // n
    return np.asarray(order[(first + np.arange(n_met)[:, None]) % n_labels])
