"""Reference models: label distributions around a fit, from which labels are drawn with X fixed.

Permutation draws labels as if X said nothing. A reference says what X is believed to say, and how much noise is
left; drawing around it prices the noise at the residual and not at the total variance of y (Efron 2004; Ye 1998).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from outsample.losses.base import Loss, class_shares, label_variance, weighted_mean
from outsample.losses.pointwise import SquaredLoss
from outsample.losses.whole_set import FRESH_LABELS, SetLoss
from outsample.running.arrays import Array, Floats
from outsample.running.threads import cached_property


@dataclass(frozen=True, eq=False)
class Reference(ABC):
    """A distribution of label vectors, every label independent of the others.

    Attributes
    ----------
    n_fits : fits that were spent on it.
    relative_error : Monte-Carlo error of its noise, relative to the noise. The optimism around a reference is nearly
        proportional to the noise, so that it has this relative error, too.
    """

    n_fits: int = field(default=0, kw_only=True)
    relative_error: float = field(default=0.0, kw_only=True)

    @abstractmethod
    def labels_at(self, levels: Floats) -> Array:
        """The label of every row at this level of its distribution, from 0 to 1 (1 not included), (n,)."""

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of rows."""

    def draw(self, rng: np.random.Generator) -> Array:
        """One label vector, (n,)."""
        return self.labels_at(rng.random(self.n_samples))

    @abstractmethod
    def optimism(
        self, loss: Loss, labels: Array, fitted: Array, weight: Floats | None, rng: np.random.Generator
    ) -> Floats:
        """Expected risk on labels drawn anew minus risk on the labels fitted, (models,).

        Parameters
        ----------
        labels : (n,) the drawn labels.
        fitted : (models, n[, classes]) the models fitted to them.
        """

    def _over_fresh_labels(
        self, loss: Loss, labels: Array, fitted: Array, weight: Floats | None, rng: np.random.Generator
    ) -> Floats:
        fresh = [loss.risk(self.draw(rng), fitted, weight) for _ in range(FRESH_LABELS)]
        return np.asarray(np.mean(fresh, axis=0) - loss.risk(labels, fitted, weight))


@dataclass(frozen=True, eq=False)
class ValueReference(Reference):
    """y*_i = mean_i + a residual drawn with replacement.

    Attributes
    ----------
    mean : (n,)
    residuals : (m,) centred, scaled to the variance of the noise.
    weight : (m,) what residuals are drawn in proportion to; None where they are equally likely.
    """

    mean: Floats
    residuals: Floats
    weight: Floats | None = None

    @cached_property
    def variance(self) -> float:
        """Variance of the noise."""
        return label_variance(self.residuals, self.weight)

    @property
    def n_samples(self) -> int:
        return len(self.mean)

    @cached_property
    def _ordered(self) -> Floats:
        return np.sort(self.residuals)

    @cached_property
    def _steps(self) -> Floats:
        """Levels up to which each residual but the largest reaches, smallest residual first."""
        assert self.weight is not None
        reached = np.cumsum(self.weight[np.argsort(self.residuals, kind="stable")])
        return np.asarray(reached[:-1] / reached[-1])

    def labels_at(self, levels: Floats) -> Array:
        if self.weight is not None:
            return np.asarray(self.mean + self._ordered[np.searchsorted(self._steps, levels, side="right")])
        # A level just below one may be rounded up to one by the product.
        last = len(self._ordered) - 1
        return np.asarray(self.mean + self._ordered[np.minimum((levels * (last + 1)).astype(np.intp), last)])

    def optimism(
        self, loss: Loss, labels: Array, fitted: Array, weight: Floats | None, rng: np.random.Generator
    ) -> Floats:
        if isinstance(loss, SquaredLoss):
            # Twice the covariance; the part of the optimism that no fit can influence has mean zero and is left out.
            return 2 * weighted_mean((labels - self.mean) * (fitted - self.mean), weight)
        return self._over_fresh_labels(loss, labels, fitted, weight, rng)


@dataclass(frozen=True, eq=False)
class ClassReference(Reference):
    """y*_i is class c with probability `probabilities[i, c]`."""

    probabilities: Floats

    @property
    def n_samples(self) -> int:
        return len(self.probabilities)

    @property
    def noise(self) -> float:
        """How often two labels drawn for the same row differ, on average over rows."""
        return float(np.mean(1.0 - np.square(self.probabilities).sum(axis=1)))

    def between(self, low: ClassReference, high: ClassReference) -> ClassReference:
        """This reference, one Monte-Carlo error of what decided its noise away from `low` and from `high`."""
        return replace(self, relative_error=abs(high.noise - low.noise) / 2 / self.noise if self.noise > 0 else 0.0)

    def labels_at(self, levels: Floats) -> Array:
        steps = np.cumsum(self.probabilities, axis=1)
        return np.asarray((levels[:, None] * steps[:, -1:] >= steps[:, :-1]).sum(axis=1))

    def optimism(
        self, loss: Loss, labels: Array, fitted: Array, weight: Floats | None, rng: np.random.Generator
    ) -> Floats:
        if isinstance(loss, SetLoss):
            return self._over_fresh_labels(loss, labels, fitted, weight, rng)
        return weighted_mean(loss.expected(self.probabilities, fitted) - loss.pointwise(labels, fitted), weight)


def value_reference(
    y: Floats,
    mean: Floats,
    *,
    degrees_of_freedom: float = 0.0,
    shrink: float = 0.0,
    n_fits: int = 0,
    weight: Floats | None = None,
) -> ValueReference:
    """A reference around `mean` moved the share `shrink` of the way to ȳ.

    Residuals are centred and enlarged so that their variance is RSS/(n − degrees of freedom of the mean), which
    for the residuals of least squares is the unbiased estimate of the noise. With weights the means are weighted, RSS
    is n times the weighted mean square, the degrees of freedom are n times the weighted mean leverage, and the
    estimate is unbiased for weighted least squares with noise of one variance.
    """
    moved = (1 - shrink) * mean + shrink * np.average(y, weights=weight)
    freedom = (1 - shrink) * degrees_of_freedom + shrink
    residuals = y - moved
    residuals = residuals - np.average(residuals, weights=weight)
    squares = np.sum((y - moved) ** 2) if weight is None else len(y) * weighted_mean((y - moved) ** 2, weight)
    spread = float(squares) / max(len(y) - freedom, 1.0)
    now = label_variance(residuals, weight)
    return ValueReference(moved, residuals * np.sqrt(spread / now) if now > 0 else residuals, weight, n_fits=n_fits)


def class_reference(
    codes: Array, probabilities: Floats, *, shrink: float = 0.0, n_fits: int = 0, weight: Floats | None = None
) -> ClassReference:
    """A reference with these probabilities moved the share `shrink` of the way to the (weighted) class shares."""
    shares = class_shares(codes, probabilities.shape[1], weight)
    return ClassReference((1 - shrink) * probabilities + shrink * shares, n_fits=n_fits)


def noisy_labels(
    codes: Array, predicted: Array, n_classes: int, weight: Floats | None = None, factor: float = 1.0
) -> Floats:
    """Probabilities from predictions for rows the predictor never saw: right as often as it was, (n, classes).

    The error rate is that of the predictions, weighted, with one right and one wrong prediction added, so that
    neither no noise nor nothing but noise is ever believed; and multiplied by `factor`.
    """
    wrong = predicted != codes
    errors = wrong.sum() if weight is None else len(codes) * weighted_mean(wrong, weight)
    error = min(max((errors + 1) / (len(codes) + 2) * factor, 0.0), 1.0)
    probabilities = np.full((len(codes), n_classes), error / (n_classes - 1))
    probabilities[np.arange(len(codes)), predicted] = 1 - error
    return probabilities
