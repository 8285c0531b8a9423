"""Scores of predicted classes, functions of counts: accuracy, F, precision, recall, Jaccard, Matthews, kappa, ratios.

All of them are functions of three counts per class: right predictions, labels and predictions. Under permuted labels
the latter two are fixed. Most scores are then linear in the first, so that their mean is the score of its mean,
(labels × predictions)/n; the mean of others is a sum over the hypergeometric distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from outsample.losses.scorers.form import Form, mean_of_rows, paired_sums, sums
from outsample.running.arrays import Array, Floats

# Up to this many classes, comparing with each class is faster than counting all of them at once.
FEW_CLASSES = 20

# Length of the imaginary step of a derivative; its square vanishes beside any count.
STEP = 1e-30


class Counts(NamedTuple):
    """Number or weight, (..., classes), of right predictions, of labels and of predictions of each class."""

    right: Array
    labels: Array
    predicted: Array

    @property
    def total(self) -> Array:
        """Number or weight of all rows, (...)."""
        return np.asarray(self.labels.sum(axis=-1))

    @property
    def present(self) -> Array:
        """Which classes occur among labels or predictions, (..., classes)."""
        return np.asarray((self.labels + self.predicted).real > 0)


def counted(y: Array, prediction: Array, n_classes: int, weight: Floats | None = None) -> Counts:
    """The counts of every set, from codes."""
    if n_classes > FEW_CLASSES:
        return _counted_at_once(y, prediction, n_classes, weight)
    if n_classes == 2 and weight is None:
        return _counted_two(y, prediction)
    right, labels, predicted = [], [], []
    for c in range(n_classes):
        own, said = np.asarray(y == c), np.asarray(prediction == c)
        right.append(paired_sums(own, said, weight))
        labels.append(sums(own, weight))
        predicted.append(sums(said, weight))
    shape = np.broadcast_shapes(right[0].shape, labels[0].shape, predicted[0].shape)
    return Counts(*(np.stack([np.broadcast_to(c, shape) for c in part], -1) for part in (right, labels, predicted)))


def _counted_two(y: Array, prediction: Array) -> Counts:
    """The counts of two classes: those of one class tell those of the other."""
    own, said = y.astype(bool), prediction.astype(bool)
    right, labels, predicted = paired_sums(own, said), sums(own), sums(said)
    n = y.shape[-1]
    pairs = (n - labels - predicted + right, right), (n - labels, labels), (n - predicted, predicted)
    return Counts(*(np.stack([np.broadcast_to(part, right.shape) for part in pair], axis=-1) for pair in pairs))


def _counted_at_once(y: Array, prediction: Array, n_classes: int, weight: Floats | None) -> Counts:
    shape = np.broadcast_shapes(y.shape, prediction.shape, () if weight is None else weight.shape)
    lead, size = shape[:-1], int(np.prod(shape[:-1]))
    own, said = (np.broadcast_to(codes, shape).reshape(size, -1) for codes in (y, prediction))
    share = None if weight is None else np.broadcast_to(weight, shape).reshape(size, -1)

    def of(codes: Array, kept: Array | None = None) -> Floats:
        cells = codes + n_classes * np.arange(size)[:, None]
        each = np.ones(codes.shape) if share is None else share
        held = np.bincount(cells.ravel(), (each if kept is None else each * kept).ravel(), size * n_classes)
        return np.asarray(held.reshape(*lead, n_classes))

    return Counts(of(own, own == said), of(own), of(said))


def classes_not_in_y(counts: Counts) -> str | None:
    """What scikit-learn's balanced accuracy warns of."""
    only_predicted = (counts.predicted > 0) & (counts.labels == 0)
    return "predictions contain classes that the labels do not" if only_predicted.any() else None


Score = Callable[[Counts], Array]
"""The score of every set, (...), from its counts; nan where scikit-learn must be asked. Counts may be complex."""


@dataclass(frozen=True)
class CountForm(Form):
    """A score of counts.

    Attributes
    ----------
    score : the score of counts.
    n_classes : number of classes.
    every_digit : see `Form`.
    linear : whether it is linear in the right predictions where labels and predictions are fixed.
    warned : which sets scikit-learn would warn about, from counts; None where about none.
    expected : the mean over permuted labels where it is not linear; None where it is not known.
    """

    score: Score
    n_classes: int
    linear: bool = True
    every_digit: bool = True
    warned: Callable[[Counts], str | None] | None = field(default=None, compare=False)
    expected: Callable[[Counts], Floats | None] | None = field(default=None, compare=False)

    @property
    def takes_many_labels(self) -> bool:  # type: ignore[override]
        return self.n_classes <= FEW_CLASSES

    @property
    def statistic(self) -> Any:  # type: ignore[override]
        return "confusion" if self.closed else None

    @property
    def closed(self) -> bool:  # type: ignore[override]
        return self.linear or self.expected is not None

    def value(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        return self.value_and_warning(y, prediction, weight)[0]

    def value_and_warning(self, y: Array, prediction: Array, weight: Floats | None = None) -> tuple[Floats, str | None]:
        counts = counted(y, prediction, self.n_classes, weight)
        warned = None if self.warned is None else self.warned(counts)
        return np.asarray(self.score(counts), dtype=np.float64), warned

    def row_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        counts = counted(y, prediction, self.n_classes, weight)
        shares = Counts(*(part / counts.total[..., None] for part in counts))
        slopes = [_slopes(self.score, shares, which) for which in range(3)]
        lead = shares.right.shape[:-1]
        own, said = (np.broadcast_to(codes, (*lead, codes.shape[-1])) for codes in (y, prediction))
        of_right, of_labels, of_predicted = (
            np.take_along_axis(slope, codes, axis=-1) for slope, codes in zip(slopes, (own, own, said), strict=True)
        )
        influence = of_labels + of_predicted + of_right * (own == said)
        return np.asarray(self.score(counts)[..., None] + influence - mean_of_rows(influence, weight)[..., None])

    def permuted_mean(self, pool: Array, prediction: Array, mass: Floats | None = None) -> Floats | None:
        said = np.stack([sums(np.asarray(prediction == c), mass) for c in range(self.n_classes)], axis=-1)
        return self._expected(np.bincount(pool, minlength=self.n_classes), said)

    def from_statistic(self, values: Floats, pool: Array) -> tuple[Floats, Floats]:
        n = len(pool)
        counts = Counts(*(n * part for part in (_diagonal(values), values.sum(axis=-1), values.sum(axis=-2))))
        expected = self._expected(np.bincount(pool, minlength=self.n_classes), np.rint(counts.predicted))
        assert expected is not None
        return np.asarray(self.score(counts)), expected

    def _expected(self, labels: Array, predicted: Floats) -> Floats | None:
        labels = np.broadcast_to(np.asarray(labels, dtype=np.float64), predicted.shape)
        counts = Counts(labels * predicted / labels.sum(axis=-1, keepdims=True), labels, predicted)
        if self.linear:
            return np.asarray(self.score(counts), dtype=np.float64)
        return None if self.expected is None else self.expected(counts)


def _diagonal(values: Floats) -> Floats:
    return np.asarray(np.diagonal(values, axis1=-2, axis2=-1))


def _slopes(score: Score, counts: Counts, which: int) -> Floats:
    """Derivatives of the score in one of the three counts of each class, (..., classes), exact to rounding.

    They are the imaginary part after an imaginary step: nothing is subtracted, so nothing cancels.
    """
    slopes = []
    for c in range(counts.right.shape[-1]):
        moved = [part.astype(np.complex128) for part in counts]
        moved[which][..., c] += 1j * STEP
        slopes.append(np.asarray(score(Counts(*moved))).imag / STEP)
    return np.stack(slopes, axis=-1)


def accuracy(counts: Counts) -> Array:
    """Share of right predictions."""
    return np.asarray(counts.right.sum(axis=-1) / counts.total)


def balanced_accuracy(counts: Counts, adjusted: bool = False) -> Array:
    """Mean recall of the classes that have labels; `adjusted` so that guessing has 0."""
    held = counts.labels.real > 0
    recall = counts.right / np.where(held, counts.labels, 1.0)
    n_held = held.sum(axis=-1)
    score = np.where(held, recall, 0.0).sum(axis=-1) / n_held
    if not adjusted:
        return np.asarray(score)
    chance = 1 / np.where(n_held > 1, n_held, np.nan)
    return np.asarray((score - chance) / (1 - chance))


def matthews(counts: Counts) -> Array:
    """Matthews' correlation of labels and predictions; 0 where either is constant."""
    n = counts.total
    covariance = counts.right.sum(axis=-1) * n - (counts.labels * counts.predicted).sum(axis=-1)
    spreads = (n**2 - (counts.predicted**2).sum(axis=-1)) * (n**2 - (counts.labels**2).sum(axis=-1))
    constant = ((counts.labels.real > 0).sum(axis=-1) < 2) | ((counts.predicted.real > 0).sum(axis=-1) < 2)
    return np.where(constant, 0.0, covariance / np.sqrt(np.where(constant, 1.0, spreads)))


def kappa(counts: Counts) -> Array:
    """Cohen's kappa of labels and predictions."""
    n = counts.total
    by_chance = (counts.labels * counts.predicted).sum(axis=-1) / n
    alike = counts.present.sum(axis=-1) < 2
    return np.where(alike, np.nan, (counts.right.sum(axis=-1) - by_chance) / np.where(alike, 1.0, n - by_chance))


def positive_ratio(counts: Counts) -> Array:
    """(True positive rate)/(false positive rate) of the second of two classes; nan where it is not defined."""
    false = counts.predicted[..., 1] - counts.right[..., 1]
    return _ratio(counts.right[..., 1] * counts.labels[..., 0], false * counts.labels[..., 1], counts)


def negative_ratio(counts: Counts) -> Array:
    """(False negative rate)/(true negative rate) of the second of two classes; nan where it is not defined."""
    missed = counts.labels[..., 1] - counts.right[..., 1]
    return _ratio(missed * counts.labels[..., 0], counts.right[..., 0] * counts.labels[..., 1], counts)


def _ratio(numerator: Array, denominator: Array, counts: Counts) -> Array:
    # Sums of weights round: a difference of equal sums is not always zero.
    tiny = 1e-12 * np.square(counts.total.real)
    undefined = (denominator.real <= tiny) | (counts.labels.real <= 0).any(axis=-1)
    return np.where(undefined, np.nan, numerator / np.where(undefined, 1.0, denominator))


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall, F or Jaccard of each class, averaged as scikit-learn does.

    Attributes
    ----------
    kind : "precision", "recall", "f" or "jaccard".
    average : "binary", "macro", "micro" or "weighted".
    positive : code of the class that "binary" is about.
    beta : of F.
    empty : the score of a class whose denominator is zero.
    """

    kind: str
    average: str
    positive: int = 1
    beta: float = 1.0
    empty: float = 0.0

    def __call__(self, counts: Counts) -> Array:
        if self.average == "micro":
            together = Counts(*(part.sum(axis=-1, keepdims=True) for part in counts))
            return np.asarray(self._of_classes(together)[..., 0])
        return self.averaged(self._of_classes(counts), counts)

    def averaged(self, scores: Array, counts: Counts) -> Array:
        """The average of scores of classes, (...)."""
        if self.average == "binary":
            return np.asarray(scores[..., self.positive])
        if self.average == "weighted":
            return np.asarray((scores * counts.labels).sum(axis=-1) / counts.total)
        present = counts.present
        return np.asarray(np.where(present, scores, 0.0).sum(axis=-1) / present.sum(axis=-1))

    def denominators(self, counts: Counts) -> Array:
        """What the right predictions of each class are divided by, (..., classes)."""
        if self.kind == "precision":
            return counts.predicted
        if self.kind == "recall":
            return counts.labels
        if self.kind == "jaccard":
            return np.asarray(counts.labels + counts.predicted - counts.right)
        return np.asarray((self.beta**2 * counts.labels + counts.predicted) / (1 + self.beta**2))

    def warned(self, counts: Counts) -> str | None:
        """What scikit-learn warns of: a class without predictions or labels."""
        empty = self.denominators(counts) == 0
        empty = empty[..., self.positive] if self.average == "binary" else empty & counts.present
        missing = {"precision": "predicted", "recall": "true", "jaccard": "true or predicted"}
        what = missing.get(self.kind, "true nor predicted")
        return f"a class has no {what} samples" if self.average != "micro" and empty.any() else None

    def expected(self, counts: Counts) -> Floats | None:
        """Mean of the Jaccard score over permuted labels; counts of right predictions are not read."""
        if self.average == "micro":
            return self._expected_micro(counts) if counts.labels.shape[-1] == 2 else None

        def jaccard(right: Floats, labels: float, predicted: float, n: float) -> Floats:
            union = labels + predicted - right
            return np.where(union == 0, self.empty, right / np.where(union == 0, 1.0, union))

        n = counts.total
        classes = [
            hypergeometric_mean(jaccard, counts.labels[..., c], counts.predicted[..., c], n)
            for c in range(counts.labels.shape[-1])
        ]
        return np.asarray(self.averaged(np.stack(classes, axis=-1), counts), dtype=np.float64)

    def _expected_micro(self, counts: Counts) -> Floats:
        def jaccard(right: Floats, labels: float, predicted: float, n: float) -> Floats:
            agreed = n - labels - predicted + 2 * right
            return agreed / (2 * n - agreed)

        return hypergeometric_mean(jaccard, counts.labels[..., 1], counts.predicted[..., 1], counts.total)

    def _of_classes(self, counts: Counts) -> Array:
        below = self.denominators(counts)
        empty = below.real == 0
        return np.where(empty, self.empty, counts.right / np.where(empty, 1.0, below))


def hypergeometric_mean(
    score: Callable[[Floats, float, float, float], Floats], labels: Floats, predicted: Floats, n: Floats
) -> Floats:
    """Mean of a score of the number of right predictions over all ways to assign labels, (...).

    Parameters
    ----------
    score : of (numbers of right predictions, labels, predictions of the class, rows).
    labels, predicted, n : (...) whole numbers.
    """
    shape = np.broadcast_shapes(labels.shape, predicted.shape, n.shape)
    margins = np.stack([np.broadcast_to(part, shape).ravel() for part in (labels, predicted, n)], axis=1)
    distinct, places = np.unique(np.rint(margins), axis=0, return_inverse=True)
    means = np.empty(len(distinct))
    for i, (own, said, rows) in enumerate(distinct):
        right = np.arange(max(0.0, own + said - rows), min(own, said) + 1)
        log_ways = _log_choose(own, right) + _log_choose(rows - own, said - right) - _log_choose(rows, said)
        probability = np.exp(log_ways)
        means[i] = probability @ score(right, own, said, rows) / probability.sum()
    return np.asarray(means[places.reshape(-1)].reshape(shape))


def _log_choose(n: float, k: Array) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(np.asarray(k) + 1) - gammaln(n - np.asarray(k) + 1))
