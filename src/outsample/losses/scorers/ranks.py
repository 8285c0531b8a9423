"""Scores of a ranking: the area under the ROC curve and average precision.

Rows are sorted by score once; the labels that they meet, real or drawn, are summed along that order. Ties count one
half in the area, and are one step of the curve in average precision, as in scikit-learn. Where every pair of rows was
compared by a model of its own, which saw neither, the outcomes of the comparisons take the place of the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from outsample.losses.scorers import corners
from outsample.losses.scorers.form import Form, mean_of_rows, paired_sums, sums, total_weight
from outsample.losses.scorers.order import Order
from outsample.running.arrays import Array, Bools, Floats


def area(positive: Bools, order: Order, weight: Floats | None = None) -> Floats:
    """Area under the ROC curve, (...); nan where one class is missing.

    With T_i the weight below row i and half of that tied with it, Σ₊ w_i T_i counts each pair of positive rows
    together once, hence W₊²/2, and the others are what the area is the share of (Mann & Whitney 1947).
    """
    middles = order.middles(weight)
    held = sums(positive, weight)
    above = paired_sums(positive, middles, weight)
    pairs = held * (total_weight(positive, weight) - held)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(pairs > 0, (above - held**2 / 2) / pairs, np.nan)


def area_rows(positive: Bools, order: Order, weight: Floats | None = None) -> Rowwise:
    """The area and what rows do to it; their standard error is that of DeLong, DeLong & Clarke-Pearson.

    The influence of a positive row is n/n₊ times its placement, the share of negative rows below it, minus the area.
    """
    w = np.ones(positive.shape[-1]) if weight is None else weight
    mass = w.sum(axis=-1)[..., None]
    held = (positive * w).sum(axis=-1)[..., None]
    below = order.running(positive * w).middles()
    negatives = order.middles(weight) - below
    with np.errstate(invalid="ignore", divide="ignore"):
        placements = np.where(positive, negatives / (mass - held), 1 - below / held)
        value = (positive * w * placements).sum(axis=-1, keepdims=True) / held
        return _placed(value, placements, positive, w)


def area_of_pairs(positive: Bools, pairs: Pairs, weight: Floats | None = None) -> Rowwise:
    """As `area_rows`, of rows (n,) of which every pair was compared by a model of its own."""
    w = np.ones(len(positive)) if weight is None else weight
    known, above = pairs.known, pairs.above
    with np.errstate(invalid="ignore", divide="ignore"):
        wins, met = above @ (w * ~positive), known @ (w * ~positive)
        losses, faced = (w * positive) @ above, (w * positive) @ known
        value = np.array([(w * positive) @ wins / ((w * positive) @ met)])
        placements = np.where(positive, wins / met, losses / faced)
        return _placed(value, np.where(np.isnan(placements), value, placements), positive, w)


def _placed(value: Floats, placements: Floats, positive: Bools, w: Floats) -> Rowwise:
    share = (positive * w).sum(axis=-1, keepdims=True) / w.sum(axis=-1)[..., None]
    share = np.where(positive, share, 1 - share)
    carried = np.broadcast_to(np.where(w > 0, 1 / share, 0.0), placements.shape)
    return Rowwise(value[..., 0], placements * carried, carried)


def _small_sample(positive: Bools, w: Floats) -> Floats:
    """√((1 − 1/n)/(1 − 1/n_class)) for the class of each row, (..., n); 1 where a class has a single row.

    DeLong's variance has the divisor n_class − 1 in each class where that of a mean of n rows has n − 1, so influences
    are multiplied by this; with weights the numbers are effective ones.
    """

    def slack(held: Array) -> Floats:
        total, squares = held.sum(axis=-1, keepdims=True), np.square(held).sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1 - squares / total**2)

    of_row = np.where(positive, slack(positive * w), slack(~positive * w))
    whole = slack(np.broadcast_to(w, of_row.shape))
    return np.sqrt(np.divide(whole, of_row, out=np.ones_like(of_row), where=of_row > 1e-9))


def precision(positive: Bools, order: Order, weight: Floats | None = None) -> Floats:
    """Average precision, (...): the mean over positive rows of the share of positives among rows scored no lower.

    nan without positive or without negative rows.
    """
    w = np.ones(positive.shape[-1]) if weight is None else weight
    hits, rows = order.running(positive * w).from_here(), order.running(w).from_here()
    held = sums(positive, weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (positive * w * hits / np.where(rows > 0, rows, 1.0)).sum(axis=-1) / held
    return np.where((held > 0) & (held < total_weight(positive, weight)), mean, np.nan)


def precision_rows(positive: Bools, order: Order, weight: Floats | None = None) -> Rowwise:
    """Average precision and what rows do to it.

    With T and S the shares of positive and of all rows scored no lower than row i, N = Σ₊ p_i T_i/S_i and the score is
    N/π. A row adds T/S to N if it is positive, and changes T_i and S_i of all rows scored no higher than itself.
    """
    w = np.ones(positive.shape[-1]) if weight is None else weight
    share = w / w.sum(axis=-1)[..., None]
    hits, rows = order.running(positive * share).from_here(), order.running(share).from_here()
    rows = np.where(rows > 0, rows, 1.0)
    per_row = positive * share / rows
    held = (positive * share).sum(axis=-1, keepdims=True)

    with np.errstate(invalid="ignore", divide="ignore"):
        value = (per_row * hits).sum(axis=-1, keepdims=True) / held
        further = order.running(per_row).up_to(), order.running(per_row * hits / rows).up_to()
        moved = positive * (hits / rows + further[0]) - further[1]
        return Rowwise(value[..., 0], moved / held, positive / held)


def precision_of_pairs(positive: Bools, pairs: Pairs, weight: Floats | None = None) -> Rowwise:
    """As `precision_rows`, of rows (n,) of which every pair was compared by a model of its own."""
    w = np.ones(len(positive)) if weight is None else weight
    share = w / w.sum()
    # Rows scored no lower, by the comparisons with row i in row i; a row itself is one of them. Ties are those of few
    # estimators, which more of them would decide either way.
    no_lower = pairs.known - pairs.above
    np.fill_diagonal(no_lower, 1.0)
    hits, rows = no_lower @ (positive * share), no_lower @ share
    rows = np.where(rows > 0, rows, 1.0)
    per_row, held = positive * share / rows, (positive * share).sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.array([(per_row * hits).sum() / held])
        moved = positive * (hits / rows + per_row @ no_lower) - (per_row * hits / rows) @ no_lower
        return Rowwise(value[0], moved / held, positive / held)


def expected_precision(n_positive: float, order: Order, mass: Floats | None = None) -> Floats:
    """Mean average precision over all ways to choose the positive rows, (...).

    A row that has N rows scored no lower, itself included, is positive with probability P/n, and each of the other
    N − 1 with probability (P − 1)/(n − 1) if it is. Without ties the mean is H_n/n + (P − 1)/(n − 1)·(1 − H_n/n). It
    is linear in P from 1 on, so that P may be a mean number; without positive rows the score is 0.
    """
    m = np.ones(order.group.shape[-1]) if mass is None else mass
    n = m.sum(axis=-1, keepdims=True)
    rows = order.running(m).from_here()
    rows = np.where(rows > 0, rows, 1.0)
    others = max(n_positive - 1, 0) / np.maximum(n - 1, 1)
    return mean_of_rows((min(n_positive, 1) + (rows - 1) * others) / rows, m)


class Rowwise(NamedTuple):
    """A score of one ranking, and what every row does to it: its influence is gained − value × carried.

    Attributes
    ----------
    value : (...) the score.
    gained : (..., n) what the score would gain by more rows like this one.
    carried : (..., n) how much of the level of the score the row carries; its mean is that of all rows.
    """

    value: Floats
    gained: Floats
    carried: Floats


@dataclass(frozen=True)
class Pairs:
    """Rows that were compared two by two.

    Attributes
    ----------
    above : (n, n) 1 where the first row was scored higher than the second, ½ where they are tied, else 0.
    known : (n, n) whether two rows were compared; `above` is 0 where they were not.
    """

    above: Floats
    known: Bools


class Term(NamedTuple):
    """One ranking of an average.

    Attributes
    ----------
    positive : (..., n) the rows that should be ranked first.
    order : rows by score, or compared in pairs.
    weight : (..., n) weights of the rows; zero for those that the ranking leaves out.
    members : (..., n) rows whose share, times `scale`, is the weight of this ranking; None where that is `scale`.
    scale : see above.
    """

    positive: Bools
    order: Any
    weight: Floats | None
    members: Bools | None
    scale: float

    def part(self, weight: Floats | None) -> Floats:
        """Weight of this ranking in the average, (...)."""
        return np.asarray(self.scale if self.members is None else self.scale * mean_of_rows(self.members, weight))


def _always(order: Order, c: int) -> Order:
    """The same order for every class."""
    return order


Value = Callable[[Bools, Order, Floats | None], Floats]
ByRows = Callable[[Bools, Any, Floats | None], Rowwise]
Ranking = Callable[[int], Any]
"""The order of rows, or their comparison in pairs, for a class."""


@dataclass(frozen=True)
class RankForm(Form):
    """A score of the ranking of rows for one class, or its average over classes or pairs of them.

    Attributes
    ----------
    score, score_rows, score_pairs, score_digits : the score of one ranking, with the influence of each row, the same of
        rows compared in pairs, with every digit.
    n_classes : number of classes.
    response : "predict_proba" or "decision_function".
    positive : code of the class that rows are ranked for where there are two.
    pairs : whether more than two classes are compared in pairs, otherwise each with all others.
    weighted : whether the average is weighted by labels.
    sums_to_one : whether more than two scores must be probabilities.
    """

    score: Value
    score_rows: ByRows
    score_pairs: ByRows
    score_digits: corners.Cornerwise
    n_classes: int
    response: str
    positive: int = 1
    pairs: bool = False
    weighted: bool = False
    sums_to_one: bool = False
    closed = every_digit = any_precision = ranks = True

    @property
    def takes_many_labels(self) -> bool:  # type: ignore[override]
        return self.score is area and not (self.pairs and self.n_classes > 2)

    def value(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        if self.pairs and self.n_classes > 2 and weight is not None:
            return np.full(self._lead(y, prediction), np.nan)
        total: Floats = np.zeros(())
        for term in self._terms(y, self._orders(prediction), weight):
            total = total + term.part(weight) * self.score(term.positive, term.order, term.weight)
        return np.where(self._usable(y, prediction), total, np.nan)

    def scored(self, y: Array, prediction: Array) -> tuple[Floats, str | None]:
        lead, usable = self._lead(y, prediction), self._usable(y, prediction)
        score, sets = np.full(usable.shape, np.nan), prediction.reshape(-1, *prediction.shape[len(lead) :])
        if usable.any():
            score[usable] = self._with_every_digit(y, sets[usable.ravel()])
        return score, None

    def _with_every_digit(self, y: Array, sets: Array) -> Floats:
        if self.n_classes > 2:
            over = corners.over_pairs if self.pairs else corners.over_classes
            return over(self.score_digits, y, sets, self.weighted)
        return self.score_digits(y == self.positive, Order(self.scores_of(sets, self.positive)))

    def row_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        values = self._by_rows(y, self._orders(prediction), weight, self.score_rows, self.score is area)[1]
        return np.where(self._usable(y, prediction)[..., None], values, np.nan)

    def part_values(self, y: Array, prediction: Array, weight: Floats | None = None) -> Floats:
        """As `row_values`, of one of several sets that `joined` puts together."""
        values = self._by_rows(y, self._orders(prediction), weight, self.score_rows, False)[1]
        return np.where(self._usable(y, prediction)[..., None], values, np.nan)

    def of_pairs(self, y: Array, ranking: Ranking, weight: Floats | None) -> tuple[Floats, Floats]:
        """(score (), `part_values` (n,)) of rows compared in pairs."""
        score, values, _ = self._by_rows(y, ranking, weight, self.score_pairs, False)
        return score, values

    def joined(self, rows: Floats, risks: Floats, tests: Sequence[Array], y: Array, weight: Floats | None) -> Floats:
        """See `Loss.joined`: what sets differ by belongs to the rows that carry their level, above all to rare ones."""
        level, together = np.nanmean(risks, axis=0)[:, None], np.full_like(rows, np.nan)
        for risk, test in zip(risks, tests, strict=True):
            of_set = None if weight is None else weight[test]
            alike = partial(_always, Order(np.zeros(len(test))))
            carried = self._by_rows(y[test], alike, of_set, self.score_rows, False)[2]
            together[:, test] = rows[:, test] + (risk[:, None] - level) * (carried - 1)
        tested = ~np.isnan(together)
        share = np.where(tested, 1.0 if weight is None else weight, 0.0)
        with np.errstate(invalid="ignore"):
            mean = np.nansum(together * share, axis=1, keepdims=True) / share.sum(axis=1, keepdims=True)
        slack = np.ones(len(y))
        for c in range(self.n_classes if self.score is area else 0):
            own, w = np.asarray(y == c), np.ones(len(y)) if weight is None else weight
            slack[own] = _small_sample(own, w)[own]
        return np.asarray(level + (together - mean) * slack)

    def _by_rows(
        self, y: Array, ranking: Ranking, weight: Floats | None, score_rows: ByRows, small_sample: bool
    ) -> tuple[Floats, Floats, Floats]:
        """(score (...), score + influence of each row (..., n), how much of its level each carries (..., n))."""
        whole = total_weight(y, weight)
        score: Floats = np.zeros(())
        total, level = score, score
        for term in self._terms(y, ranking, weight):
            value, gained, carried = score_rows(term.positive, term.order, term.weight)
            inside = (whole / total_weight(y, term.weight))[..., None]
            part, value = term.part(weight)[..., None], value[..., None]
            influence = (gained - value * carried) * inside
            if small_sample:
                w = np.ones(y.shape[-1]) if term.weight is None else term.weight
                influence = influence * _small_sample(term.positive, w)
            score, level = score + (part * value)[..., 0], level + part * carried * inside
            total = total + part * (value + influence)
            if term.members is not None:
                total = total + value * (term.scale * term.members - part)
        return score, total, level

    def permuted_mean(self, pool: Array, prediction: Array, mass: Floats | None = None) -> Floats | None:
        if self.score is area:
            return np.full(prediction.shape[: prediction.ndim - (2 if self._trailing else 1)], 0.5)
        held = np.bincount(pool, minlength=self.n_classes)
        return self._expected(held, lambda c: Order(self.scores_of(prediction, c)), mass)

    def in_random_order(self, held: Floats, n: int) -> float:
        """Mean score of n rows without ties over all their orders; `held` says how many are of each class."""
        order = Order(np.arange(n))
        return 0.5 if self.score is area else float(self._expected(held, lambda c: order, None))

    def _expected(self, held: Array, ranking: Ranking, mass: Floats | None) -> Floats:
        total, ranked = np.zeros(()), self._ranked()
        for c in ranked:
            part = held[c] / held.sum() if self.weighted and len(ranked) > 1 else 1 / len(ranked)
            total = total + part * expected_precision(held[c], ranking(c), mass)
        return np.asarray(total)

    def _n_rows(self, prediction: Array) -> int:
        return int(prediction.shape[-2 if self._trailing else -1])

    @property
    def _trailing(self) -> bool:
        return self.response == "predict_proba" or self.n_classes > 2

    def _lead(self, y: Array, prediction: Array) -> tuple[int, ...]:
        return np.broadcast_shapes(y.shape[:-1], prediction.shape[: prediction.ndim - (2 if self._trailing else 1)])

    def _ranked(self) -> range:
        """The classes that rows are ranked for."""
        return range(self.n_classes) if self.n_classes > 2 else range(self.positive, self.positive + 1)

    def scores_of(self, prediction: Array, c: int) -> Array:
        """The scores of class c, (..., n)."""
        if self._trailing:
            return np.ascontiguousarray(prediction[..., c])
        return prediction if c == 1 else -prediction

    def _orders(self, prediction: Array) -> Ranking:
        return lambda c: Order(self.scores_of(prediction, c))

    def _terms(self, y: Array, ranking: Ranking, weight: Floats | None) -> Iterator[Term]:
        for c in (ranked := self._ranked()):
            positive, order = np.asarray(y == c), ranking(c)
            if self.pairs and self.n_classes > 2:
                yield from self._pairs(y, c, order)
            elif self.weighted and len(ranked) > 1:
                yield Term(positive, order, weight, positive, 1.0)
            else:
                yield Term(positive, order, weight, None, 1 / len(ranked))

    def _pairs(self, y: Array, c: int, order: Any) -> Iterator[Term]:
        positive, n = np.asarray(y == c), self.n_classes
        for other in range(n):
            if other != c:
                both = positive | (y == other)
                inside = both.astype(np.float64)
                members, scale = (both, 1 / (2 * (n - 1))) if self.weighted else (None, 1 / (n * (n - 1)))
                yield Term(positive, order, inside, members, scale)

    def _usable(self, y: Array, prediction: Array) -> Bools:
        """Which sets have finite scores and labels of every class, (...)."""
        complete = np.isfinite(prediction).all(axis=(-2, -1) if self._trailing else -1)
        for c in range(self.n_classes):
            complete = complete & (y == c).any(axis=-1)
        if self.sums_to_one and self.n_classes > 2:
            complete = complete & np.isclose(prediction.sum(axis=-1), 1.0).all(axis=-1)
        return np.asarray(complete)
