"""Searches over tables that do not fit into memory, for learners whose sufficient statistics add up over rows.

One pass over the blocks of rows sums up the statistics, a second one the losses of every model on rows left out: single
rows, or consecutive folds. The model refitted to all rows is known from the same statistics.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from outsample.criteria.auto import Auto
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
from outsample.paths.order import complexity_of, simplest_first
from outsample.questions.contest import Outcome, choice
from outsample.running.arrays import Floats, Rows

# Rows of a block that are judged together.
AT_ONCE = 8192


def lazy_search(
    estimator: BaseEstimator, settings: Sequence[dict[str, Any]], table: LazyTable, criterion: Criterion, loss: Any
) -> LazySearch:
    """Every setting of an estimator, judged on a table that is read twice.

    Parameters
    ----------
    settings : parameters of each candidate.
    loss : as in `outsample.estimate`; squared error and r2, or losses of single rows and the accuracy of classifiers.
    """
    from outsample.questions.lazy_classes import ClassSearch
    from outsample.questions.lazy_ridge import RidgeSearch

    kind: type[LazySearch] = ClassSearch if is_classifier(estimator) else RidgeSearch
    return kind(estimator, settings, table, criterion, loss)


@dataclass(frozen=True, eq=False)
class Judged:
    """What the second pass says of all settings.

    Attributes
    ----------
    in_sample : (models,) risk on the rows fitted.
    fold_risks : (folds, models) risk on the rows left out, fold by fold; one row where single rows are left out.
    fold_sizes : (folds,) their rows.
    spread : (models,) variance over rows, ÷ n, of the left-out losses or influences.
    scale : see `RiskCurve`.
    """

    in_sample: Floats
    fold_risks: Floats
    fold_sizes: Rows
    spread: Floats
    scale: float = 0.0


class LazySearch(ABC):
    """Every setting of an estimator, judged on a table that is read twice; see `lazy_search`.

    Attributes
    ----------
    loss : what a prediction costs.
    path : the word for what served.
    """

    loss: Loss
    path: ClassVar[str]

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
        self._n_folds = _number_of_folds(criterion, is_classifier(estimator))
        if self._n_folds is not None and not 2 <= self._n_folds <= table.n_rows:
            raise ValueError(f"cv={self._n_folds} asks for more folds than X has rows; use at most {table.n_rows}")

    @abstractmethod
    def _judged(self, bounds: Rows) -> Judged:
        """Both passes; `bounds` are the first rows of the folds, and n."""

    @abstractmethod
    def refitted(self, position: int) -> Any:
        """The estimator with one of the settings, fitted to all rows: what scikit-learn would have learned of them."""

    def outcome(self, rule: Rule) -> Outcome:
        """The curve over all settings, simplest first where that is known, and the choice of the rule."""
        start = time.perf_counter()
        judged = self._judged(_bounds(self._table.n_rows, self._n_folds))
        order = self._order()
        curve = self._curve(judged, time.perf_counter() - start).take(order)
        return Outcome(curve, order, choice(curve, order, self._criterion, rule))

    def _curve(self, judged: Judged, seconds: float) -> RiskCurve:
        n, risks, sizes = self._table.n_rows, judged.fold_risks, judged.fold_sizes
        if self._n_folds is None:
            out_sample, name, table = risks[0], "loo", LeftOut(None)
            more: dict[str, Any] = {"standard_error": np.sqrt(judged.spread / (n - 1)), "freedom": n - 1}
            meaning = f"averaged over fits to {n - 1} of {n} rows"
        else:
            out_sample, name = np.ascontiguousarray(risks.T).mean(axis=1), "kfold"
            error = risks.std(axis=0, ddof=1) * np.sqrt(self._error_factor(sizes))
            more = {"standard_error": error, "freedom": len(sizes) - 1}
            meaning = f"averaged over fits to {np.mean(1 - sizes / n):.0%} of the rows"
            table = LeftOut(None, fold_risks=risks, fold_sizes=sizes)
        note = f'criterion "auto" took "{name}" because sums over rows give it without refitting.'
        return RiskCurve(
            complexity=np.arange(len(self._settings), dtype=np.float64),
            params=self._settings,
            in_sample=judged.in_sample,
            optimism=out_sample - judged.in_sample,
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
            scale=judged.scale,
            variance_factor=self._variance_factors(),
            notes=(note,) if isinstance(self._criterion, Auto) else (),
            **more,
        )

    def _variance_factors(self) -> Floats | None:
        """See `RiskCurve.variance_factor`; the correction of Nadeau & Bengio has its own."""
        if getattr(self._criterion, "error", "naive") == "nadeau-bengio":
            return None
        return np.array([variance_factor(model) for model in self._models])

    def _error_factor(self, sizes: Rows) -> float:
        overlap = getattr(self._criterion, "error", "naive") == "nadeau-bengio"
        return 1 / len(sizes) + (float(np.mean(sizes / (sizes.sum() - sizes))) if overlap else 0.0)

    def _order(self) -> Rows:
        """The settings simplest first, where one parameter alone differs and has a natural order."""
        names, first = {name for setting in self._settings for name in setting}, self._settings[0]
        fixed = {name for name in names if all(_same(own.get(name), first.get(name)) for own in self._settings)}
        if len(names := names - fixed or names) == 1:
            (name,) = names
            complexity, ordered = complexity_of(name, [setting[name] for setting in self._settings])
            if ordered:
                return simplest_first(complexity)
        return np.arange(len(self._settings))


def _same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter, which may be arrays, are equal."""
    return np.array_equal(one, other)


def rows_by_fold(bounds: Rows, start: int, length: int) -> list[tuple[int, slice]]:
    """(fold, its rows in a block) of every fold that has any, for a block that begins at row `start`."""
    first = np.clip(bounds[:-1] - start, 0, length)
    last = np.clip(bounds[1:] - start, 0, length)
    return [(k, slice(int(a), int(b))) for k, (a, b) in enumerate(zip(first, last, strict=True)) if b > a]


def added_by_fold(results: Sequence[dict[int, Any] | None]) -> list[Any]:
    """Results of blocks, added up by fold."""
    known = [result for result in results if result is not None]
    folds = sorted({k for result in known for k in result})
    return [reduce(add, [result[k] for result in known if k in result]) for k in folds]


def steps_of(model: Any) -> list[Any]:
    """The steps of a pipeline that do something, or the learner alone."""
    steps = [step for _, step in model.steps] if type(model) is Pipeline else [model]
    steps = [step for step in steps if step not in (None, "passthrough")]
    strangers = [f"{type(step).__name__}({name}=…)" for step in steps for name in unknown_settings(step)]
    if strangers:
        raise TypeError(in_memory_only(strangers[0]))
    return steps


def keep_names(model: Any, table: LazyTable) -> None:
    """Write the names of the columns into a fitted model, as scikit-learn keeps them."""
    if table.names is not None:
        model.feature_names_in_ = np.array(table.names, dtype=object)


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
