"""Searches over tables that do not fit into memory, for learners whose sufficient statistics add up over rows.

One pass over the blocks of rows sums up the statistics, a second one the losses of every model on rows left out: single
rows, or consecutive folds. The model refitted to all rows is known from the same statistics.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from outsample.criteria.auto import FOLDS, Auto
from outsample.criteria.base import Criterion
from outsample.criteria.cross_validation import CrossValidation
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve, Rule
from outsample.data.lazy import LazyTable, in_memory_only
from outsample.data.learners import with_params
from outsample.data.parameters import unknown_settings
from outsample.data.stability import variance_factor
from outsample.losses.base import Loss
from outsample.losses.pointwise import ZeroOneLoss
from outsample.paths.dispatch import find_path
from outsample.paths.generative.design import CentredModels, ClassModels, ClassPath, answers_of
from outsample.paths.generative.statistics import Statistics
from outsample.paths.linear.moments import Moments, RidgeOfMoments
from outsample.paths.linear.ridge import DIRECT_SOLVERS
from outsample.paths.order import complexity_of, simplest_first
from outsample.problem import ask
from outsample.questions.contest import Outcome, choice
from outsample.running.arrays import Array, Floats, Rows, sums_of_others
from outsample.running.threads import one_blas_thread
from outsample.running.units import fingerprint

# Rows of a block that are judged together.
AT_ONCE = 8192
# The parameter that classifiers share their work over.
_ALONG: dict[type, str] = {
    GaussianNB: "var_smoothing",
    LinearDiscriminantAnalysis: "shrinkage",
    MultinomialNB: "alpha",
    ComplementNB: "alpha",
    BernoulliNB: "alpha",
    CategoricalNB: "alpha",
}
_LINEAR = "LinearRegression and Ridge, with or without a StandardScaler before them"


class Sums:
    """A record whose fields add up over rows."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, own.name) + getattr(other, own.name) for own in fields(self)))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class LossSums(Sums):
    """Sums over rows.

    Attributes
    ----------
    inside, outside : (models,) in-sample and left-out losses.
    squares : (models,) squares of the left-out losses.
    products : (models,) left-out losses times squared distances of the labels from the mean of all.
    distances, distances_squared, fourths : of the labels from that mean, and their powers; zero for classes.
    rows : how many.
    """

    inside: Floats
    outside: Floats
    squares: Floats
    products: Floats
    distances: float
    distances_squared: float
    fourths: float
    rows: int

    @classmethod
    def of(cls, inside: Floats, outside: Floats, distances: Floats) -> LossSums:
        """The sums of losses (models, rows)."""
        losses = inside.sum(axis=1), outside.sum(axis=1), np.square(outside).sum(axis=1)
        squared = np.square(distances)
        moments = float(distances.sum()), float(squared.sum()), float(squared @ squared)
        return cls(*losses, outside @ squared, *moments, len(distances))

    @property
    def spread(self) -> float:
        """Sum of squared distances of the labels of these rows from their own mean."""
        return self.distances_squared - self.distances**2 / self.rows


@dataclass(frozen=True, eq=False)
class _Each(Sums):
    """What every group of settings knows of some rows."""

    known: tuple[Any, ...]

    def __add__(self, other: _Each) -> _Each:
        return _Each(tuple(map(add, self.known, other.known)))


Judge = Callable[[Floats, Floats, int], tuple[Floats, Floats, Floats]]
"""(X, y, their fold) → (in-sample losses (models, rows), left-out losses, distances of y from the mean of all)."""


class Group(ABC):
    """Settings that share their statistics; picklable.

    Attributes
    ----------
    places : their positions.
    leaves_rows_out : whether rows can be left out one by one.
    """

    places: Rows
    leaves_rows_out: bool = True

    @abstractmethod
    def statistics(self, X: Floats, y: Floats) -> Any:
        """What is known of some rows; it adds up."""

    @abstractmethod
    def judge(self, whole: Any, outside: Sequence[Any] | None) -> Judge:
        """How to judge rows, given what is known of all, and of those outside each fold; None for single rows."""

    @abstractmethod
    def learned(self, model: Any, place: int, whole: Any) -> Any:
        """A model as scikit-learn would have fitted it to all rows."""


def lazy_search(
    estimator: BaseEstimator, settings: Sequence[dict[str, Any]], table: LazyTable, criterion: Criterion, loss: Any
) -> LazySearch:
    """Every setting of an estimator, judged on a table that is read twice.

    Parameters
    ----------
    settings : parameters of each candidate.
    loss : as in `outsample.estimate`; squared error and r2, or losses of single rows and the accuracy of classifiers.
    """
    return LazySearch(estimator, settings, table, criterion, loss)


class LazySearch:
    """Every setting of an estimator, judged on a table that is read twice; see `lazy_search`.

    Attributes
    ----------
    loss : what a prediction costs.
    path : the word for what served.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        settings: Sequence[dict[str, Any]],
        table: LazyTable,
        criterion: Criterion,
        loss: Any,
    ) -> None:
        self._settings, self._table, self._criterion = list(settings), table, criterion
        self._models = [with_params(estimator, setting) for setting in self._settings]
        of_classes = is_classifier(estimator)
        n_folds = _number_of_folds(criterion, of_classes)
        X, y = table.head()
        if of_classes:
            if isinstance(loss, np.ndarray | list):
                raise ValueError(in_memory_only("a loss matrix"))
            # The first rows need not have every class, and what a loss is does not depend on them.
            y, self.path = np.arange(len(X)) % 2, "ClassSums"
            make = _class_groups
        else:
            self.path, make = "Moments", _linear_groups
        self.loss: Loss = ask(with_params(estimator, self._settings[0]), X, y, loss=loss).loss
        self._groups: Sequence[Group] = make(self._models, X, y, self.loss)
        if n_folds is None and not all(group.leaves_rows_out for group in self._groups):
            if not isinstance(criterion, Auto):
                raise ValueError(
                    f"{in_memory_only(f'leave-one-out of {type(self._models[0]).__name__}')}. Served without it are "
                    "consecutive folds, KFold"
                )
            n_folds = FOLDS
        if n_folds is not None and not 2 <= n_folds <= table.n_rows:
            raise ValueError(f"cv={n_folds} asks for more folds than X has rows; use at most {table.n_rows}")
        self._n_folds = n_folds

    def outcome(self, rule: Rule) -> Outcome:
        """The curve over all settings, simplest first where that is known, and the choice of the rule."""
        start = time.perf_counter()
        bounds = _bounds(self._table.n_rows, self._n_folds)
        known: dict[int, _Each] = self._table.joined(_joined, _over_folds, bounds, _Statistics(self._groups))
        folds = [known[k].known for k in sorted(known)]
        self._whole = [reduce(add, parts) for parts in zip(*folds, strict=True)]
        outside: list[Any] = [None] * len(self._groups)
        if self._n_folds is not None:
            outside = [sums_of_others(parts) for parts in zip(*folds, strict=True)]
        judges = [group.judge(*own) for group, *own in zip(self._groups, self._whole, outside, strict=True)]
        sums: dict[int, LossSums] = self._table.joined(_joined, _over_folds, bounds, _Losses(judges))
        order = self._order()
        curve = self._curve([sums[k] for k in sorted(sums)], time.perf_counter() - start).take(order)
        return Outcome(curve, order, choice(curve, order, self._criterion, rule))

    def refitted(self, position: int) -> Any:
        """The estimator with one of the settings, fitted to all rows: what scikit-learn would have learned of them."""
        (g,) = (g for g, group in enumerate(self._groups) if position in group.places)
        group = self._groups[g]
        place = int(np.flatnonzero(group.places == position)[0])
        model = group.learned(self._models[position], place, self._whole[g])
        first, last = (model.steps[0][1], model.steps[-1][1]) if isinstance(model, Pipeline) else (model, model)
        for step in (first, last) if isinstance(first, StandardScaler) else (last,):
            step.n_features_in_ = self._table.n_columns
        if self._table.names is not None:
            first.feature_names_in_ = np.array(self._table.names, dtype=object)
        return model

    def _curve(self, sums: Sequence[LossSums], seconds: float) -> RiskCurve:
        n, total = self._table.n_rows, reduce(add, sums)
        back = np.argsort(np.concatenate([group.places for group in self._groups]), kind="stable")
        in_sample = self._risk(total.inside, total)[back]
        risks = np.stack([self._risk(own.outside, own)[back] for own in sums])
        sizes = np.array([own.rows for own in sums], dtype=np.intp)
        if self._n_folds is None:
            out_sample, name, table = risks[0], "loo", LeftOut(None)
            spread = self._variance_over_rows(total)[back]
            more: dict[str, Any] = {"standard_error": np.sqrt(spread / (n - 1)), "freedom": n - 1}
            meaning = f"averaged over fits to {n - 1} of {n} rows"
        else:
            out_sample, name = np.ascontiguousarray(risks.T).mean(axis=1), "kfold"
            error = risks.std(axis=0, ddof=1) * np.sqrt(self._error_factor(sizes))
            more = {"standard_error": error, "freedom": len(sizes) - 1}
            meaning = f"averaged over fits to {np.mean(1 - sizes / n):.0%} of the rows"
            table = LeftOut(None, fold_risks=risks, fold_sizes=sizes)
        note = f'criterion "auto" took "{name}" because sums over rows give it without refitting.'
        # The correction of Nadeau & Bengio has a factor of its own.
        corrected = getattr(self._criterion, "error", "naive") == "nadeau-bengio"
        return RiskCurve(
            complexity=np.arange(len(self._settings), dtype=np.float64),
            params=self._settings,
            in_sample=in_sample,
            optimism=out_sample - in_sample,
            out_sample=out_sample,
            loss=self.loss,
            criterion=name,
            estimand=f"{self.loss.on_new_data}, {meaning}",
            n_fits=1,
            n_samples=n,
            seconds=seconds,
            path=self.path,
            ordered=False,
            left_out=table,
            scale=total.spread / total.rows if self.loss.quadratic else 0.0,
            variance_factor=None if corrected else np.array([variance_factor(model) for model in self._models]),
            notes=(note,) if isinstance(self._criterion, Auto) else (),
            **more,
        )

    def _risk(self, losses: Floats, of: LossSums) -> Floats:
        """Risk from sums of losses over these rows, (models,); the accuracy is one minus zero-one loss."""
        if self.loss.name == "r2":
            return np.asarray(losses / of.spread - 1.0)
        best = self.loss.range[0] if self.loss.name == "accuracy" else 0.0
        return np.asarray(best + losses / of.rows)

    def _variance_over_rows(self, sums: LossSums) -> Floats:
        """Variance over rows, ÷ n, of the left-out losses, or of the influences on r2, (models,).

        To first order a row moves 1 − r2 = m/b, the mean loss over the variance of labels, by (l − m c/b)/b, with l its
        loss and c the squared distance of its label from their mean.
        """
        n, losses = sums.rows, sums.outside / sums.rows
        spread = sums.squares / n - np.square(losses)
        if self.loss.name == "r2":
            base = sums.spread / n
            share = losses / base
            shared, of_labels = sums.products / n - losses * base, sums.fourths / n - base**2
            spread = (spread - 2 * share * shared + np.square(share) * of_labels) / base**2
        return np.asarray(np.maximum(spread, 0.0))

    def _error_factor(self, sizes: Rows) -> float:
        overlap = getattr(self._criterion, "error", "naive") == "nadeau-bengio"
        return 1 / len(sizes) + (float(np.mean(sizes / (sizes.sum() - sizes))) if overlap else 0.0)

    def _order(self) -> Rows:
        """The settings simplest first, where one parameter alone differs and has a natural order."""
        names, first = {name for setting in self._settings for name in setting}, self._settings[0]
        fixed = {name for name in names if all(_same(s.get(name), first.get(name)) for s in self._settings)}
        if len(names := names - fixed or names) == 1:
            (name,) = names
            complexity, ordered = complexity_of(name, [setting[name] for setting in self._settings])
            if ordered:
                return simplest_first(complexity)
        return np.arange(len(self._settings))


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter, which may be arrays, are equal."""
    return np.array_equal(one, other)


def _bounds(n: int, n_folds: int | None) -> Rows:
    """First rows of the folds, and n: one fold where rows are left out one by one."""
    sizes = np.full(n_folds or 1, n // (n_folds or 1))
    sizes[: n % (n_folds or 1)] += 1
    return np.concatenate([[0], np.cumsum(sizes)])


def _number_of_folds(criterion: Criterion, of_classes: bool) -> int | None:
    """Number of consecutive folds; None where rows are left out one by one.

    A number stands for folds with equal shares of the classes where there are any, which are not consecutive.
    """
    plain = not getattr(criterion, "keep_predictions", False)
    if plain and (isinstance(criterion, Auto) or (isinstance(criterion, LeaveOneOut) and criterion.budget is None)):
        return None
    if plain and isinstance(criterion, CrossValidation) and not criterion.shuffle:
        cv: Any = 5 if criterion.cv is None else criterion.cv
        if type(cv) is KFold and not cv.shuffle:
            return int(cv.n_splits)
        if isinstance(cv, int | np.integer) and not of_classes:
            return int(cv)
    raise ValueError(
        f"{in_memory_only(f'criterion {criterion.name!r} with these settings')}. Served without it are "
        '"auto", "loo" and CrossValidation with consecutive folds, KFold'
    )


def _over_folds(X: Floats, y: Floats, start: int, bounds: Rows, work: Callable[..., Any]) -> dict[int, Any]:
    """Sums of what the work says of the rows of a block, by fold; a few rows at a time."""
    found: dict[int, Any] = {}
    edges = np.clip(bounds - start, 0, len(y)).tolist()
    with one_blas_thread:
        for k, (begin, end) in enumerate(pairwise(edges)):
            for first in range(begin, end, AT_ONCE):
                rows = slice(first, min(first + AT_ONCE, end))
                own = work(X[rows], y[rows], k)
                found[k] = found[k] + own if k in found else own
    return found


def _joined(first: dict[int, Any] | None, second: dict[int, Any] | None) -> dict[int, Any] | None:
    """The sums of two blocks; None for those without rows."""
    if first is None or second is None:
        return first if second is None else second
    both = {k: first[k] + second[k] for k in first.keys() & second.keys()}
    return first | second | both


@dataclass(frozen=True)
class _Statistics:
    groups: Sequence[Group]

    def __call__(self, X: Floats, y: Floats, fold: int) -> _Each:
        return _Each(tuple(group.statistics(X, y) for group in self.groups))


@dataclass(frozen=True)
class _Losses:
    judges: Sequence[Judge]

    def __call__(self, X: Floats, y: Floats, fold: int) -> LossSums:
        inside, outside, distances = zip(*(judge(X, y, fold) for judge in self.judges), strict=True)
        return LossSums.of(np.concatenate(inside), np.concatenate(outside), distances[0])


@dataclass(frozen=True, eq=False)
class _ByLabel:
    """Statistics of classes, with the labels that occur."""

    labels: Array
    statistics: Statistics

    def among(self, labels: Array) -> Statistics:
        """The statistics as those of more labels."""
        return self.statistics.among(np.searchsorted(labels, self.labels), len(labels))

    def __add__(self, other: _ByLabel) -> _ByLabel:
        labels = np.union1d(self.labels, other.labels)
        return _ByLabel(labels, self.among(labels) + other.among(labels))


def _class_groups(models: Sequence[Any], X: Floats, y: Array, loss: Loss) -> list[Group]:
    """Settings of classifiers that differ in the value of one parameter only."""
    name = str(models[0]).replace("\n", " ")
    parameter = _ALONG.get(type(models[0]), "")
    paths: dict[str, list[int]] = {}
    for i, model in enumerate(models):
        path = find_path(model)
        if not parameter or not isinstance(path, ClassPath) or not path.accepts(getattr(model, parameter)):
            served = ", ".join(kind.__name__ for kind in _ALONG)
            raise TypeError(f"{in_memory_only(str(model).replace(chr(10), ' '))}. Served without it are {served}")
        others = {key: value for key, value in model.get_params().items() if key != parameter}
        paths.setdefault(fingerprint(sorted(others.items())), []).append(i)
    if loss.name == "accuracy":
        loss = ZeroOneLoss()
    elif not loss.per_row or loss.responses[0] not in ("predict", "predict_proba"):
        raise ValueError(
            f"{in_memory_only(f'loss {loss.name!r}')}. Served without it are losses of single rows and accuracy"
        )
    groups: list[Group] = []
    for places in paths.values():
        values = [getattr(models[i], parameter) for i in places]
        # A path sorts its values.
        order = simplest_first(complexity_of(parameter, values)[0])
        path = find_path(models[places[0]])
        assert isinstance(path, ClassPath)
        known = type(path)(models[places[0]], parameter, values).models(X)
        if any(np.ndim(value) and len(value) != X.shape[1] for value in values):
            raise ValueError(f"{parameter} must be a number, or one per column of X, which has {X.shape[1]}")
        if known is None:
            raise ValueError(in_memory_only(f"{name} with these settings for a table of {X.shape[1]} columns"))
        groups.append(_ClassGroup(np.array(places)[order], known, loss, name))
    return groups


@dataclass(frozen=True, eq=False)
class _ClassGroup(Group):
    """Settings of a classifier along one parameter."""

    places: Rows
    models: ClassModels
    loss: Loss
    name: str

    @property
    def leaves_rows_out(self) -> bool:  # type: ignore[override]
        return self.models.leaves_rows_out

    def read(self, X: Floats) -> Any:
        """Rows as the models read them."""
        table = self.models.read(X)
        if table is None:
            if (X < 0).any() and not hasattr(self.models, "threshold"):
                raise ValueError(f"X contains negative values, which are no counts or categories for {self.name}")
            raise ValueError(in_memory_only(f"{self.name} of X with numbers such as {X.max():g}"))
        return table

    def statistics(self, X: Floats, y: Floats) -> _ByLabel:
        labels, codes = np.unique(y, return_inverse=True)
        return _ByLabel(labels, self.models.statistics(self.read(X), codes, len(labels), None))

    def judge(self, whole: _ByLabel, outside: Sequence[_ByLabel] | None) -> Judge:
        labels = whole.labels
        if len(labels) < 2:
            raise ValueError(f"y holds one class only: {labels[0]:g}")
        if not self.models.serves(len(labels)):
            more = " that add up to one" if self.models.sum_to_one else ""
            given = "priors" if self.models.sum_to_one else "class_prior"
            raise ValueError(f"{given} must be {len(labels)} positive numbers{more}, got {self.models.priors!r}")
        if (whole.statistics.weight < 2).any():
            raise ValueError(in_memory_only("a class of a single row"))
        others = None if outside is None else [own.among(labels) for own in outside]
        if others is not None and any((own.weight < 2).any() for own in others):
            raise ValueError(in_memory_only("a class of fewer than two rows outside one of the folds"))
        return _ClassJudge(self, labels, whole.statistics, others)

    def learned(self, model: Any, place: int, whole: _ByLabel) -> Any:
        alone = find_path(model)
        assert isinstance(alone, ClassPath)
        origin = self.models.origin if isinstance(self.models, CentredModels) else np.zeros(self.models.n_columns)
        models = alone.models(origin[None])
        assert models is not None
        model = models.learned(model, whole.statistics)
        are_whole = bool((whole.labels == np.round(whole.labels)).all())
        model.classes_ = whole.labels.astype(np.intp) if are_whole else whole.labels
        return model


@dataclass(frozen=True, eq=False)
class _ClassJudge:
    """Judges rows of classes, see `Judge`."""

    group: _ClassGroup
    labels: Array
    whole: Statistics
    outside: Sequence[Statistics] | None

    def __call__(self, X: Floats, y: Floats, fold: int) -> tuple[Floats, Floats, Floats]:
        models, loss = self.group.models, self.group.loss
        rows, codes, response = self.group.read(X), np.searchsorted(self.labels, y), loss.responses[0]
        with np.errstate(all="ignore"):
            inside = models.scorer(self.whole, response)(rows)
            if self.outside is None:
                outside = models.left_out_scorer(self.whole, response)(rows, codes, np.ones(len(codes)))
            else:
                outside = models.scorer(self.outside[fold], response)(rows)
        unknown = ~np.isfinite(inside + outside).all(axis=(0, 1))
        if unknown.any():
            raise ValueError(
                in_memory_only(
                    f"{self.group.name}, ill-posed for {int(unknown.sum())} rows, be it that columns are dependent or "
                    "that no training row has their largest category,"
                )
            )
        found = [loss.pointwise(codes, answers_of(s, response, models.binary_link)) for s in (inside, outside)]
        return found[0], found[1], np.zeros(len(codes))


def _linear_groups(models: Sequence[Any], X: Floats, y: Array, loss: Loss) -> list[Group]:
    """Settings of least squares or ridge that share an intercept and what a scaler does."""
    if not loss.quadratic and loss.name not in ("r2", "neg_mean_squared_error"):
        raise ValueError(f'{in_memory_only(f"loss {loss.name!r}")}. Served without it are "squared" and "r2"')
    kinds: dict[tuple[bool, bool], list[int]] = {}
    for i, model in enumerate(models):
        *before, last = _steps_of(model)
        ridge = type(last) is Ridge and last.solver in DIRECT_SOLVERS and np.ndim(last.alpha) == 0 and last.alpha >= 0
        plain = (ridge or type(last) is LinearRegression) and not last.positive
        scaler = before[0] if before else None
        if not plain or len(before) > 1 or (before and type(scaler) is not StandardScaler):
            raise TypeError(f"{in_memory_only(str(model).replace(chr(10), ' '))}. Served without it are {_LINEAR}")
        if scaler is not None and scaler.with_mean and not last.fit_intercept:
            raise TypeError(in_memory_only("a scaler that subtracts means before a fit without an intercept"))
        scaled = scaler is not None and bool(scaler.with_std)
        kinds.setdefault((scaled, bool(last.fit_intercept)), []).append(i)
    origin = X.mean(axis=0), float(y.mean())
    alphas = np.array([float(getattr(_steps_of(model)[-1], "alpha", 0.0)) for model in models])
    return [_LinearGroup(np.array(places), alphas[places], *kind, *origin) for kind, places in kinds.items()]


def _steps_of(model: Any) -> list[Any]:
    """The steps of a pipeline that do something, or the learner alone."""
    steps = [step for _, step in model.steps] if type(model) is Pipeline else [model]
    steps = [step for step in steps if step not in (None, "passthrough")]
    others = [f"{type(step).__name__}({name}=…)" for step in steps for name in unknown_settings(step)]
    if others:
        raise TypeError(in_memory_only(others[0]))
    return steps


@dataclass(frozen=True, eq=False)
class _LinearGroup(Group):
    """Ridge fits along `alpha`, which is zero for least squares."""

    places: Rows
    alphas: Floats
    scaled: bool
    intercept: bool
    origin: Floats
    level: float

    def statistics(self, X: Floats, y: Floats) -> Moments:
        return Moments.of(X - self.origin, y[:, None] - self.level)

    def judge(self, whole: Moments, outside: Sequence[Moments] | None) -> Judge:
        mean = self.level + float(whole.y[0] / whole.weight)
        return _LinearJudge(self._fits(whole), None if outside is None else [self._fits(own) for own in outside], mean)

    def _fits(self, moments: Moments) -> RidgeOfMoments:
        fits = RidgeOfMoments.of(moments, self.scaled, self.intercept, self.alphas, self.origin, self.level)
        if not fits.sound:
            raise ValueError(
                in_memory_only("a model whose columns are linearly dependent, nearly or too many for its penalty,")
            )
        return fits

    def learned(self, model: Any, place: int, whole: Moments) -> Any:
        fits, (*before, learner) = self._fits(whole), _steps_of(model)
        centre = fits.at
        for scaler in before:
            scaler.mean_, scaler.n_samples_seen_ = fits.mean, int(fits.n)
            scaler.var_ = fits.variance if scaler.with_std else None
            scaler.scale_ = np.where(fits.variance > 0, np.sqrt(fits.variance), 1.0) if scaler.with_std else None
            centre = (fits.at - (scaler.mean_ if scaler.with_mean else 0.0)) / fits.scale
        learner.coef_ = fits.coefficients[place, :, 0]
        learner.intercept_ = float(fits.level[0] - learner.coef_ @ centre) if self.intercept else 0.0
        if isinstance(learner, Ridge):
            learner.n_iter_, learner.solver_ = None, "cholesky"
        else:
            learner.rank_, learner.singular_ = len(fits.live), np.sqrt(np.maximum(fits.solved.values[::-1], 0.0))
        return model


@dataclass(frozen=True, eq=False)
class _LinearJudge:
    """Judges rows with numbers for labels, see `Judge`."""

    whole: RidgeOfMoments
    outside: Sequence[RidgeOfMoments] | None
    mean: float

    def __call__(self, X: Floats, y: Floats, fold: int) -> tuple[Floats, Floats, Floats]:
        if self.outside is None:
            outside, lost = self.whole.left_out(X, y[:, None], np.ones(len(y)))
            if lost:
                raise ValueError(in_memory_only(f"a fit that {lost} rows, each alone, nearly determine"))
        else:
            outside = self.outside[fold].predictions(X)
        inside = self.whole.predictions(X)
        return np.square(y - inside[:, :, 0]), np.square(y - outside[:, :, 0]), y - self.mean
