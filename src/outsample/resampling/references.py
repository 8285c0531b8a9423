"""Reference models: distributions of labels around a fit, from which labels are drawn with X fixed.

Permutation draws labels that do not depend on X, with the total variance of y. A reference has a mean (or class
probabilities) for every row and noise around it, so that labels are drawn with the residual variance (Efron 2004;
Ye 1998).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from outsample.losses.base import Groups, Loss, class_shares, label_variance, weighted_mean
from outsample.losses.pointwise import SquaredLoss
from outsample.losses.whole_set import FRESH_LABELS, SetLoss
from outsample.running.arrays import Array, Floats
from outsample.running.threads import cached_property


@dataclass(frozen=True, eq=False)
class Reference(ABC):
    """A distribution of label vectors with independent labels.

    Attributes
    ----------
    relative_error : Monte-Carlo standard error of its noise, relative to the noise. The optimism around a reference is
        nearly proportional to the noise and so has about this relative error, too.
    """

    relative_error: float = field(default=0.0, kw_only=True)

    @abstractmethod
    def labels_at(self, levels: Floats) -> Array:
        """The quantile of each row's label distribution at its level in [0, 1), (n,)."""

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of rows."""

    def draw(self, rng: np.random.Generator) -> Array:
        """One label vector, (n,)."""
        return self.labels_at(rng.random(self.n_samples))

    def judged_by(self, loss: Loss, labels: Array) -> Array:
        """Labels that were drawn, (n,), so that the loss is defined on them."""
        return labels

    def _fresh(self, loss: Loss, rng: np.random.Generator) -> Array:
        """Label vectors for the loss, (fresh, n)."""
        return np.stack([self.judged_by(loss, self.draw(rng)) for _ in range(FRESH_LABELS)])

    @abstractmethod
    def optimism(
        self, loss: Loss, labels: Array, fitted: Array, weight: Floats | None, rng: np.random.Generator
    ) -> Floats:
        """Expected risk on fresh labels minus the risk on the labels fitted, (models,).

        Parameters
        ----------
        labels : (n,) labels drawn from this reference.
        fitted : (models, n[, classes]) the predictions of models fitted to them.
        """

    def _over_fresh_labels(
        self, loss: Loss, labels: Array, fitted: Array, weight: Floats | None, rng: np.random.Generator
    ) -> Floats:
        fresh = self._fresh(loss, rng)
        if isinstance(loss, SetLoss):
            risks = loss.risk_of_labels(np.concatenate([fresh, labels[None]]), fitted, weight)
            return np.asarray(risks[:-1].mean(axis=0) - risks[-1])
        on_fresh = np.mean([loss.risk(drawn, fitted, weight) for drawn in fresh], axis=0)
        return np.asarray(on_fresh - loss.risk(labels, fitted, weight))


@dataclass(frozen=True, eq=False)
class ValueReference(Reference):
    """y*_i = mean_i + a residual drawn with replacement.

    Attributes
    ----------
    mean : (n,)
    residuals : (m,) centred and scaled to the variance of the noise.
    weight : (m,) residuals are drawn in proportion to it; None where they are equally likely.
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
        """Cumulative probabilities of the sorted residuals, without the last, which is one."""
        assert self.weight is not None
        reached = np.cumsum(self.weight[np.argsort(self.residuals, kind="stable")])
        return np.asarray(reached[:-1] / reached[-1])

    def labels_at(self, levels: Floats) -> Array:
        if self.weight is not None:
            return np.asarray(self.mean + self._ordered[np.searchsorted(self._steps, levels, side="right")])
        # Rounding of the product may give the index after the last for a level just below one.
        last = len(self._ordered) - 1
        return np.asarray(self.mean + self._ordered[np.minimum((levels * (last + 1)).astype(np.intp), last)])

    def optimism(
        self, loss: Loss, labels: Array, fitted: Array, weight: Floats | None, rng: np.random.Generator
    ) -> Floats:
        if isinstance(loss, SquaredLoss):
            # Twice the covariance of labels and fit; the other terms have mean zero and depend on no fit.
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
        """Probability that two labels drawn for the same row differ, averaged over rows."""
        return float(np.mean(1.0 - np.square(self.probabilities).sum(axis=1)))

    def between(self, low: ClassReference, high: ClassReference) -> ClassReference:
        """This reference with its relative error, from references made one Monte-Carlo error lower and higher."""
        return replace(self, relative_error=abs(high.noise - low.noise) / 2 / self.noise if self.noise > 0 else 0.0)

    def labels_at(self, levels: Floats) -> Array:
        steps = np.cumsum(self.probabilities, axis=1)
        return np.asarray((levels[:, None] * steps[:, -1:] >= steps[:, :-1]).sum(axis=1))

    def judged_by(self, loss: Loss, labels: Array) -> Array:
        """The same; for losses of whole sets each class that no row drew is given to the row likeliest to have it.

        Scores such as the area under the ROC curve are not defined without one.
        """
        held = np.bincount(labels, minlength=self.probabilities.shape[1])
        if not isinstance(loss, SetLoss) or held.all():
            return labels
        labels = labels.copy()
        for code in np.flatnonzero(held == 0):
            row = int(np.where(held[labels] > 1, self.probabilities[:, code], -1.0).argmax())
            held[labels[row]] -= 1
            labels[row], held[code] = code, 1
        return labels

    def optimism_of_groups(self, loss: Loss, labels: Array, groups: Groups, rng: np.random.Generator) -> Floats | None:
        """`optimism` of models that answer groups of rows alike; None where rows must be judged one by one."""
        n_classes = self.probabilities.shape[1]
        if isinstance(loss, SetLoss):
            fresh = self._fresh(loss, rng)
            masses = groups.masses(np.concatenate([fresh, labels[None]]), n_classes)
        else:
            n_groups = groups.answers.shape[1]
            expected = [np.bincount(groups.group, shares, n_groups) for shares in self.probabilities.T]
            masses = np.stack([np.stack(expected, axis=1), groups.masses(labels[None], n_classes)[0]])
        risks = loss.risk_of_groups(groups, masses)
        return None if risks is None else np.asarray(risks[:-1].mean(axis=0) - risks[-1])

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
    weight: Floats | None = None,
) -> ValueReference:
    """A reference around (1 − shrink) mean + shrink ȳ.

    Residuals are centred and scaled so that their variance is RSS/(n − degrees of freedom of the mean), which for least
    squares is the unbiased estimate of the noise variance. With weights, means are weighted, RSS is n times the
    weighted mean square and the degrees of freedom are n times the weighted mean leverage; the estimate is then
    unbiased for weighted least squares with noise of equal variance.
    """
    moved = (1 - shrink) * mean + shrink * np.average(y, weights=weight)
    freedom = (1 - shrink) * degrees_of_freedom + shrink
    residuals = y - moved
    residuals = residuals - np.average(residuals, weights=weight)
    squares = np.sum((y - moved) ** 2) if weight is None else len(y) * weighted_mean((y - moved) ** 2, weight)
    noise = float(squares) / max(len(y) - freedom, 1.0)
    unscaled = label_variance(residuals, weight)
    scaled = residuals * np.sqrt(noise / unscaled) if unscaled > 0 else residuals
    return ValueReference(moved, scaled, weight)


def class_reference(
    codes: Array, probabilities: Floats, *, shrink: float = 0.0, weight: Floats | None = None
) -> ClassReference:
    """A reference with (1 − shrink) probabilities + shrink (weighted) class shares."""
    shares = class_shares(codes, probabilities.shape[1], weight)
    return ClassReference((1 - shrink) * probabilities + shrink * shares)


def noisy_labels(
    codes: Array, predicted: Array, n_classes: int, weight: Floats | None = None, factor: float = 1.0
) -> Floats:
    """Class probabilities from out-of-fold predictions and their error rate e, (n, classes).

    The predicted class has probability 1 − e, the others share e equally. The (weighted) error rate counts one right
    and one wrong prediction more than there are, so that it is neither 0 nor 1, and is multiplied by `factor`.
    """
    wrong = predicted != codes
    errors = wrong.sum() if weight is None else len(codes) * weighted_mean(wrong, weight)
    error = min(max((errors + 1) / (len(codes) + 2) * factor, 0.0), 1.0)
    probabilities = np.full((len(codes), n_classes), error / (n_classes - 1))
    probabilities[np.arange(len(codes)), predicted] = 1 - error
    return probabilities
