"""Naive Bayes and linear discriminant analysis over tables that do not fit into memory.

They are known from sums over the rows of every class: `lazy_moments` and `lazy_counts` say which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

from outsample.criteria.base import Criterion
from outsample.data.lazy import LazyTable, in_memory_only
from outsample.losses.base import Loss
from outsample.losses.pointwise import ZeroOneLoss
from outsample.paths.generative.design import answers_of
from outsample.problem import ask
from outsample.questions.beyond_memory import AT_ONCE, Judged, LazySearch, added_by_fold, keep_names, rows_by_fold
from outsample.questions.lazy_counts import CategoryFamily, CountFamily
from outsample.questions.lazy_families import ClassSums, Family, Group
from outsample.questions.lazy_moments import BayesFamily, DiscriminantFamily
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import one_blas_thread
from outsample.running.units import fingerprint

_FAMILIES: dict[type, Any] = {
    GaussianNB: BayesFamily,
    LinearDiscriminantAnalysis: DiscriminantFamily,
    MultinomialNB: CountFamily,
    ComplementNB: CountFamily,
    BernoulliNB: CountFamily,
    CategoricalNB: CategoryFamily,
}
_SERVED = ", ".join(kind.__name__ for kind in _FAMILIES)


@dataclass(frozen=True, eq=False)
class _Known:
    """Sums of some rows by fold, with the labels that occur among them."""

    labels: Array
    folds: dict[int, ClassSums]

    def __add__(self, other: _Known) -> _Known:
        labels = np.union1d(self.labels, other.labels)
        mine, theirs = self._among(labels), other._among(labels)
        folds = {k: mine[k] + theirs[k] if k in mine and k in theirs else (mine | theirs)[k] for k in mine | theirs}
        return _Known(labels, folds)

    def _among(self, labels: Array) -> dict[int, Any]:
        """The sums as those of more labels."""
        if len(labels) == len(self.labels):
            return dict(self.folds)
        places = np.searchsorted(labels, self.labels)
        return {k: own.among(places, len(labels)) for k, own in self.folds.items()}


def _joined(first: _Known | None, second: _Known | None) -> _Known | None:
    return first + second if first is not None and second is not None else first or second


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over rows of in-sample and left-out losses and their squares, (models,), the rows, and those in doubt."""

    inside: Floats
    outside: Floats
    squares: Floats
    rows: int
    doubtful: int

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(*(getattr(self, name) + getattr(other, name) for name in vars(self)))


def _parts(bounds: Rows, start: int, length: int) -> Iterator[tuple[int, slice]]:
    """(fold, a few of its rows in a block) until all rows of the block had their turn."""
    for k, part in rows_by_fold(bounds, start, length):
        for first in range(part.start, part.stop, AT_ONCE):
            yield k, slice(first, min(first + AT_ONCE, part.stop))


def _known_of(X: Floats, y: Floats, start: int, bounds: Rows, family: Family) -> _Known:
    labels, codes = np.unique(y, return_inverse=True)
    found: dict[int, Any] = {}
    with one_blas_thread:
        for k, rows in _parts(bounds, start, len(y)):
            sums = family.sums(X[rows], codes[rows], len(labels))
            found[k] = found[k] + sums if k in found else sums
    return _Known(labels, found)


def _losses_of(X: Floats, y: Floats, start: int, bounds: Rows, judge: _Judge) -> dict[int, _Sums]:
    found: dict[int, _Sums] = {}
    with one_blas_thread:
        for k, rows in _parts(bounds, start, len(y)):
            sums = judge.sums(X[rows], y[rows], k)
            found[k] = found[k] + sums if k in found else sums
    return found


@dataclass(frozen=True, eq=False)
class _Judge:
    """Judges rows that are left out one by one, or by folds; picklable.

    Attributes
    ----------
    whole : sums of all rows.
    outside : sums of the rows outside of each fold; None where rows are left out one by one.
    """

    groups: Sequence[Group]
    classes: Array
    whole: ClassSums
    outside: Sequence[ClassSums] | None
    loss: Loss
    response: str

    def sums(self, X: Floats, y: Floats, fold: int) -> _Sums:
        """Sums of the losses of a few rows of one fold, setting after setting as the groups have them."""
        codes = np.searchsorted(self.classes, y)
        found = [self._answers(group, group.read(X), codes, fold) for group in self.groups]
        inside, outside, doubts = zip(*found, strict=True)
        losses = [np.concatenate([self.loss.pointwise(codes, own) for own in answers]) for answers in (inside, outside)]
        doubtful = int(np.any(np.concatenate(doubts), axis=0).sum())
        return _Sums(
            losses[0].sum(axis=1), losses[1].sum(axis=1), np.square(losses[1]).sum(axis=1), len(codes), doubtful
        )

    def _answers(self, group: Group, rows: Any, codes: Array, fold: int) -> tuple[Array, Array, Array]:
        """(in-sample answers, left-out answers, (models, rows) which of them are a matter of rounding)."""
        models, whole, every = group.models.with_rows(rows), group.statistics(self.whole), slice(0, len(codes))
        with np.errstate(all="ignore"):
            inside = models.scorer(whole, rows, self.response)(every)
            if self.outside is None:
                outside = models.left_out_scorer(whole, codes, None, self.response)(np.arange(len(codes)))
            else:
                outside = models.scorer(group.statistics(self.outside[fold]), rows, self.response)(every)
            found = [answers_of(scores.values, self.response, models.binary_link) for scores in (inside, outside)]
        doubts = [(own[1] & ~of.alike) | of.doubt for own, of in zip(found, (inside, outside), strict=True)]
        return found[0][0], found[1][0], doubts[0] | doubts[1]


class ClassSearch(LazySearch):
    """Every setting of a classifier that is known from sums over the rows of every class."""

    path = "ClassSums"

    def __init__(
        self,
        estimator: BaseEstimator,
        settings: Sequence[dict[str, Any]],
        table: LazyTable,
        criterion: Criterion,
        loss: Any,
    ) -> None:
        super().__init__(estimator, settings, table, criterion, loss)
        for model in self._models:
            _check(model)
        if isinstance(loss, np.ndarray | list):
            raise ValueError(in_memory_only("a loss matrix"))
        X, _ = table.head()
        # The first rows need not have every class, and what a loss is does not depend on them.
        self.loss = ask(self._models[0], X, np.arange(len(X)) % 2, loss=loss).loss
        self._row_loss = _row_loss(self.loss)
        self._response = self._row_loss.responses[0]
        self._family: Family = _FAMILIES[type(self._models[0])](self._models, X.mean(axis=0))

    def _judged(self, bounds: Rows) -> Judged:
        self._gather(self._table.joined(_joined, _known_of, bounds, self._family))
        outside = None if self._n_folds is None else self._outside()
        groups = [self._group(places) for places in self._places()]
        judge = _Judge(groups, self._classes, self._whole, outside, self._row_loss, self._response)
        sums: list[_Sums] = added_by_fold(self._table.over_blocks(_losses_of, bounds, judge))
        total = reduce(add, sums)
        if total.doubtful:
            raise ValueError(in_memory_only(f"{self._family.doubt} for {total.doubtful} rows"))
        back = np.argsort(np.concatenate([group.places for group in groups]), kind="stable")
        best = self.loss.range[0] if self._row_loss is not self.loss else 0.0
        mean = total.outside / total.rows
        return Judged(
            in_sample=best + (total.inside / total.rows)[back],
            fold_risks=best + np.stack([(own.outside / own.rows)[back] for own in sums]),
            fold_sizes=np.array([own.rows for own in sums], dtype=np.intp),
            spread=np.maximum(total.squares / total.rows - np.square(mean), 0.0)[back],
        )

    def _gather(self, known: _Known) -> None:
        """Take the classes and the sums from those of all blocks."""
        self._classes = known.labels
        if len(self._classes) < 2:
            raise ValueError(f"y holds one class only: {self._classes[0]:g}")
        self._folds: list[Any] = [known.folds[k] for k in sorted(known.folds)]
        self._whole = reduce(add, self._folds)
        if (self._whole.weight < 2).any():
            raise ValueError(in_memory_only("a class of a single row"))

    def _outside(self) -> list[Any]:
        """The sums of the rows outside of each fold: of those before and those after it, which loses no digits."""
        before = list(accumulate(self._folds, add))[:-1]
        after = list(accumulate(reversed(self._folds), add))[-2::-1]
        both = [one + other for one, other in zip(before[:-1], after[1:], strict=True)]
        outside = [after[0], *both, before[-1]]
        if any((own.weight < 2).any() for own in outside):
            raise ValueError(in_memory_only("a class of fewer than two rows outside one of the folds"))
        return outside

    def _places(self) -> list[Rows]:
        """Settings that differ in the value of one parameter only."""
        keys = [_all_but(self._family.parameter, model) for model in self._models]
        return [np.flatnonzero([own == key for own in keys]) for key in dict.fromkeys(keys)]

    def _group(self, places: Rows) -> Group:
        return self._family.group(self._models, places, self._whole)

    def refitted(self, position: int) -> Any:
        model = self._models[position]
        model = self._family.learned(model, self._group(np.array([position])), self._whole)
        whole = bool((self._classes == np.round(self._classes)).all())
        model.classes_ = self._classes.astype(np.intp) if whole else self._classes
        model.n_features_in_ = self._table.n_columns
        keep_names(model, self._table)
        return model


def _check(model: Any) -> None:
    """Refuse, in one sentence, what is none of the learners whose sums suffice."""
    family = _FAMILIES.get(type(model))
    if family is None or not family.serves(model):
        raise TypeError(f"{in_memory_only(str(model).replace(chr(10), ' '))}. Served without it are {_SERVED}")


def _all_but(parameter: str, model: Any) -> str:
    """What tells settings that differ in more than one parameter."""
    settings = model.get_params()
    value = settings.pop(parameter)
    shrunk = type(model) is LinearDiscriminantAnalysis and bool(value)
    return fingerprint(sorted(settings.items()), shrunk)


def _row_loss(loss: Loss) -> Loss:
    """The loss of single rows behind a loss: the accuracy is one minus zero-one loss."""
    if loss.per_row and loss.responses[0] in ("predict", "predict_proba"):
        return loss
    if loss.name == "accuracy":
        return ZeroOneLoss()
    raise ValueError(
        f"{in_memory_only(f'loss {loss.name!r}')}. Served without it are losses of single rows and accuracy"
    )
