"""Statistics of a permutation test: functions of the labels with X fixed, larger where labels say more about X.

Every fit uses the same seed, so that a statistic is a function of the labels alone and all arrangements of the labels
are treated alike. This makes the p-value valid for any statistic; the choice affects power only. An in-sample score has
no power for a learner that fits any labels, so scores are cross-validated unless asked otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from outsample.data.learners import fit, last_step, seeded
from outsample.data.samples import OwnLabels
from outsample.data.tables import Table, lend
from outsample.evidence.rows import evidence_of_folds, split_seed
from outsample.losses.base import Loss
from outsample.losses.choice import LossLike, n_required_arguments
from outsample.losses.pointwise import CallableLoss
from outsample.losses.whole_set import SetLoss
from outsample.problem import Problem, pose
from outsample.resampling.rows import FoldsLike, Splits, cross_validation_splits
from outsample.running.arrays import Array, Floats
from outsample.running.run import RandomState, child_integer, seed_sequence

# Bytes that the predictions of one batch of draws may take.
MEMORY = 256 * 2**20

IN_SAMPLE = "in-sample"
FOLDS = 3
"""Number of folds unless asked otherwise: few, because every permutation needs a fit per fold."""


class Statistic(Protocol):
    """A statistic of label vectors.

    Attributes
    ----------
    name : what it is, in words.
    labels : (n[, outputs]) the labels that are permuted, as class codes or numbers.
    batch : number of label vectors to pass in one call; 1 where each is better given to a worker.
    """

    name: str
    labels: Array
    batch: int

    def __call__(self, Y: Array) -> Floats:
        """The statistic of every label vector of Y, (draws,)."""

    def saturation(self, usual: float) -> float | None:
        """`usual`, the mean statistic over permuted labels, on a scale where a constant guess is 0 and a perfect fit 1.

        None where that is not known, or where the statistic cannot saturate.
        """


def choose_statistic(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    statistic: LossLike,
    cv: FoldsLike,
    groups: ArrayLike | None,
    random_state: RandomState,
) -> Statistic:
    """The statistic that a user's argument stands for: a name, a loss, a scorer or a function.

    A function of two arguments is called with (X, y) where there is no estimator, and is a loss of (y, prediction)
    where there is one. A function of three arguments is called with (fitted estimator, X, y).
    """
    _check_cv(cv)
    function = FUNCTIONS.get(statistic) if isinstance(statistic, str) else statistic
    if estimator is None and not callable(function):
        raise ValueError("without an estimator, statistic must be a function of (X, y)")
    if callable(function) and (estimator is None or n_required_arguments(function) >= 3):
        seed = child_integer(seed_sequence(random_state), 0)
        folds = None if isinstance(cv, str) else cv
        return FunctionStatistic(function, estimator, X, y, cv=folds, groups=groups, seed=seed)
    return score_of(pose(estimator, X, y, loss=statistic, groups=groups, random_state=random_state), cv)


def score_of(problem: Problem, cv: FoldsLike) -> Statistic:
    """The score of a problem's learner, in-sample or cross-validated."""
    _check_cv(cv)
    return InSample(problem) if isinstance(cv, str) else CrossValidated(problem, cv)


def _score_in_words(loss: Loss) -> str:
    """What the score of a loss is, greater being better: a scorer by its name, minus an error."""
    if loss.name == "zero-one":
        return "accuracy"
    scored = float(loss.reported(0.25)) != 0.25
    errors = {"squared": "squared error", "absolute": "absolute error", "log": "log loss"}
    return loss.name if scored else f"score (minus {errors.get(loss.name, loss.name)})"


def _check_cv(cv: FoldsLike) -> None:
    if isinstance(cv, str) and cv != IN_SAMPLE:
        raise ValueError(f'cv must be None, "{IN_SAMPLE}", a number of folds or a splitter, got {cv!r}')


class InSample:
    """In-sample score of a learner; everything that depends on X alone is computed once, in the problem's design."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.labels = problem, problem.y
        self.name = f"in-sample {_score_in_words(problem.loss)} of {type(last_step(problem.path.estimator)).__name__}"
        design = problem.design
        per_draw = 8 * design.n_samples * (problem.fitted_width + 1)
        self.batch = max(1, MEMORY // per_draw) if design.batched else 1

    def __call__(self, Y: Array) -> Floats:
        problem, loss = self.problem, self.problem.loss
        seeds = [problem.real_seed] * len(Y)
        if problem.statistic == "confusion":
            risk = loss.risk_and_crossed_mean(problem.design.confusions(Y, seeds), problem.y)[0]
        elif problem.statistic == "moments" and Y.ndim == 2 and not loss.fixed_labels:
            risk = problem.design.moments(Y, float(problem.y.mean()), seeds)[..., 0]
        else:
            risk = loss.risk(Y[:, None], problem.design.fitted(Y, problem.response, seeds), problem.weight)
        return np.array([loss.score(float(r)) for r in risk[:, 0]])

    def saturation(self, usual: float) -> float | None:
        loss = self.problem.loss
        if isinstance(loss, SetLoss | CallableLoss):
            return None
        guess, perfect = float(loss.score(loss.scale(self.labels))), float(loss.score(0.0))
        return (usual - guess) / (perfect - guess) if perfect > guess else None


class CrossValidated:
    """Mean score over left-out folds, which may depend on labels and are made for every label vector from one seed."""

    batch = 1

    def __init__(self, problem: Problem, cv: FoldsLike) -> None:
        self.problem, self.cv, self.labels = problem, cv, problem.y
        learner = type(last_step(problem.path.estimator)).__name__
        self.name = f"cross-validated {_score_in_words(problem.loss)} of {learner}"
        splits = self._splits(problem.y)
        if cv is not None:
            splits.warn()

    def _splits(self, y: Array) -> Splits:
        problem = self.problem
        return cross_validation_splits(
            _default_cv(problem, y) if self.cv is None else self.cv,
            problem.X,
            y,
            classifier=problem.target.classes is not None,
            groups=problem.groups,
            seed=split_seed(problem),
        )

    def __call__(self, Y: Array) -> Floats:
        return np.array([self._score(y) for y in Y])

    def _score(self, y: Array) -> float:
        splits = self._splits(y)
        drawn = self.problem.relabelled(y)
        risks = evidence_of_folds(drawn, splits, partition=splits.partition(len(y))).fold_risks
        return float(self.problem.loss.score(float(risks[:, 0].mean())))

    def saturation(self, usual: float) -> float | None:
        return None


def _default_cv(problem: Problem, y: Array) -> Any:
    """Three folds of shuffled rows: of whole groups where there are groups, else stratified for classes."""
    n_groups = 0 if problem.groups is None else len(np.unique(problem.groups))
    if n_groups > 1:
        return min(FOLDS, n_groups)
    largest = 0 if problem.target.classes is None else int(np.bincount(y).max())
    splitter, n_folds = (StratifiedKFold, min(FOLDS, largest)) if largest > 1 else (KFold, FOLDS)
    return splitter(n_folds, shuffle=True, random_state=split_seed(problem))


class FunctionStatistic:
    """A user's function of (X, y), or of (fitted estimator, X, y); with cv the latter is the scorer of every fold."""

    batch = 1

    def __init__(
        self,
        function: Callable[..., Any],
        estimator: BaseEstimator,
        X: Table,
        y: ArrayLike,
        *,
        cv: FoldsLike,
        groups: ArrayLike | None,
        seed: int,
    ) -> None:
        self.function, self.X, self.cv, self.groups = function, X, cv, groups
        self.estimator = None if estimator is None else seeded(estimator, seed)
        self.own = OwnLabels(y)
        self.labels = self.own.codes
        self.name = getattr(function, "__name__", type(function).__name__)

    def __call__(self, Y: Array) -> Floats:
        return np.array([self._value(self.own.labels_of(codes)) for codes in Y])

    def _value(self, y: Any) -> float:
        if self.estimator is None:
            value = lend(self.function, self.function, self.X, y)
        elif self.cv is not None:
            scored = {"cv": self.cv, "groups": self.groups, "scoring": self.function}
            value = cross_val_score(self.estimator, self.X, y, **scored).mean()
        else:
            model = fit(seeded(self.estimator, None), self.X, y)
            value = lend(self.function, partial(self.function, model), self.X, y)
        number = np.asarray(value)
        if number.ndim != 0 or number.dtype.kind not in "fiub":
            raise ValueError(f"statistic {self.name} must return one number, it returned {value!r}")
        return float(number)

    def saturation(self, usual: float) -> float | None:
        return None


def coefficient_norm(model: BaseEstimator, X: Table, y: ArrayLike) -> float:
    """‖β̂‖² of a fitted linear model."""
    coefficients = getattr(last_step(model), "coef_", None)
    if coefficients is None:
        raise ValueError(f'statistic "coefficient-norm" needs a linear model, {type(model).__name__} has no coef_')
    return float((np.asarray(coefficients) ** 2).sum())


def best_score(search: BaseEstimator, X: Table, y: ArrayLike) -> float:
    """The score that a search reports for the model it chose; greater is better."""
    if not hasattr(search, "best_score_"):
        raise ValueError(f'statistic "best-score" needs a search, {type(search).__name__} has no best_score_')
    return float(search.best_score_)


FUNCTIONS: dict[str, Callable[..., Any]] = {"coefficient-norm": coefficient_norm, "best-score": best_score}
