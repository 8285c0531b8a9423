"""What all generative classifiers share: statistics in, scores of classes, answers of every model out.

The answers of a row that is left out come from the statistics of all rows minus its own, or minus those of its fold.
Where too few digits would be left, where classes are as good as tied, and where a training set lacks a class,
scikit-learn refits the models concerned to the rows concerned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import expit

from outsample.data.learners import FitError
from outsample.data.tables import Table, n_rows, rows
from outsample.paths.base import Abilities, Design, Path, confusion_shares
from outsample.paths.refit import MixedDesign, RefitPath
from outsample.running.arrays import Array, Bools, Floats, Rows

# Scores of two classes that differ by less than this share of them are tied: which one wins is a matter of rounding.
TIED = 1e-11
# Probabilities need the difference of two scores to ten digits after the point; larger scores do not have them.
LARGEST_SCORE = 1e5
# Beyond this difference of scores the smaller probability is zero to all digits wanted.
DECIDED = 40.0
# Numbers of a block of scores or of the table that are worked on at once.
NUMBERS_AT_ONCE = 2**16
# Rows that are asked whether leaving them out takes fits, where there are more.
ROWS_ASKED = 200
# Where every model must be refitted to more than this share of the folds, nothing is won by the others.
MOST_REFITTED = 0.25


@dataclass(frozen=True)
class Scores:
    """Scores of classes, the larger the better, and where they cannot be trusted.

    Attributes
    ----------
    values : (models, K, rows).
    doubt : (models, rows) or what broadcasts to it, True where scikit-learn must be asked.
    alike : the same, True where classes have the same parameters, so that the first one wins.
    """

    values: Floats
    doubt: Bools
    alike: Bools = field(default_factory=lambda: np.zeros((1, 1), bool))


Scorer = Callable[[Any], Scores]
"""Some of the rows, a slice or their numbers → their scores."""


class ClassModels(ABC):
    """The models along one parameter of a generative classifier, bound to one table.

    Attributes
    ----------
    table : X as the models read it.
    n_models, n_classes : sizes.
    whole : whether the table has all rows of the statistics that the models are asked about.
    """

    table: Any
    n_models: int
    n_classes: int
    whole: bool = True
    binary_link: bool = False
    """Whether probabilities of two classes are the logistic function of the difference of their scores."""

    @abstractmethod
    def read(self, X_new: Table) -> Any:
        """New rows as the models read them; None where only scikit-learn can tell what to do with them."""

    def with_rows(self, rows: Any) -> Self:
        """The same models about some of many rows, (rows, p), of which the statistics are known."""
        some = copy(self)
        some.table, some.whole = rows, False
        return some

    @abstractmethod
    def statistics(self, table: Any, codes: Array, weight: Floats | None) -> Any:
        """The sufficient statistics of some rows."""

    @abstractmethod
    def scorer(self, statistics: Any, table: Any, response: str) -> Scorer:
        """Scores of the rows of a table by the models with these statistics."""

    @abstractmethod
    def left_out_scorer(self, statistics: Any, codes: Array, weight: Floats | None, response: str) -> Scorer:
        """Scores of rows of the table, given their numbers, each by the models without it; most are of one class.

        `statistics` are those of all rows.
        """


class GenerativeDesign(Design):
    """Generative classifiers bound to one X; a label vector costs its sums by class and a product with the table."""

    abilities = Abilities(sums=frozenset({"confusion"}), leaves_out=True)

    def __init__(self, path: Path, models: ClassModels, X: Table, classes: Array, weight: Floats | None) -> None:
        self._path, self._models, self._X = path, models, X
        self.classes, self.weight = classes, weight
        self.n_models, self.n_samples = len(path), n_rows(X)
        self._last: tuple[Array, Any] | None = None
        self._fits: tuple[Array, str, float] | None = None

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return np.stack([self._answers(y, self._models.table, self._X, response) for y in Y])

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._answers(y, self._models.read(X_new), X_new, response)

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        shares = [confusion_shares(y[None], self.fitted(y[None]), self._n_classes, self.weight) for y in Y]
        return np.concatenate(shares)

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        self._learn(y)
        numbers, fold, sizes = np.unique(folds, return_inverse=True, return_counts=True)
        answers = self._room(self.n_samples, response)
        if (sizes == 1).all():
            doubt = self._leave_one_out(y, response, answers)
        else:
            doubt = self._leave_folds_out(y, fold, response, answers)
        in_doubt = np.stack([np.bincount(fold, own, len(numbers)) > 0 for own in doubt])
        if in_doubt.all(axis=0).mean() > MOST_REFITTED and len(numbers) > 2:
            return None
        for k in np.flatnonzero(in_doubt.any(axis=0)):
            self._refit_fold(y, fold == k, np.flatnonzero(in_doubt[:, k]), response, answers)
        return answers

    def fits_of_rows_left_out(self, y: Array, response: str = "predict") -> float:
        known = self._fits
        if known is None or known[1] != response or not np.array_equal(known[0], y):
            known = self._fits = y.copy(), response, self._count_fits(y, response)
        return known[2]

    def _count_fits(self, y: Array, response: str) -> float:
        """Rows in doubt, of every model, as far as some of the rows tell."""
        some = np.arange(0, self.n_samples, -(-self.n_samples // ROWS_ASKED))
        answers = self._room(self.n_samples, response)
        doubt = self._leave_one_out(y, response, answers, some)[:, some]
        refused = [
            m for m in np.flatnonzero(doubt.all(axis=1)) if not self._can_be_fitted(y, int(m), response, answers)
        ]
        # The first fit ends what scikit-learn refuses.
        doubt[refused] = False
        return float(doubt.sum() * self.n_samples / len(some))

    def _can_be_fitted(self, y: Array, model: int, response: str, answers: Array) -> bool:
        """Whether scikit-learn does not refuse the rows but the first."""
        try:
            self._refit_fold(y, np.arange(self.n_samples) == 0, np.array([model]), response, answers)
        except FitError:
            return False
        return True

    def _leave_one_out(self, y: Array, response: str, answers: Array, some: Rows | None = None) -> Bools:
        """Write the answers of all rows, or of some; returns the doubts, (models, n)."""
        statistics, order = self._statistics(y), np.argsort(y, kind="stable")
        with np.errstate(all="ignore"):
            scorer = self._models.left_out_scorer(statistics, y, self.weight, response)
            asked = order if some is None else order[np.isin(order, some)]
            doubt = self._write(scorer, asked, response, answers, by_number=True)
        alone = np.bincount(y, minlength=self._n_classes)[y] == 1
        return np.asarray(doubt | alone | (np.bincount(y, minlength=self._n_classes) == 0).any())

    def _leave_folds_out(self, y: Array, fold: Array, response: str, answers: Array) -> Bools:
        doubt = np.zeros((self.n_models, self.n_samples), bool)
        whole = self._statistics(y)
        order = np.argsort(fold, kind="stable")
        for inside in np.split(order, np.cumsum(np.bincount(fold))[:-1]):
            remaining = np.bincount(y, minlength=self._n_classes) - np.bincount(y[inside], minlength=self._n_classes)
            if (remaining == 0).any():
                doubt[:, inside] = True
                continue
            own = rows(self._models.table, inside)
            with np.errstate(all="ignore"):
                scorer = self._models.scorer(self._without(whole, own, inside, y), own, response)
                doubt[:, inside] = self._write(scorer, inside, response, answers)
        return doubt

    def _statistics(self, y: Array) -> Any:
        """Statistics of all rows; those of the last labels are kept: real labels are asked for more than once."""
        known = self._last
        if known is None or not np.array_equal(known[0], y):
            known = self._last = y.copy(), self._models.statistics(self._models.table, y, self.weight)
        return known[1]

    def _without(self, whole: Any, own: Any, inside: Rows, y: Array) -> Any:
        """Statistics of all rows but those inside; read anew where removing them costs too many digits."""
        models, weight = self._models, self.weight
        left = whole - models.statistics(own, y[inside], None if weight is None else weight[inside])
        if not left.lost(whole):
            return left
        others = np.setdiff1d(np.arange(self.n_samples), inside)
        return models.statistics(rows(models.table, others), y[others], None if weight is None else weight[others])

    def _answers(self, y: Array, table: Any, X: Table, response: str) -> Array:
        """Answers after fitting y, on rows of X that the models read as `table`, (models, rows[, K])."""
        self._learn(y)
        n = n_rows(X)
        answers = self._room(n, response)
        in_doubt: Bools = np.ones(self.n_models, bool)
        if table is not None and np.bincount(y, minlength=self._n_classes).all():
            statistics = self._statistics(y)
            with np.errstate(all="ignore"):
                scorer = self._models.scorer(statistics, table, response)
                in_doubt = np.any(self._write(scorer, np.arange(n), response, answers), axis=1)
        if in_doubt.any():
            models = np.flatnonzero(in_doubt)
            answers[models] = self._refitted(models, self._X, self.weight).predict(y, X, response)
        return answers

    def _write(self, scorer: Scorer, places: Rows, response: str, answers: Array, by_number: bool = False) -> Bools:
        """Write the answers to the rows at `places`, a block at a time; returns the doubts, (models, rows).

        Rows are known to the scorer by their place among all rows, `by_number`, or among those to answer.
        """
        size = self.n_samples if by_number else len(places)
        models, doubt = self._models, np.zeros((self.n_models, size), bool)
        for block in self._blocks(len(places)):
            scores = scorer(places[block] if by_number else block)
            found, unsure = answers_of(scores.values, response, models.binary_link)
            answers[:, places[block]] = found
            doubt[:, places[block] if by_number else block] = (unsure & ~scores.alike) | scores.doubt
        return doubt

    def _blocks(self, n: int) -> Iterator[slice]:
        width = max(self.n_models * self._n_classes, self._models.table.shape[1])
        step = max(16, NUMBERS_AT_ONCE // width)
        return (slice(start, min(start + step, n)) for start in range(0, n, step))

    def _room(self, n: int, response: str) -> Array:
        if response == "predict":
            return np.empty((self.n_models, n), np.intp)
        one_number = response == "decision_function" and self._n_classes == 2
        return np.empty((self.n_models, n) if one_number else (self.n_models, n, self._n_classes))

    def _refit_fold(self, y: Array, inside: Bools, models: Rows, response: str, answers: Array) -> None:
        """Ask scikit-learn for the rows inside, fitted to all others."""
        train, test = np.flatnonzero(~inside), np.flatnonzero(inside)
        weight = None if self.weight is None else self.weight[train]
        design = self._refitted(models, rows(self._X, train), weight)
        answers[np.ix_(models, test)] = design.predict(y[train], rows(self._X, test), response)

    def _refitted(self, models: Rows, X: Table, weight: Floats | None) -> Design:
        settings = [self._path.params[m] for m in models]
        return RefitPath.over(self._path.estimator, settings).bind(X, self.classes, weight)


def partly_refitted(
    path: Path,
    served: Rows,
    models: ClassModels,
    X: Table,
    classes: Array,
    weight: Floats | None,
) -> Design:
    """The models at the positions `served` from their statistics, by `models`, the others by scikit-learn."""
    if len(served) == len(path):
        return GenerativeDesign(path, models, X, classes, weight)
    others = np.setdiff1d(np.arange(len(path)), served)
    refits = RefitPath.over(path.estimator, [path.params[m] for m in others]).bind(X, classes, weight)
    if not len(served):
        return refits
    own = RefitPath.over(path.estimator, [path.params[m] for m in served])
    designs = [GenerativeDesign(own, models, X, classes, weight), refits]
    return MixedDesign(designs, np.argsort(np.concatenate([served, others])))


def answers_of(scores: Floats, response: str, binary_link: bool) -> tuple[Array, Bools]:
    """(answers (models, rows[, K]), where they are a matter of rounding (models, rows)) of scores (models, K, rows)."""
    best, gap = _best_and_gap(scores)
    size = np.abs(scores).max(axis=1)
    unsure = ~np.isfinite(size)
    if response == "predict":
        return best, unsure | (gap <= TIED * (1.0 + size))
    if response == "decision_function":
        return (scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else np.swapaxes(scores, 1, 2)), unsure
    unsure |= (size > LARGEST_SCORE) & (gap < DECIDED)
    if binary_link and scores.shape[1] == 2:
        positive = expit(scores[:, 1] - scores[:, 0])
        return np.stack([1 - positive, positive], axis=-1), unsure
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return np.swapaxes(shares, 1, 2), unsure


def _best_and_gap(scores: Floats) -> tuple[Array, Floats]:
    """(the first of the classes with the largest score, how far ahead of the next one it is), each (models, rows)."""
    if scores.shape[1] == 2:
        apart = scores[:, 1] - scores[:, 0]
        return (apart > 0).astype(np.intp), np.abs(apart)
    best = scores.argmax(axis=1)
    first = np.take_along_axis(scores, best[:, None], axis=1)
    others = np.where(np.arange(scores.shape[1])[:, None] == best[:, None], -np.inf, scores)
    return best, first[:, 0] - others.max(axis=1)
