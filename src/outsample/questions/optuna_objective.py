"""Which parameters, if optuna proposes them? An objective whose trials report fold after fold, and a pruner for it.

optuna suggests one setting after the other. Each is fitted to the same folds, and the mean score so far is reported
after every fold, so that any of optuna's pruners may end a trial early. `PairedPruner` compares the losses of the very
same rows with those of the best trial, which tells two settings apart after far fewer folds than their mean scores do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator

from outsample.criteria.cross_validation import CrossValidation
from outsample.curve.intervals import error_of_mean, of_units
from outsample.data.learners import check_learner, with_params
from outsample.data.tables import Table
from outsample.evidence.rows import FoldFits, FoldJudge
from outsample.losses.base import weighted_mean
from outsample.losses.choice import LossLike, choose_loss
from outsample.losses.pointwise import SquaredLoss
from outsample.paths.refit import RefitPath
from outsample.problem import Problem, Question, ask
from outsample.resampling.rows import FoldsLike, Splits, is_number_of_folds
from outsample.running.arrays import Array, Floats
from outsample.running.run import RandomState

Space = Mapping[str, Any] | Callable[[Any], dict[str, Any]]
"""Parameter → optuna distribution, or a function from a trial to the parameters it suggests."""

# Scores of whole folds that rank models as their squared errors do: rows are compared by these.
_SCORED_BY_SQUARES = ("r2", "neg_mean_squared_error", "neg_root_mean_squared_error")


def optuna_objective(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    space: Space,
    *,
    scoring: LossLike = None,
    loss: LossLike = None,
    cv: FoldsLike = 10,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: RandomState = None,
) -> OptunaObjective:
    """An objective for `study.optimize` that cross-validates the settings optuna suggests.

    The value of a trial is the mean over folds of the score, greater is better, as `best_score_` of `GridSearch`: the
    study must have direction="maximize". After every fold the mean so far is reported under the number of the fold.

    Parameters
    ----------
    estimator : any scikit-learn compatible classifier, regressor or pipeline; it is cloned, never changed.
    X, y : the data.
    space : dict of parameter → optuna distribution, or a function that takes a trial and returns the parameters.
    scoring, loss : two words for one thing, as in `GridSearch`; by default the estimator's own score. Of a loss, minus
        the mean loss is reported; of zero-one loss, the accuracy.
    cv : number of folds, shuffled, stratified for classifiers, seeded by `random_state` and the same for all trials;
        or any scikit-learn splitter or list of splits.
    sample_weight : one weight per row, used in the fits and in the score.
    groups : rows that belong together, for folds that respect them.
    random_state : seed of the folds, and of learners whose own random state is not set; None as in `estimate`.

    Returns
    -------
    OptunaObjective
        A function of a trial, for `study.optimize`.

    Examples
    --------
    >>> import optuna
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"max_depth": optuna.distributions.IntDistribution(1, 9)}
    >>> objective = optuna_objective(DecisionTreeClassifier(), X, y, space, random_state=0)
    >>> study = optuna.create_study(direction="maximize", pruner=PairedPruner(objective))
    >>> study.optimize(objective, n_trials=3)
    >>> len(study.trials)
    3
    """
    if scoring is not None and loss is not None:
        raise ValueError("scoring and loss say the same thing; give one of them")
    if not callable(space) and not (isinstance(space, Mapping) and space):
        raise ValueError(f"space must be a dict of optuna distributions or a function of a trial, got {space!r}")
    criterion = CrossValidation(cv, shuffle=is_number_of_folds(cv))
    wanted = scoring if loss is None else loss
    check_learner(estimator)
    wanted = criterion.default_loss([estimator]) if wanted is None else wanted
    question = ask(estimator, X, y, loss=wanted, sample_weight=sample_weight, groups=groups, random_state=random_state)
    splits = criterion.splits(question.over(RefitPath.over(estimator, [{}])))
    splits.warn()
    return OptunaObjective(estimator, question, splits, space)


class OptunaObjective:
    """What `optuna_objective` returns: called with a trial, it gives the mean score over the folds.

    It remembers the left-out losses of its trials, those that were pruned included. Threads of one process share them;
    where a study runs in several processes, each knows those of its own trials.

    Attributes
    ----------
    splits : the folds, the same for all trials.
    weight : (n,) weights of the rows, None where all are one.
    groups : (n,) rows that belong together, None where each is alone.
    """

    def __init__(self, estimator: BaseEstimator, question: Question, splits: Splits, space: Space) -> None:
        self.splits, self.weight, self.groups = splits, question.weight, question.groups
        self._estimator, self._question, self._space = estimator, question, space
        self._losses: dict[tuple[str, int], list[Floats]] = {}

    def __call__(self, trial: Any) -> float:
        """The mean score of the setting that the trial suggests; ends early where its study prunes it."""
        from optuna import TrialPruned

        _check_direction(trial)
        problem = self._problem(self._suggested(trial))
        by_squares, squares = problem.loss.name in _SCORED_BY_SQUARES, SquaredLoss(problem.target.n_outputs > 1)
        fits = FoldFits(problem, self.splits.folds, FoldJudge(problem, self.splits), by_squares, 0)
        kept = self._losses[_address(getattr(trial, "study", None), trial.number)] = []
        risks: list[float] = []
        for k, fold in enumerate(self.splits.folds):
            _, risk, losses, *predicted = fits(k)
            if predicted:
                losses = squares.pointwise(problem.y[fold.test], predicted[0])
            risks.append(float(risk[0]))
            kept.append(losses[0] if losses.size else risk)
            trial.report(score := float(problem.loss.score(np.mean(risks))), k)
            if trial.should_prune():
                raise TrialPruned(f"after {k + 1} of {len(self.splits)} folds")
        return score

    def losses(self, trial: Any, study: Any = None) -> Floats:
        """Losses of the rows by fits that had not seen them, (n,); nan where a row was not reached or never left out.

        Rows of a scorer of whole folds have minus the score of their fold plus their influence on it; r2 is read off
        squared errors. Where rows have no influence that can be computed: minus the score of each fold, (folds,).

        Parameters
        ----------
        trial : a trial, or its number.
        study : the study it belongs to; needed where several studies share this objective.
        """
        number = trial if isinstance(trial, int) else trial.number
        names = {name for name, other in self._losses if other == number}
        names &= names if study is None else {study.study_name}
        if len(names) != 1:
            raise ValueError(f"trial {number} is known of {len(names)} studies of this objective, and must be of one")
        kept = self._losses[names.pop(), number]
        if all(len(values) == 1 for values in kept) and len(self.splits.tested) > len(self.splits):
            return np.concatenate(kept)
        placed = np.full(self._question.n_samples, np.nan)
        for k, values in enumerate(kept):
            placed[self.splits.folds[k].test] = values
        return placed

    def folds_of(self, study: Any, number: int) -> list[Floats]:
        """Losses of a trial in each fold that it has reached, each (rows,), or (1,) for scores of whole folds."""
        return self._losses.get(_address(study, number), [])

    def _problem(self, params: dict[str, Any]) -> Problem:
        """The question about the one model that these parameters make."""
        model, question = with_params(self._estimator, params), self._question
        loss, response = choose_loss(question.loss, question.target, model, question.weight is not None)
        return replace(question, loss=loss, response=response).over(RefitPath.over(model, [{}]))

    def _suggested(self, trial: Any) -> dict[str, Any]:
        if callable(self._space):
            return dict(self._space(trial))
        return {name: _suggestion(trial, name, distribution) for name, distribution in self._space.items()}


def _suggestion(trial: Any, name: str, distribution: Any) -> Any:
    """A value of one parameter, suggested by the trial."""
    from optuna import distributions

    if isinstance(distribution, distributions.CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    limits = {"low": distribution.low, "high": distribution.high, "step": distribution.step, "log": distribution.log}
    if isinstance(distribution, distributions.IntDistribution):
        return trial.suggest_int(name, **limits)
    return trial.suggest_float(name, **limits)


def _address(study: Any, number: int) -> tuple[str, int]:
    """Where the losses of a trial are kept; numbers of trials begin anew in every study."""
    return ("" if study is None else study.study_name, number)


def _check_direction(trial: Any) -> None:
    study = getattr(trial, "study", None)
    if study is not None and [direction.name for direction in study.directions] != ["MAXIMIZE"]:
        raise ValueError('direction must be "maximize" in create_study: scores are greater when better')


class PairedPruner:
    """A pruner for `optuna.create_study`: ends a trial once it is clearly worse than the best one on the same rows.

    With d the losses of the trial minus those of the best completed trial, row by row over the folds that both have
    seen, the trial ends when mean(d) exceeds z standard errors. The quantile is Student's, whose degrees of freedom
    count the rows that tell the two apart, (Σ d²)²/Σ d⁴ − 1, so that two or three rows decide nothing. Scores that
    only whole folds have are compared fold by fold.

    Parameters
    ----------
    objective : the objective of the study, from `optuna_objective`.
    z : standard errors by which a trial may be behind, as a quantile of the normal distribution.

    Examples
    --------
    >>> import optuna
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> space = {"n_neighbors": optuna.distributions.IntDistribution(1, 50)}
    >>> objective = optuna_objective(KNeighborsClassifier(), *load_iris(return_X_y=True), space, random_state=0)
    >>> study = optuna.create_study(direction="maximize", pruner=PairedPruner(objective))
    >>> study.optimize(objective, n_trials=3)
    >>> study.best_value > 0.9
    True
    """

    def __init__(self, objective: OptunaObjective, z: float = 1.28) -> None:
        from optuna.pruners import BasePruner

        if not isinstance(objective, OptunaObjective):
            raise TypeError(f"objective must come from optuna_objective, got {type(objective).__name__}")
        if isinstance(z, bool) or not isinstance(z, int | float) or not z > 0:
            raise ValueError(f"z must be a number above 0, got {z!r}")
        BasePruner.register(type(self))
        self.objective, self.z = objective, float(z)

    def prune(self, study: Any, trial: Any) -> bool:
        """Whether to end this trial now."""
        known = [other for other in study.get_trials(deepcopy=False) if self._is_rival(study, other)]
        mine = self.objective.folds_of(study, trial.number)
        if not known or not mine:
            return False
        best = max(known, key=lambda other: other.value)
        theirs = self.objective.folds_of(study, best.number)
        behind = np.concatenate(mine) - np.concatenate(theirs[: len(mine)])
        about = (self.objective.weight, self.objective.groups)
        of_rows = (self._seen(values, len(mine), len(behind)) for values in about)
        (behind,), weight = of_units(behind[None], *of_rows)
        return clearly_positive(behind, weight, self.z)

    def _is_rival(self, study: Any, other: Any) -> bool:
        return other.state.name == "COMPLETE" and bool(self.objective.folds_of(study, other.number))

    def _seen(self, values: Array | None, n_folds: int, length: int) -> Array | None:
        """What is known of the rows seen so far; None where folds are compared, and where there is nothing."""
        seen = np.concatenate([fold.test for fold in self.objective.splits.folds[:n_folds]])
        return None if values is None or length != len(seen) else values[seen]


def clearly_positive(d: Floats, weight: Floats | None, z: float) -> bool:
    """Whether the (weighted) mean of differences d, (n,), is more than z standard errors above zero."""
    weighed = d if weight is None else d * weight
    if not (weighed != 0).any():
        return False
    telling = np.square(weighed).sum() ** 2 / (weighed**4).sum()
    if telling < 2:
        return False
    mean, error = float(weighted_mean(d, weight)), float(error_of_mean(d[None], weight)[0])
    return bool(mean > error * stats.t.ppf(stats.norm.cdf(z), telling - 1))
