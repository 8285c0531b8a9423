"""What all generative classifiers share: statistics in, scores of classes, answers of every model out.

The answers of a fold that is left out come from the statistics of the other folds, and those of single rows, where a
formula is known, from the statistics of all rows. Labels for which these are ill-posed, because a covariance matrix is
nearly singular or a row holds nearly all of a sum, have scores that are not numbers, and all models are refitted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_array

from outsample.data.tables import Table, n_rows, rows
from outsample.paths.base import Abilities, Design, GridPath, confusion_shares
from outsample.paths.generative.statistics import Statistics
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats, Rows

# Numbers of a block of scores or of the table that are worked on at once.
NUMBERS_AT_ONCE = 2**16
# Where more than this share of the folds hold all rows of some class, nothing is won by the others.
MOST_REFITTED = 0.25
# Share of a sum that removing a row must leave, for ten digits of it; what is less than the second is rounding.
LEAST_SHARE, ROUNDING = 1e-5, 1e-12

Scorer = Callable[[Any], Floats]
"""Rows as the models read them → scores of the classes, the larger the better, (models, K, rows)."""
LeftOutScorer = Callable[[Any, Array, Floats], Floats]
"""(rows, their classes, their weights) → the same, each row left out."""


class ClassModels:
    """The models along one parameter of a generative classifier, known from sums over rows; picklable.

    Attributes
    ----------
    n_models, n_columns : sizes.
    priors : (K,) or None for the shares of the classes.
    sum_to_one : whether given priors must.
    binary_link : whether probabilities of two classes are the logistic function of the difference of their scores.
    leaves_rows_out : whether `left_out_scorer` is known.
    """

    n_models: int
    n_columns: int
    priors: Any = None
    sum_to_one: ClassVar[bool] = True
    binary_link: ClassVar[bool] = False
    leaves_rows_out: ClassVar[bool] = False

    @abstractmethod
    def read(self, X: Table) -> Any:
        """Rows as the models read them; None where only scikit-learn can tell what to do with them."""

    @abstractmethod
    def statistics(self, table: Any, codes: Array, n_classes: int, weight: Floats | None) -> Any:
        """The sufficient statistics of some rows."""

    @abstractmethod
    def scorer(self, statistics: Any, response: str) -> Scorer:
        """Scores by the models with these statistics; not numbers where the models are ill-posed."""

    def left_out_scorer(self, statistics: Any, response: str) -> LeftOutScorer:
        """Scores of rows by the models without each of them, `statistics` being those of all rows."""
        raise TypeError(f"{type(self).__name__} leaves out folds only")

    def learned(self, model: Any, statistics: Any) -> Any:
        """A scikit-learn model as it would have been fitted to rows of classes 0, 1, … with these statistics."""
        raise TypeError(f"{type(self).__name__} is fitted to rows only")

    def serves(self, n_classes: int) -> bool:
        """Whether priors are None, or one positive number per class."""
        if self.priors is None:
            return True
        try:
            numbers = np.asarray(self.priors, dtype=np.float64)
        except (ValueError, TypeError):
            return False
        valid = numbers.shape == (n_classes,) and np.isfinite(numbers).all() and bool((numbers > 0).all())
        return bool(valid and (not self.sum_to_one or abs(numbers.sum() - 1.0) < 1e-8))

    def prior(self, weight: Floats) -> Floats:
        """Priors of classes of these weights, (K,) or (K, rows)."""
        if self.priors is None:
            return np.asarray(weight / weight.sum(axis=0))
        given = np.asarray(self.priors, np.float64)
        return given if weight.ndim == 1 else given[:, None]


class CentredModels(ClassModels):
    """Models of real columns, which are taken from an origin near to the rows.

    Parameters
    ----------
    origin : (p,)
    """

    def __init__(self, origin: Floats, n_models: int, priors: Any) -> None:
        self.origin, self.n_models, self.n_columns, self.priors = origin, n_models, len(origin), priors

    def read(self, X: Table) -> Floats | None:
        table = double_table(X)
        return None if table is None or table.shape[1] != self.n_columns else table - self.origin


class ClassPath(GridPath):
    """A path over the values of one parameter of a generative classifier."""

    @abstractmethod
    def models(self, X: Table) -> ClassModels | None:
        """The models for tables like X; None where only scikit-learn can tell what becomes of them."""

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        models = None if classes is None else self.models(X)
        table = None if models is None or classes is None or not models.serves(len(classes)) else models.read(X)
        if models is None or table is None or classes is None:
            return RefitPath.of(self).bind(X, classes, weight)
        return GenerativeDesign(self, models, table, X, classes, weight)


class GenerativeDesign(Design):
    """Generative classifiers bound to one X; a label vector costs its sums by class and a product with the table."""

    def __init__(
        self, path: GridPath, models: ClassModels, table: Any, X: Table, classes: Array, weight: Floats | None
    ) -> None:
        self._path, self._models, self._table, self._X = path, models, table, X
        self.classes, self.weight = classes, weight
        self.n_models, self.n_samples = len(path), n_rows(X)
        self._last: tuple[Array, Statistics] | None = None
        self._known: tuple[Array, str, Array | None] | None = None

    @property
    def abilities(self) -> Abilities:
        return Abilities(
            sums=frozenset({"confusion"}), leaves_out=True, leaves_folds_out_only=not self._models.leaves_rows_out
        )

    def fitted(self, Y: Array, response: str = "predict", seeds: Sequence[int] | None = None) -> Array:
        return np.stack([self._answers(y, self._table, self._X, response) for y in Y])

    def predict(self, y: Array, X_new: Table, response: str = "predict", seed: int | None = None) -> Array:
        return self._answers(y, self._models.read(X_new), X_new, response)

    def confusions(self, Y: Any, seeds: Sequence[int] | None = None) -> Floats:
        shares = [confusion_shares(y[None], self.fitted(y[None]), self._n_classes, self.weight) for y in Y]
        return np.concatenate(shares)

    def _answers(self, y: Array, table: Any, X: Table, response: str) -> Array:
        """Answers after fitting y, on rows of X that the models read as `table`, (models, rows[, K])."""
        self._learn(y)
        if table is not None and np.bincount(y, minlength=self._n_classes).all():
            with np.errstate(all="ignore"):
                scorer = self._models.scorer(self._statistics_of_all(y), response)
                answers = self._room(n_rows(X), response)
                if self._write(lambda block: scorer(table[block]), np.arange(n_rows(X)), response, answers):
                    return answers
        return RefitPath.of(self._path).bind(self._X, self.classes, self.weight).predict(y, X, response)

    def left_out_predictions(self, y: Array, folds: Array, response: str = "predict") -> Array | None:
        self._learn(y)
        numbers, fold, sizes = np.unique(folds, return_inverse=True, return_counts=True)
        single = len(numbers) == self.n_samples
        if single and self._known is not None and self._known[1] == response and np.array_equal(self._known[0], y):
            (*_, answers), self._known = self._known, None
            return answers
        n_classes = self._n_classes
        inside = np.bincount(fold * n_classes + y, minlength=len(numbers) * n_classes).reshape(-1, n_classes)
        rest = inside.sum(axis=0) - inside
        lacking = (rest == 0).any(axis=1)
        if len(numbers) < 2 or lacking.all() or (lacking.mean() > MOST_REFITTED and len(numbers) > 2):
            return None
        answers = self._room(self.n_samples, response)
        parts = np.split(np.argsort(fold, kind="stable"), np.cumsum(sizes)[:-1])
        with np.errstate(all="ignore"):
            if single and self._models.leaves_rows_out:
                done = self._leave_rows_out(y, ~lacking[fold], response, answers)
            else:
                done = all(
                    lacking[fold[part[0]]] or self._leave_fold_out(part, statistics, response, answers)
                    for part, statistics in self._outside(y, parts)
                )
        if not done:
            return None
        for k in np.flatnonzero(lacking):
            self._refit_fold(y, fold == k, response, answers)
        return answers

    def knows_rows_left_out(self, y: Array, response: str = "predict") -> bool:
        """Whether the labels are well-posed; the answers are kept for whoever asks for them next."""
        if not self._models.leaves_rows_out:
            return False
        answers = self.left_out_predictions(y, np.arange(self.n_samples), response)
        self._known = y.copy(), response, answers
        return answers is not None

    def _leave_rows_out(self, y: Array, served: Array, response: str, answers: Array) -> bool:
        """Write the answers to single rows; False where they are ill-posed."""
        scorer = self._models.left_out_scorer(self._statistics_of_all(y), response)
        weight = np.ones(self.n_samples) if self.weight is None else self.weight
        # Rows of one class share some of the work.
        order = np.argsort(y, kind="stable")
        places = order[served[order]]

        def scores(block: slice) -> Floats:
            some = places[block]
            return scorer(self._table[some], y[some], weight[some])

        return self._write(scores, places, response, answers)

    def _leave_fold_out(self, inside: Rows, statistics: Statistics, response: str, answers: Array) -> bool:
        """Write the answers to a fold by models with the statistics of the other rows; False where ill-posed."""
        scorer, own = self._models.scorer(statistics, response), rows(self._table, inside)
        return self._write(lambda block: scorer(own[block]), inside, response, answers)

    def _outside(
        self, y: Array, folds: Sequence[Rows], known: Statistics | None = None
    ) -> Iterator[tuple[Rows, Statistics]]:
        """(rows of a fold, statistics of all other rows) of every fold: of one half come those of the other half."""
        if len(folds) == 1 and known is not None:
            yield folds[0], known
            return
        half = len(folds) // 2
        for own, others in ((folds[:half], folds[half:]), (folds[half:], folds[:half])):
            added = self._statistics(y, np.concatenate(others))
            yield from self._outside(y, own, added if known is None else known + added)

    def _statistics(self, y: Array, some: Rows) -> Statistics:
        weight = None if self.weight is None else self.weight[some]
        found: Statistics = self._models.statistics(rows(self._table, some), y[some], self._n_classes, weight)
        return found

    def _statistics_of_all(self, y: Array) -> Statistics:
        """Statistics of all rows; those of the last labels are kept: real labels are asked for more than once."""
        if self._last is None or not np.array_equal(self._last[0], y):
            self._last = y.copy(), self._models.statistics(self._table, y, self._n_classes, self.weight)
        return self._last[1]

    def _write(self, scores: Callable[[slice], Floats], places: Rows, response: str, answers: Array) -> bool:
        """Write the answers to the rows at `places`, a block at a time; False where scores are not numbers."""
        width = max(self.n_models * self._n_classes, self._models.n_columns)
        step = max(16, NUMBERS_AT_ONCE // width)
        for start in range(0, len(places), step):
            block = slice(start, min(start + step, len(places)))
            values = scores(block)
            if not np.isfinite(values).all():
                return False
            answers[:, places[block]] = answers_of(values, response, self._models.binary_link)
        return True

    def _room(self, n: int, response: str) -> Array:
        if response == "predict":
            return np.empty((self.n_models, n), np.intp)
        one_number = response == "decision_function" and self._n_classes == 2
        return np.empty((self.n_models, n) if one_number else (self.n_models, n, self._n_classes))

    def _refit_fold(self, y: Array, inside: Array, response: str, answers: Array) -> None:
        """The answers to the rows inside by scikit-learn's fits to all others, which lack a class."""
        train, test = np.flatnonzero(~inside), np.flatnonzero(inside)
        weight = None if self.weight is None else self.weight[train]
        design = RefitPath.of(self._path).bind(rows(self._X, train), self.classes, weight)
        answers[:, test] = design.predict(y[train], rows(self._X, test), response)


def answers_of(scores: Floats, response: str, binary_link: bool) -> Array:
    """Answers (models, rows[, K]) of scores (models, K, rows)."""
    if response == "predict":
        return np.asarray(scores.argmax(axis=1))
    apart = scores[:, 1] - scores[:, 0]
    if response == "decision_function":
        return apart if scores.shape[1] == 2 else np.swapaxes(scores, 1, 2)
    if binary_link and scores.shape[1] == 2:
        positive = expit(apart)
        return np.stack([1 - positive, positive], axis=-1)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return np.swapaxes(shares, 1, 2)


def double_table(X: Table) -> Floats | None:
    """X as doubles, (n, p), whatever its numbers are stored as; None for sparse X and for invalid X."""
    if sparse.issparse(X):
        return None
    try:
        return np.asarray(check_array(X), dtype=np.float64)
    except (ValueError, TypeError):
        return None


def is_number(value: object, least: float, most: float = np.inf) -> bool:
    """Whether a value of a parameter is a finite number from `least` to `most`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return False
    number = float(value)
    return bool(np.isfinite(number) and least <= number <= most)
