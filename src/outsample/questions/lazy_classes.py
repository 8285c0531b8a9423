"""Gaussian naive Bayes and linear discriminant analysis over tables that do not fit into memory.

They are known from the number, the mean and the scatter of the rows of every class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from outsample.criteria.base import Criterion
from outsample.data.lazy import LazyTable, in_memory_only
from outsample.data.learners import with_params
from outsample.losses.base import Loss
from outsample.losses.pointwise import ZeroOneLoss
from outsample.paths.generative.design import ClassModels, answers_of
from outsample.paths.generative.gaussian_bayes import GaussianBayes, GaussianStatistics
from outsample.paths.generative.inputs import is_number, usable_priors
from outsample.paths.generative.linear_discriminants import DIVIDES_BY_ROWS, LinearDiscriminants
from outsample.paths.generative.statistics import ClassMoments, Kind
from outsample.problem import ask
from outsample.questions.beyond_memory import AT_ONCE, Judged, LazySearch, added_by_fold, keep_names, rows_by_fold
from outsample.running.arrays import Array, Floats, Rows
from outsample.running.threads import one_blas_thread

_SERVED = 'GaussianNB and LinearDiscriminantAnalysis with solver "svd" or "lsqr"'
_PARAMETERS = {GaussianNB: "var_smoothing", LinearDiscriminantAnalysis: "shrinkage"}


@dataclass(frozen=True, eq=False)
class _Group:
    """Settings that differ in the value of one parameter only; picklable.

    Attributes
    ----------
    places : their positions.
    models : of all of them.
    """

    places: Rows
    models: ClassModels

    def statistics(self, moments: ClassMoments) -> Any:
        """What the models know of rows with these moments."""
        if isinstance(self.models, GaussianBayes):
            return GaussianStatistics(moments, moments.together())
        assert isinstance(self.models, LinearDiscriminants)
        if moments.kind == "pooled" or not (self.models.by_svd or self.models.priors is None):
            return moments
        return ClassMoments(moments.weight, moments.mean, moments.scatter.sum(axis=0), "pooled")


@dataclass(frozen=True, eq=False)
class _Block:
    """Moments of some rows by fold, with the labels that occur among them."""

    labels: Array
    moments: dict[int, ClassMoments]

    def among(self, classes: Array) -> dict[int, ClassMoments]:
        """The moments as those of all classes."""
        places = np.searchsorted(classes, self.labels)
        return {k: _among(own, places, len(classes)) for k, own in self.moments.items()}


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


def _moments_of(X: Floats, y: Floats, start: int, bounds: Rows, origin: Floats, kind: Kind) -> _Block:
    labels, codes = np.unique(y, return_inverse=True)
    with one_blas_thread:
        moments = {
            k: ClassMoments.of(X[rows] - origin, codes[rows], len(labels), kind=kind)
            for k, rows in rows_by_fold(bounds, start, len(y))
        }
    return _Block(labels, moments)


def _losses_of(X: Floats, y: Floats, start: int, bounds: Rows, judge: _Judge) -> dict[int, _Sums]:
    found: dict[int, _Sums] = {}
    with one_blas_thread:
        for k, part in rows_by_fold(bounds, start, len(y)):
            for first in range(part.start, part.stop, AT_ONCE):
                rows = slice(first, min(first + AT_ONCE, part.stop))
                sums = judge.sums(X[rows], y[rows], k)
                found[k] = found[k] + sums if k in found else sums
    return found


@dataclass(frozen=True, eq=False)
class _Judge:
    """Judges rows that are left out one by one, or by folds; picklable.

    Attributes
    ----------
    whole : moments of all rows.
    outside : moments of the rows outside of each fold; None where rows are left out one by one.
    """

    groups: Sequence[_Group]
    classes: Array
    origin: Floats
    whole: ClassMoments
    outside: Sequence[ClassMoments] | None
    loss: Loss
    response: str

    def sums(self, X: Floats, y: Floats, fold: int) -> _Sums:
        """Sums of the losses of a few rows of one fold, setting after setting as the groups have them."""
        codes, rows = np.searchsorted(self.classes, y), X - self.origin
        found = [self._answers(group, rows, codes, fold) for group in self.groups]
        inside, outside, doubts = zip(*found, strict=True)
        losses = [np.concatenate([self.loss.pointwise(codes, own) for own in answers]) for answers in (inside, outside)]
        doubtful = int(np.any(np.concatenate(doubts), axis=0).sum())
        return _Sums(
            losses[0].sum(axis=1), losses[1].sum(axis=1), np.square(losses[1]).sum(axis=1), len(codes), doubtful
        )

    def _answers(self, group: _Group, rows: Floats, codes: Array, fold: int) -> tuple[Array, Array, Array]:
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
    """Every setting of Gaussian naive Bayes or linear discriminant analysis."""

    path = "ClassMoments"

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
        self._origin = X.mean(axis=0)

    def _judged(self, bounds: Rows) -> Judged:
        blocks = self._table.over_blocks(_moments_of, bounds, self._origin, self._kind)
        self._gather([block for block in blocks if block is not None])
        outside = None if self._n_folds is None else [self._outside(fold) for fold in self._folds]
        groups = [self._group(places) for places in self._places()]
        judge = _Judge(groups, self._classes, self._origin, self._whole, outside, self._row_loss, self._response)
        sums: list[_Sums] = added_by_fold(self._table.over_blocks(_losses_of, bounds, judge))
        total = reduce(add, sums)
        if total.doubtful:
            raise ValueError(
                in_memory_only(f"a choice between classes that rounding decides for {total.doubtful} rows")
            )
        back = np.argsort(np.concatenate([group.places for group in groups]), kind="stable")
        best = self.loss.range[0] if self._row_loss is not self.loss else 0.0
        mean = total.outside / total.rows
        return Judged(
            in_sample=best + (total.inside / total.rows)[back],
            fold_risks=best + np.stack([(own.outside / own.rows)[back] for own in sums]),
            fold_sizes=np.array([own.rows for own in sums], dtype=np.intp),
            spread=np.maximum(total.squares / total.rows - np.square(mean), 0.0)[back],
        )

    @property
    def _kind(self) -> Kind:
        """Which sums of squares the models need; priors that are given weigh the classes one by one."""
        if type(self._models[0]) is GaussianNB:
            return "columns"
        return (
            "classes" if any(model.priors is not None and model.solver != "svd" for model in self._models) else "pooled"
        )

    def _gather(self, blocks: Sequence[_Block]) -> None:
        """Join the moments of all blocks, whose classes may differ."""
        self._classes = np.unique(np.concatenate([block.labels for block in blocks]))
        if len(self._classes) < 2:
            raise ValueError(f"y holds one class only: {self._classes[0]:g}")
        spread = [
            {
                k: _among(own, np.searchsorted(self._classes, block.labels), len(self._classes))
                for k, own in known.items()
            }
            for block in blocks
            for known in [block.moments]
        ]
        self._folds: list[ClassMoments] = added_by_fold(spread)
        self._whole = reduce(add, self._folds)
        if (self._whole.weight < 2).any():
            raise ValueError(in_memory_only("a class of a single row"))

    def _outside(self, fold: ClassMoments) -> ClassMoments:
        outside = self._whole - fold
        if (outside.weight < 2).any() or outside.lost(self._whole):
            raise ValueError(in_memory_only("a class or a column that hardly varies outside one of the folds"))
        return outside

    def _places(self) -> list[Rows]:
        """Positions of the settings that differ in one parameter only."""
        keys = [_all_but_parameter(model) for model in self._models]
        return [np.flatnonzero([own == key for own in keys]) for key in dict.fromkeys(keys)]

    def _group(self, places: Rows) -> _Group:
        first, n_classes = self._models[places[0]], len(self._classes)
        if not usable_priors(first.priors, n_classes):
            raise ValueError(f"priors must be {n_classes} positive numbers that add up to one, got {first.priors!r}")
        values = [getattr(self._models[i], _PARAMETERS[type(first)]) or 0.0 for i in places]
        nothing, parameter = np.zeros((2, self._table.n_columns)), np.array(values, dtype=np.float64)
        if type(first) is GaussianNB:
            return _Group(places, GaussianBayes(nothing, parameter, n_classes, first.priors))
        models = LinearDiscriminants(nothing, parameter, n_classes, first.priors, first.solver, first.tol)
        models = models.knowing(_covariance(self._whole), self._table.n_rows)
        if not models.well_posed:
            raise ValueError(in_memory_only("a model whose columns are linearly dependent, or nearly,"))
        return _Group(places, models)

    def refitted(self, position: int) -> Any:
        model = self._models[position]
        if type(model) is GaussianNB:
            _learn_bayes(model, self._whole, self._origin)
        else:
            own = self._group(np.array([position]))
            model = _learned_discriminants(model, own.models, own.statistics(self._whole), self._origin)
        whole = bool((self._classes == np.round(self._classes)).all())
        model.classes_ = self._classes.astype(np.intp) if whole else self._classes
        model.n_features_in_ = self._table.n_columns
        keep_names(model, self._table)
        return model


def _among(moments: ClassMoments, places: Rows, n_classes: int) -> ClassMoments:
    """The moments of some classes as those of all, at their places."""

    def spread(values: Floats) -> Floats:
        every = np.zeros((n_classes, *values.shape[1:]))
        every[places] = values
        return every

    scatter = moments.scatter if moments.kind == "pooled" else spread(moments.scatter)
    return ClassMoments(spread(moments.weight), spread(moments.mean), scatter, moments.kind)


def _covariance(moments: ClassMoments) -> Floats:
    """Of all rows together, without regard to classes, (p, p)."""
    n = moments.weight.sum()
    apart = moments.mean - moments.weight @ moments.mean / n
    within = moments.scatter if moments.kind == "pooled" else moments.scatter.sum(axis=0)
    return np.asarray((within + (apart * moments.weight[:, None]).T @ apart) / n)


def _learn_bayes(model: GaussianNB, moments: ClassMoments, origin: Floats) -> None:
    """Write into a model what it would have learned from rows with these moments, taken from the origin."""
    largest = GaussianStatistics(moments, moments.together()).largest_variance
    model.epsilon_ = model.var_smoothing * largest
    model.theta_ = moments.mean + origin
    model.var_ = moments.scatter / moments.weight[:, None] + model.epsilon_
    model.class_count_ = moments.weight
    model.class_prior_ = (
        moments.weight / moments.weight.sum() if model.priors is None else np.asarray(model.priors, np.float64)
    )


def _learned_discriminants(
    model: LinearDiscriminantAnalysis, own: Any, moments: ClassMoments, origin: Floats
) -> LinearDiscriminantAnalysis:
    """The model, fitted by scikit-learn to a few rows with the same means, covariance matrix and priors.

    Of each class these are its mean plus and minus the principal axes of the covariance matrix within classes.
    """
    n_classes, p = moments.mean.shape
    n = 2 * p * n_classes
    divisor = n if DIVIDES_BY_ROWS or model.solver != "svd" else n - n_classes
    values, axes = np.linalg.eigh(own.within(moments))
    root = np.sqrt(divisor / (2 * n_classes) * np.maximum(values, 0.0))[:, None] * axes.T
    rows = np.concatenate([mean + sign * root for mean in moments.mean + origin for sign in (1.0, -1.0)])
    fitted = with_params(model, {"priors": own.prior(moments.weight)}).fit(rows, np.repeat(np.arange(n_classes), 2 * p))
    fitted.set_params(priors=model.priors)
    return fitted


def _check(model: Any) -> None:
    """Refuse, in one sentence, what is none of the learners whose moments suffice."""
    bayes = type(model) is GaussianNB and is_number(model.var_smoothing, 0.0)
    discriminants = (
        type(model) is LinearDiscriminantAnalysis
        and model.solver in ("svd", "lsqr")
        and model.covariance_estimator is None
        and (model.shrinkage is None or (is_number(model.shrinkage, 0.0, 1.0) and model.solver == "lsqr"))
        and model.n_components is None
    )
    if not bayes and not discriminants:
        raise TypeError(f"{in_memory_only(str(model).replace(chr(10), ' '))}. Served without it are {_SERVED}")


def _all_but_parameter(model: Any) -> str:
    settings = model.get_params()
    settings.pop(_PARAMETERS[type(model)])
    shrunk = type(model) is LinearDiscriminantAnalysis and bool(model.shrinkage)
    return str((sorted(settings.items()), shrunk))


def _row_loss(loss: Loss) -> Loss:
    """The loss of single rows behind a loss: the accuracy is one minus zero-one loss."""
    if loss.per_row and loss.responses[0] in ("predict", "predict_proba"):
        return loss
    if loss.name == "accuracy":
        return ZeroOneLoss()
    raise ValueError(
        f"{in_memory_only(f'loss {loss.name!r}')}. Served without it are losses of single rows and accuracy"
    )
