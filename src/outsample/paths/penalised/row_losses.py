"""What one row costs a penalised linear model, as a function of its linear predictor, with two derivatives.

Predictors are (..., n, K): K outputs of n rows, for any number of models in front. Weights are part of the loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_softmax, softmax

from outsample.running.arrays import Array, Floats, Rows


class RowLosses(ABC):
    """The losses of n rows.

    Attributes
    ----------
    bend : how fast the curvature changes: |l'''| is at most `bend` times l''.
    """

    bend: ClassVar[float] = 0.0

    @abstractmethod
    def value(self, predictor: Floats) -> Floats:
        """Loss of each row, (..., n), up to a number that does not depend on the predictor."""

    @abstractmethod
    def gradient(self, predictor: Floats) -> Floats:
        """First derivative, (..., n, K)."""

    @abstractmethod
    def curvature(self, predictor: Floats) -> Floats:
        """Second derivative, (..., n, K, K)."""

    def room(self, predictor: Floats) -> Floats | None:
        """How far each row is from where its curvature jumps, (n,) in units of the predictor; None if it never does."""
        return None


class OneOutput(RowLosses):
    """Losses of a single linear predictor."""

    weight: Floats

    def value(self, predictor: Floats) -> Floats:
        return np.asarray(self.weight * self._derivative(0, predictor[..., 0]))

    def gradient(self, predictor: Floats) -> Floats:
        return np.asarray(self.weight * self._derivative(1, predictor[..., 0]))[..., None]

    def curvature(self, predictor: Floats) -> Floats:
        return np.asarray(self.weight * self._derivative(2, predictor[..., 0]))[..., None, None]

    @abstractmethod
    def _derivative(self, order: int, eta: Floats) -> Floats:
        """The loss of weight one (order 0), its first or its second derivative, (..., n)."""


@dataclass(frozen=True, eq=False)
class Squared(OneOutput):
    """½ (y − η)²."""

    y: Floats
    weight: Floats

    def _derivative(self, order: int, eta: Floats) -> Floats:
        if order == 2:
            return np.ones_like(eta)
        return eta - self.y if order == 1 else 0.5 * np.square(eta - self.y)


@dataclass(frozen=True, eq=False)
class Logistic(OneOutput):
    """Log loss of two classes, `positive` where a row is of the second one."""

    positive: Floats
    weight: Floats
    bend: ClassVar[float] = 1.0

    def _derivative(self, order: int, eta: Floats) -> Floats:
        if order == 0:
            return np.asarray(np.logaddexp(0.0, (1.0 - 2.0 * self.positive) * eta))
        probability: Floats = expit(eta)
        return probability - self.positive if order == 1 else probability * (1.0 - probability)


@dataclass(frozen=True, eq=False)
class Softmax(RowLosses):
    """Log loss of K classes."""

    codes: Rows
    weight: Floats
    n_classes: int
    bend: ClassVar[float] = 2.0

    def value(self, predictor: Floats) -> Floats:
        logarithms = log_softmax(predictor, axis=-1)
        own = np.broadcast_to(self.codes[:, None], (*predictor.shape[:-1], 1))
        return np.asarray(-self.weight * np.take_along_axis(logarithms, own, axis=-1)[..., 0])

    def gradient(self, predictor: Floats) -> Floats:
        return np.asarray(self.weight[:, None] * (softmax(predictor, axis=-1) - np.eye(self.n_classes)[self.codes]))

    def curvature(self, predictor: Floats) -> Floats:
        probability = softmax(predictor, axis=-1)
        spread = np.eye(self.n_classes) - probability[..., None, :]
        return np.asarray(self.weight[:, None, None] * (probability[..., None] * spread))


@dataclass(frozen=True, eq=False)
class Deviance(OneOutput):
    """Half the Tweedie deviance of mean e^η and variance mean^power."""

    y: Array
    weight: Floats
    power: float
    bend: ClassVar[float] = 1.0

    def _derivative(self, order: int, eta: Floats) -> Floats:
        falling, rising = (self._term(exponent, order, eta) for exponent in (1.0 - self.power, 2.0 - self.power))
        return rising - self.y * falling

    def _term(self, exponent: float, order: int, eta: Floats) -> Floats:
        """A derivative of the integral of e^(exponent η)."""
        if order == 0:
            return eta if exponent == 0 else np.exp(exponent * eta) / exponent
        return exponent ** (order - 1) * np.exp(exponent * eta)


@dataclass(frozen=True, eq=False)
class MeanDeviance(OneOutput):
    """Half the Tweedie deviance of mean η and variance mean^power, for powers of at most zero."""

    y: Array
    weight: Floats
    power: float
    bend: ClassVar[float] = 1.0

    def _derivative(self, order: int, eta: Floats) -> Floats:
        first, second = 1.0 - self.power, 2.0 - self.power
        if order == 0:
            return eta**second / second - self.y * eta**first / first
        if order == 1:
            return eta**first - self.y * eta**-self.power
        return first * eta**-self.power + self.power * self.y * eta ** (-self.power - 1.0)


@dataclass(frozen=True, eq=False)
class SquaredHinge(OneOutput):
    """max(0, 1 − sign η)²."""

    sign: Floats
    weight: Floats

    def _derivative(self, order: int, eta: Floats) -> Floats:
        gap = np.maximum(0.0, 1.0 - self.sign * eta)
        if order == 2:
            return np.where(gap > 0, 2.0, 0.0)
        return gap**2 if order == 0 else -2.0 * self.sign * gap

    def room(self, predictor: Floats) -> Floats:
        return np.asarray(np.abs(1.0 - self.sign * predictor[..., 0]))


@dataclass(frozen=True, eq=False)
class SquaredTube(OneOutput):
    """max(0, |y − η| − epsilon)²."""

    y: Floats
    weight: Floats
    epsilon: float

    def _derivative(self, order: int, eta: Floats) -> Floats:
        residual = self.y - eta
        excess = np.maximum(0.0, np.abs(residual) - self.epsilon)
        if order == 2:
            return np.where(excess > 0, 2.0, 0.0)
        return excess**2 if order == 0 else -2.0 * np.sign(residual) * excess

    def room(self, predictor: Floats) -> Floats:
        return np.asarray(np.abs(np.abs(self.y - predictor[..., 0]) - self.epsilon))


@dataclass(frozen=True, eq=False)
class Huber(RowLosses):
    """σ + σ ρ((y − η)/σ), ρ(r) = r² within ±epsilon and linear beyond; the scale σ is the second output."""

    y: Floats
    weight: Floats
    epsilon: float
    bend: ClassVar[float] = 1.0

    def value(self, predictor: Floats) -> Floats:
        residual, scale = self._residual(predictor)
        clipped = np.clip(residual, -self.epsilon, self.epsilon)
        return np.asarray(self.weight * scale * (1.0 + clipped * (2.0 * residual - clipped)))

    def gradient(self, predictor: Floats) -> Floats:
        clipped = np.clip(self._residual(predictor)[0], -self.epsilon, self.epsilon)
        return np.asarray(self.weight[:, None] * np.stack([-2.0 * clipped, 1.0 - clipped**2], axis=-1))

    def curvature(self, predictor: Floats) -> Floats:
        residual, scale = self._residual(predictor)
        inside = self.weight * 2.0 * (np.abs(residual) <= self.epsilon) / scale
        direction = np.stack([np.ones_like(residual), residual], axis=-1)
        return np.asarray(inside[..., None, None] * direction[..., :, None] * direction[..., None, :])

    def room(self, predictor: Floats) -> Floats:
        residual, scale = self._residual(predictor)
        return np.asarray(scale * np.abs(np.abs(residual) - self.epsilon))

    def _residual(self, predictor: Floats) -> tuple[Floats, Floats]:
        """(standardised residuals, scale), with the scale kept away from zero."""
        scale = np.maximum(predictor[..., 1], np.finfo(np.float64).tiny ** 0.25)
        return (self.y - predictor[..., 0]) / scale, scale
