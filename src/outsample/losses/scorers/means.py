"""Scores made of a loss per row: its mean, the root of it, its share of a constant's loss, the median, the maximum.

Several outputs are judged one by one and averaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from outsample.losses.base import label_variance
from outsample.losses.scorers.form import Form, mean_of_rows
from outsample.losses.scorers.row_losses import RowLoss
from outsample.running.arrays import Array, Bools, Floats

# Labels that differ by a smaller share of their size are equal up to rounding.
NEARLY_EQUAL = 1e-10


@dataclass(frozen=True)
class OutputForm(Form):
    """A score of each output, averaged over outputs.

    Attributes
    ----------
    loss : the loss of a row.
    multioutput : whether labels and predictions have several outputs.
    """

    loss: RowLoss
    multioutput: bool = False

    @property
    def every_digit(self) -> bool:  # type: ignore[override]
        return not self.multioutput and self.loss.every_digit

    def _outputs(self, y: Array, prediction: Array) -> Iterator[tuple[Array, Array]]:
        if not self.multioutput:
            yield y, prediction
            return
        for k in range(y.shape[-1]):
            yield y[..., k], prediction[..., k]

    def value(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        values = []
        for own, said in self._outputs(y, prediction):
            with np.errstate(all="ignore"):
                value = self._value(own, said, weight)
            values.append(np.where(self.loss.usable(own, said), value, np.nan))
        return np.asarray(np.mean(values, axis=0))

    def row_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        values = []
        for own, said in self._outputs(y, prediction):
            with np.errstate(all="ignore"):
                rows = self._row_values(own, said, weight)
            values.append(np.where(self.loss.usable(own, said)[..., None], rows, np.nan))
        return np.asarray(np.mean(values, axis=0))

    def permuted_mean(self, pool: Array, prediction: Array, mass: Floats | None = None) -> Floats | None:
        means = []
        for own, said in self._outputs(pool, prediction):
            with np.errstate(all="ignore"):
                mean = self._permuted_mean(own, said, mass)
            if mean is None or not self.loss.usable(own, said, matched=False).all():
                return None
            means.append(mean)
        return np.asarray(np.mean(means, axis=0))

    def _value(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        raise NotImplementedError

    def _row_values(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        raise NotImplementedError

    def _permuted_mean(self, pool: Array, prediction: Array, mass: Floats | None) -> Floats | None:
        return None

    def _n_rows(self, prediction: Array) -> int:
        return int(prediction.shape[-2 if self.multioutput or self.loss.of_classes else -1])


@dataclass(frozen=True)
class MeanForm(OutputForm):
    """The mean loss."""

    additive = closed = True

    @property
    def statistic(self) -> Any:  # type: ignore[override]
        return "moments" if self.loss.squared and not self.multioutput else None

    def _value(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        return mean_of_rows(self.loss.losses(y, prediction), weight)

    def _row_values(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        return self.loss.losses(y, prediction)

    def _permuted_mean(self, pool: Array, prediction: Array, mass: Floats | None) -> Floats | None:
        return mean_of_rows(self.loss.over_labels(pool, prediction, None), mass)

    def crossed_mean(
        self, pool: Array, prediction: Array, weight: Floats | None, label_weight: Floats | None
    ) -> Floats | None:
        means = []
        for own, said in self._outputs(pool, prediction):
            if not self.loss.usable(own, said, matched=False).all():
                return None
            means.append(mean_of_rows(self.loss.over_labels(own, said, label_weight), weight))
        return np.asarray(np.mean(means, axis=0))

    def from_statistic(self, values: Floats, pool: Array) -> tuple[Floats, Floats]:
        return values[..., 0], label_variance(pool) + values[..., 1]


@dataclass(frozen=True)
class RootForm(OutputForm):
    """The root of the mean loss."""

    def _value(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        return np.sqrt(mean_of_rows(self.loss.losses(y, prediction), weight))

    def _row_values(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        losses = self.loss.losses(y, prediction)
        mean = mean_of_rows(losses, weight)[..., None]
        root = np.sqrt(mean)
        return root + np.where(root > 0, (losses - mean) / np.where(root > 0, 2 * root, 1.0), 0.0)


@dataclass(frozen=True)
class SkillForm(OutputForm):
    """1 − mean loss/mean loss of the best constant: R² and D².

    Attributes
    ----------
    forced : whether it is 1 or 0 where the best constant has no loss, as in scikit-learn; otherwise nan.
    centred : whether the mean error is taken away first: the share of the variance that is explained.
    """

    forced: bool = True
    centred: bool = False
    closed = relative = True

    @property
    def every_digit(self) -> bool:  # type: ignore[override]
        return super().every_digit and not self.centred and not self.loss.of_classes

    @property
    def statistic(self) -> Any:  # type: ignore[override]
        return "moments" if self.loss.squared and not self.multioutput and not self.centred else None

    def _parts(self, y: Array, prediction: Array, weight: Floats | None) -> tuple[Floats, Floats]:
        """Losses of the predictions and of the best constant, (..., n) each."""
        if self.centred:
            prediction = prediction + mean_of_rows(y - prediction, weight)[..., None]
        return self.loss.losses(y, prediction), self.loss.losses(y, self.loss.constant(y, weight))

    def _share(self, mean: Floats, of_constant: Floats) -> Floats:
        share = 1 - mean / np.where(of_constant == 0, np.nan, of_constant)
        if not self.forced:
            return share
        return np.where(mean == 0, 1.0, np.where(of_constant == 0, 0.0, share))

    def _value(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        return self._value_of(y, *self._parts(y, prediction, weight), weight)

    def _value_of(self, y: Array, losses: Floats, constant: Floats, weight: Floats | None) -> Floats:
        mean, base = mean_of_rows(losses, weight), mean_of_rows(constant, weight)
        known = self._told_apart(y, base)
        if self.loss.squared and not self.centred and weight is None:
            # scikit-learn divides sums here, which rounds otherwise than means.
            mean, base = (np.ascontiguousarray(part).sum(axis=-1) for part in (losses, constant))
        return np.where(known, self._share(mean, base), np.nan)

    def _told_apart(self, y: Array, base: Floats) -> Bools:
        """Where labels differ by more than rounding, (...): otherwise the digits of scikit-learn itself decide."""
        size = NEARLY_EQUAL * np.abs(y).mean(axis=-1)
        return np.asarray((base > (size**2 if self.loss.squared else size)) & (y.shape[-1] > 1))

    def _row_values(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        # The best constant minimises its loss, so that what a row changes in it does not matter to first order.
        losses, constant = self._parts(y, prediction, weight)
        mean, base = mean_of_rows(losses, weight)[..., None], mean_of_rows(constant, weight)[..., None]
        known = base > 0
        base = np.where(known, base, 1.0)
        rows = mean / base * (constant / base - 1) - (losses - mean) / base
        rows = rows if known.all() else np.where(known, rows, 0.0)
        rows += self._value_of(y, losses, constant, weight)[..., None]
        return rows

    def _permuted_mean(self, pool: Array, prediction: Array, mass: Floats | None) -> Floats | None:
        base = mean_of_rows(self.loss.losses(pool, self.loss.constant(pool, None)), None)
        if self.centred:
            center = mean_of_rows(prediction, mass)[..., None]
            mean = base + mean_of_rows((prediction - center) ** 2, mass)
        else:
            mean = mean_of_rows(self.loss.over_labels(pool, prediction, None), mass)
        return self._share(mean, base)

    def from_statistic(self, values: Floats, pool: Array) -> tuple[Floats, Floats]:
        base = np.asarray(label_variance(pool))
        return self._share(values[..., 0], base), self._share(base + values[..., 1], base)


@dataclass(frozen=True)
class MedianForm(OutputForm):
    """The median loss, of rows without weights."""

    def _value(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        losses = self.loss.losses(y, prediction)
        return np.asarray(np.median(losses, axis=-1) if weight is None else np.full(losses.shape[:-1], np.nan))

    def _row_values(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        """The influence is the sign of a row's distance from the median over twice the density there.

        1/density is the slope of the quantiles over the width that Hall & Sheather (1988) found best for intervals.
        """
        losses = self.loss.losses(y, prediction)
        if weight is not None:
            return np.full(losses.shape, np.nan)
        n, median = losses.shape[-1], np.median(losses, axis=-1)[..., None]
        width = min(0.49, n ** (-1 / 3) * 1.5 ** (1 / 3) * 1.96 ** (2 / 3) * (2 * np.pi) ** (-1 / 3))
        low, high = np.quantile(losses, [0.5 - width, 0.5 + width], axis=-1)
        side = np.sign(losses - median)
        slope = ((high - low) / (2 * width))[..., None]
        return np.asarray(median + (side - side.mean(axis=-1, keepdims=True)) / 2 * slope)


@dataclass(frozen=True)
class LargestForm(OutputForm):
    """The largest loss; the influence of a row is what leaving it out changes, a jackknife."""

    def _value(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        losses = self.loss.losses(y, prediction)
        return np.asarray(losses.max(axis=-1) if weight is None else np.full(losses.shape[:-1], np.nan))

    def _row_values(self, y: Array, prediction: Array, weight: Floats | None) -> Floats:
        losses = self.loss.losses(y, prediction)
        n = losses.shape[-1]
        if weight is not None or n < 2:
            return np.full(losses.shape, np.nan)
        held = np.partition(losses, n - 2, axis=-1)
        second, largest = held[..., -2:-1], held[..., -1:]
        without = np.where(losses == largest, second, largest)
        return np.asarray(largest + (n - 1) * (without.mean(axis=-1, keepdims=True) - without))
