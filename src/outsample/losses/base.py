"""The base class of all losses, and the means and checks they share.

A loss has two verbs. `pointwise(y, prediction)` is one loss per sample. `crossed_mean(y, prediction)` is the mean over
all pairs of a label and a prediction, (1/n²) Σ_i Σ_j ℓ(y_j, prediction_i): the out-sample error of a predictor when the
labels carry no information (Magdon-Ismail & Mertsalov, Theorem 1), and the no-information rate of the .632+ bootstrap.

Arrays may have leading axes (draws, models); the sample axis follows, classes or outputs trail.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outsample.running.arrays import Array, Floats, Rows

SufficientStatistic = Literal["confusion", "moments"]
"""Of a fit: shares of (label, prediction), or (mean squared error, mean square of predictions around ȳ)."""

# Differences of risks below this share of the risk are rounding.
RELATIVE_ROUNDING = 1e-12
LABELS = ("y", "prediction")

# A mean loss of probabilities below which no row lost anything: they are seldom exactly one.
NOTHING = 1e-6

# A crossed mean of a user's function uses at most PAIRS_AT_MOST pairs of a label and a prediction, PAIRS_AT_ONCE in one
# call. Where there are more pairs, every prediction is paired with at least LABELS_AT_LEAST labels.
PAIRS_AT_ONCE = 1_000_000
PAIRS_AT_MOST = 250_000
LABELS_AT_LEAST = 20


def weighted_mean(values: Array, weight: Floats | None) -> Array:
    """(Weighted) mean over the last axis, (...).

    Each mean is the same to the last bit however many there are: numpy's order of summation depends on the memory
    layout, so the last axis is made contiguous.
    """
    if values.ndim > 1 and values.strides[-1] == 0 and values.shape[-1] > 1:
        # A broadcast view: all samples have the same number.
        return np.array(values[..., 0], dtype=np.float64)
    values = np.ascontiguousarray(values, dtype=np.float64)
    if weight is None:
        return np.asarray(values.mean(axis=-1))
    return np.asarray((values * weight).sum(axis=-1) / weight.sum())


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows that all models of a path answer alike, as fitted trees do within a leaf.

    Attributes
    ----------
    answers : (models, groups[, classes]) what the models say of each group.
    group : (n,) the group of each row.
    """

    answers: Array
    group: Array

    @property
    def sizes(self) -> Floats:
        """Number of rows of each group, (groups,)."""
        return np.bincount(self.group, minlength=self.answers.shape[1]).astype(np.float64)

    def masses(self, Y: Array, n_classes: int) -> Floats:
        """Number of labels of each class in each group, (label vectors, groups, classes), of codes Y."""
        n_groups = self.answers.shape[1]
        cells = (np.arange(len(Y))[:, None] * n_groups + self.group) * n_classes + Y
        held = np.bincount(cells.ravel(), minlength=len(Y) * n_groups * n_classes)
        return held.reshape(len(Y), n_groups, n_classes).astype(np.float64)

    def rows(self, n_classes: int) -> tuple[Array, Array]:
        """(labels, predictions) of one row for every group and class: (groups × classes,), (models, …[, classes])."""
        labels = np.tile(np.arange(n_classes), self.answers.shape[1])
        return labels, np.repeat(self.answers, n_classes, axis=1)


def class_shares(codes: Array, n_classes: int, weight: Floats | None = None) -> Floats:
    """Share of each class among the labels, by number or by weight, (classes,)."""
    total = len(codes) if weight is None else weight.sum()
    return np.asarray(np.bincount(codes, weights=weight, minlength=n_classes) / total)


class Loss(ABC):
    """How wrong a prediction is; smaller is better.

    Attributes
    ----------
    name : what results call it.
    task : the kind of learner it is for.
    responses : prediction methods whose results it can take, the preferred one first.
    statistic : the sufficient statistic of a fit, from which its risk follows; None where predictions are needed.
    unit_interval : whether the loss of a sample is 0 or 1, so that binomial and Hoeffding bounds apply.
    per_row : whether every row has a loss; otherwise the loss is one number for a set of predictions.
    quadratic : whether it is the squared error, for which linear smoothers have closed forms.
    fixed_labels : whether `statistic` serves only draws that rearrange the labels of rows without weights.
    jackknifed : whether `row_values` come from leaving out groups of rows.
    reads_predictions : whether it is computed from predictions; otherwise it is asked of the fitted models.
    relative : whether it is measured against the best constant of the same rows, as r2 is.
    limitless : whether it grows without limit where the probability of the true class goes to zero, as log loss does.
    ranks : whether it judges the order in which predictions put the rows, so that only what one model says of them can
        be judged together: without a row, its own class is rarer, and all scores of that model are a little lower.
    """

    name: str
    task: Literal["classification", "regression", "any"] = "any"
    responses: tuple[str, ...] = ("predict",)
    statistic: SufficientStatistic | None = None
    unit_interval: bool = False
    per_row: bool = True
    quadratic: bool = False
    fixed_labels: bool = False
    jackknifed: bool = False
    reads_predictions: bool = True
    relative: bool = False
    limitless: bool = False
    ranks: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """(least, greatest) risk that is possible; infinite where it is not known."""
        return -np.inf, np.inf

    @property
    def largest(self) -> float:
        """The largest loss that a single row can have; infinite where nothing limits it."""
        return self.range[1] if self.per_row else np.inf

    def no_loss(self, risk: float, rounding: float) -> bool:
        """Whether a risk is that of rows of which none lost anything, but for rounding."""
        close = NOTHING if "predict_proba" in self.responses else 0.0
        return bool(risk - self.range[0] <= max(rounding, close))

    @property
    def why_no_limit(self) -> str:
        """Why nothing can be said of new rows where no row lost anything and losses have no limit."""
        if self.per_row or self.limitless:
            return "no row lost anything, and by this loss a single new one may lose any amount"
        return f"no row lost anything, and {self.name} has no worst value"

    @property
    def on_new_data(self) -> str:
        """In words, what an estimate of the out-sample risk estimates."""
        return f"the expected {self.name} loss on a new sample"

    def for_labels(self, classes: Array | None, n_outputs: int) -> Loss:
        """This loss for labels of these classes (None for regression) and this number of outputs."""
        return self

    def takes_weight(self) -> bool:
        """Whether it can be computed with sample weights."""
        return True

    @abstractmethod
    def pointwise(self, y: Array, prediction: Array) -> Array:
        """One loss per sample, (..., n)."""

    def risk(self, y: Array, prediction: Array, weight: Floats | None = None) -> Array:
        """Mean loss over samples, (...)."""
        return weighted_mean(self.pointwise(y, prediction), weight)

    def scored_risk(self, y: Array, prediction: Array, weight: Floats | None = None) -> Array:
        """As `risk`; of scorers with every digit that scikit-learn gives, for numbers that stand for its own."""
        return self.risk(y, prediction, weight)

    def row_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        """One number per sample whose (weighted) mean is the risk and whose spread is its error, (..., n).

        The loss of the sample where there is one; for losses of whole sets the risk plus the influence of the sample
        on it. nan for sets where that cannot be computed.
        """
        return np.asarray(self.pointwise(y, prediction), dtype=np.float64)

    def part_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        """As `row_values`, of one of several sets that `joined` puts together."""
        return self.row_values(y, prediction, weight)

    def joined(self, rows: Floats, risks: Floats, tests: Sequence[Array], y: Array, weight: Floats | None) -> Floats:
        """The values of rows in the mean risk of several sets, (models, n), from their values in these.

        Parameters
        ----------
        rows : (models, n) `part_values` of the sets, nan where a row is in none.
        risks : (sets, models) risk of each set, nan where it was not judged.
        tests : the rows of each set.
        """
        return rows

    def risk_of_groups(self, groups: Groups, masses: Floats) -> Floats | None:
        """Risk of the models on labels of which each group has some of each class, (label vectors, models).

        `masses` are (label vectors, groups, classes). None where rows must be judged one by one.
        """
        if not self.per_row:
            return None
        losses = self.pointwise(*groups.rows(masses.shape[-1]))
        held = masses.reshape(len(masses), -1)
        return np.asarray(held @ losses.T / held.sum(axis=-1, keepdims=True))

    def permuted_mean_of_groups(self, groups: Groups, y: Array) -> Floats | None:
        """Mean risk over all permutations of the labels y, (models,); None where it is not known."""
        return np.asarray(self.crossed_mean(y, groups.answers, groups.sizes)) if self.per_row else None

    @abstractmethod
    def crossed_mean(
        self, y: Array, prediction: Array, weight: Floats | None = None, label_weight: Floats | None = None
    ) -> Array:
        """Mean loss over all pairs of a label of y and a prediction, (...).

        y is a pool of labels of any length. `weight` are the weights of the predictions, `label_weight` of the labels.
        """

    def expected(self, probabilities: Floats, prediction: Array) -> Array:
        """Expected loss of each sample, (..., n), if its class code is drawn with its `probabilities`, (n, classes)."""
        n, n_classes = probabilities.shape
        of_class = (probabilities[:, c] * self.pointwise(np.full(n, c), prediction) for c in range(n_classes))
        return np.asarray(sum(of_class))

    def risk_and_crossed_mean(
        self, values: Floats, pool: Array, pool_weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """(risk, crossed mean), each (draws, models), from the values of `statistic`, (draws, models, ...).

        `pool` are the labels that each row could have been given, with probabilities in proportion to `pool_weight`.
        """
        raise TypeError(f"{self.name} has no sufficient summary")

    def best_constant(self, y: Array, weight: Floats | None = None) -> Array | None:
        """The constant prediction of least risk; None where no closed form is known."""
        return None

    def constants(self, y: Array, weight: Floats | None = None) -> Iterator[Array]:
        """Predictions that are the same for every row, as `risk` takes them, the best one of that kind among them."""
        constant = self.best_constant(y, weight)
        if constant is not None:
            yield np.broadcast_to(constant, y.shape)

    def scale(self, y: Array, weight: Floats | None = None) -> float:
        """The risk of predicting without X, in the unit of the loss: the scale on which risks differ much or little.

        It is the risk of the best constant. Where that is not known, it is the risk of shuffled labels as predictions
        minus that of the labels themselves; 0 where this cannot be computed.
        """
        constant = self.best_constant(y, weight)
        if constant is None:
            return self._added_risk(y, np.random.default_rng(0).permutation(y))
        return float(self.risk(y, np.broadcast_to(constant, y.shape), weight))

    def guessing(self, y: Array, weight: Floats | None = None, sizes: Rows | None = None) -> float:
        """The least risk within reach of those who do not look at X; nan where it is not known.

        `sizes` are the rows of each set that was judged by itself, None for all together: luck ranks a few rows better
        than many, so that a mean over folds is higher than the score of all rows.
        """
        return self.scale(y, weight) or np.nan

    def rounding(self, y: Array) -> float:
        """How much rounding alone may change a risk: what predictions off by 1e-12 of the largest |y| add to it."""
        return self._added_risk(y, y + RELATIVE_ROUNDING * np.abs(y).max())

    def _added_risk(self, y: Array, other: Array) -> float:
        """|risk of the labels `other` as predictions − risk of y as predictions|; 0 where it cannot be computed."""
        try:
            added = abs(float(self.risk(y, self._sure_prediction(other)) - self.risk(y, self._sure_prediction(y))))
        except Exception:
            # A user's function may be undefined on predictions that no learner makes.
            return 0.0
        return added if np.isfinite(added) else 0.0

    def _sure_prediction(self, y: Array) -> Array:
        """The response of a learner that is certain of these labels."""
        return y

    def score(self, risk: Any, n: Any = None) -> Any:
        """The risk as a score as scikit-learn reports it, greater is better.

        `n` is the number of equally weighted samples of each risk, where it is known.
        """
        return -risk

    def reported(self, risk: Any) -> Any:
        """A risk, or a difference of risks, on the scale the user asked for: of scorers, the score."""
        return risk


def per_sample(errors: Array, multioutput: bool) -> Array:
    """The loss of each sample, (..., n): the mean over outputs, (..., n, outputs), where there are several."""
    return errors.mean(axis=-1) if multioutput else errors


def label_variance(y: Array, weight: Floats | None = None) -> float:
    """Variance of labels, with divisor n or weighted; averaged over outputs where there are several."""
    if weight is None:
        return float(np.mean(np.var(y, axis=0)))
    return float(np.mean(np.average((y - np.average(y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)))


def as_losses(returned: ArrayLike, name: str) -> Floats:
    """The values that a user's loss returned, as doubles of the same shape.

    Raises
    ------
    ValueError
        For nan and for values that are not real numbers.
    """
    losses = np.asarray(returned)
    if losses.dtype.kind == "O":
        # Numbers in an object array, which labels of mixed types lead to.
        with contextlib.suppress(TypeError, ValueError):
            losses = losses.astype(np.float64)
    if losses.dtype.kind not in "fiub":
        raise ValueError(f"loss {name!r} must return real numbers, it returned {losses.dtype}")
    if np.isnan(losses).any():
        which = f" for {np.isnan(losses).sum()} of {losses.size} samples" if losses.ndim else ""
        raise ValueError(f"loss {name!r} must return real numbers, it returned nan{which}")
    return losses.astype(np.float64, copy=False)


def meetings(n_labels: int, n: int) -> NDArray[np.intp]:
    """Which labels of a pool each of n predictions is paired with, (labels, n), or (labels, 1) where with all of them.

    Beyond `PAIRS_AT_MOST` pairs, predictions are paired with successive labels of one fixed random order, so that all
    labels are used equally often and the result is the same every time.
    """
    if n_labels * n <= PAIRS_AT_MOST:
        return np.arange(n_labels)[:, None]
    n_met = min(n_labels, max(LABELS_AT_LEAST, PAIRS_AT_MOST // n))
    order, first = np.random.default_rng(0).permutation(n_labels), np.arange(n) * n_labels // n
    return np.asarray(order[(first + np.arange(n_met)[:, None]) % n_labels])
