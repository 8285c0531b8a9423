"""Which model? Searches that stand where scikit-learn's own searches stand."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, ParameterSampler, RandomizedSearchCV

from outsample.checks import is_integer
from outsample.criteria.auto import Auto
from outsample.criteria.base import Criterion, CriterionLike
from outsample.criteria.race import Race
from outsample.losses.choice import LossLike
from outsample.questions.asked import DEFAULT_CRITERION
from outsample.questions.candidates import ParamGrid, candidates_of, checked_grids
from outsample.questions.endless import Endless, endless_parameter, has_endless_values, restartable_grid
from outsample.questions.metrics import Scoring
from outsample.questions.swap import Search
from outsample.rules import RuleLike
from outsample.running.progress import Progress
from outsample.running.run import RandomState, child_integer, seed_sequence
from outsample.running.store import StorePath

# Settings of a randomised search that start a race together.
SETTINGS_AT_ONCE = 20

# What scikit-learn does not check itself: our random states include generators of numpy, our grids may be endless.
_CHECKED_HERE = ("param_grid", "param_distributions", "n_iter", "random_state")


def keep_arguments(search: BaseEstimator, arguments: dict[str, Any]) -> None:
    """Keep the arguments of a constructor as attributes of the same names, as scikit-learn's convention asks."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(search, name, value)


def _constraints(parent: Any) -> dict[str, Any]:
    theirs = {name: allowed for name, allowed in parent._parameter_constraints.items() if name not in _CHECKED_HERE}
    return theirs | {"fast": ["boolean"]}


class GridSearch(Search, GridSearchCV):  # type: ignore[misc]
    """Choose the parameters of a model by the estimated error on new data, over a grid.

    Stands where scikit-learn's GridSearchCV stands; by default it takes the cheapest evidence that can be trusted
    for the learner (`Auto`), and reads all models of a path off one fit where it can.

    Parameters
    ----------
    estimator : any scikit-learn compatible classifier, regressor or pipeline.
    param_grid : dict, or list of dicts, of parameter values to try. Values may be learners, which are cloned; the grid
        may name their parameters too, and may fill a step of a pipeline that is None or "passthrough". With rule
        "first-local-minimum" one parameter may be an endless iterator, which is walked as it is written.
    scoring : as `loss`, by scikit-learn's word: a scorer, its name, or several of them with `refit` naming one.
    cv : folds, as in GridSearchCV: a search with `cv` cross-validates as that does.
    criterion : how the error on new data is estimated: a criterion or its name; "auto", see `Auto`, takes the one that
        fits the learner.
    rule : how the model is chosen from the estimates: "minimum", "one-standard-error", "one-standard-error-literal",
        "percentile", "first-local-minimum", "penalized", "penalized-fast", or a function `RiskCurve` -> position.
    loss : as in `outsample.estimate`. None means zero-one for classifiers and squared for regressors; with
        cross-validation it means the estimator's own score, as in GridSearchCV.
    refit : whether to fit the chosen model to all rows.
    honest : also estimate the error of the whole search, which the error of the chosen model understates: "nested",
        "bootstrap", "tibshirani" or "permutation". None corrects from the rows left out, where there are any.
    n_jobs : joblib workers; the answer does not depend on it.
    random_state : seed of all draws, and of learners whose own random state is not set. None: rows and labels are drawn
        as by 0, and these learners stay random, as in scikit-learn.
    store : a file in which every finished unit of work is kept, so that an interrupted search can go on.
    error_score : the score of a setting the estimator rejects, or "raise".
    fast : whether paths that know the estimator may serve; False refits everything. The numbers are the same,
        except that the exact expectations of linear smoothers become averages over draws.
    progress : called with (fits done, fits planned); by default a bar on long runs in a terminal.
    verbose : above 0 the bar is shown from the start.
    pre_dispatch : as in GridSearchCV, where scikit-learn's own loop serves.
    return_train_score : whether `cv_results_` has scores of the rows fitted.

    Attributes
    ----------
    best_params_, best_index_, best_score_, best_estimator_, cv_results_, refit_time_, n_features_in_,
    feature_names_in_, classes_ : as in GridSearchCV; scores are greater-is-better.
    curve_ : RiskCurve over all candidates, simplest first; risks are smaller-is-better.
    estimate_ : ErrorEstimate of the chosen model. Choosing it made this estimate optimistic: see
        `honest_score_`.
    honest_score_ : the error of the chosen model corrected for having chosen it, with its interval: by `honest`, else
        from the losses of rows left out, without further fits; there is none where no rows were left out.
    race_ : who was dropped when, and by how much (with criterion "race").
    oracle_terms_ : the terms of the oracle inequality (with rule "penalized").
    n_fits_ : fits spent before the final refit, those for the estimator's own setting (see `verdict_`) included.
    path_ : name of the path or paths that served.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
    >>> search = GridSearch(tree, {"max_leaf_nodes": range(2, 21)}, random_state=0).fit(X, y)
    >>> search.n_fits_  # 22 for the whole grid, 10 for the tree as it was given
    32
    >>> 2 <= search.best_params_["max_leaf_nodes"] <= 20
    True
    """

    _parameter_constraints = _constraints(GridSearchCV)

    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: ParamGrid,
        *,
        scoring: Scoring = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        criterion: CriterionLike = DEFAULT_CRITERION,
        rule: RuleLike = "minimum",
        loss: LossLike = None,
        honest: str | None = None,
        random_state: RandomState = None,
        store: StorePath = None,
        fast: bool = True,
        progress: Progress | None = None,
    ) -> None:
        keep_arguments(self, locals())

    param_grid: ParamGrid

    def _settings(self) -> list[dict[str, Any]] | Endless:
        grids = checked_grids(self.estimator, self.param_grid)
        if all(hasattr(values, "__len__") for grid in grids for values in grid.values()):
            return candidates_of(self.param_grid)
        endless = endless_parameter(grids, self.rule)
        if endless.spent is not None and endless.spent is getattr(self, "_spent", None):
            raise ValueError(
                f"param_grid: the values of {endless.parameter} were read by an earlier fit and cannot be read again; "
                "use itertools.count or an object that can be iterated over many times"
            )
        self._spent = endless.spent
        return endless

    def __sklearn_clone__(self) -> Self:
        if not has_endless_values(self.param_grid):
            return super().__sklearn_clone__()  # type: ignore[no-any-return]
        # Endless iterators cannot be copied in general, so the grid goes its own way.
        twin = copy.copy(self)
        twin.param_grid = {}
        new = super(GridSearch, twin).__sklearn_clone__()
        new.param_grid, new._spent = restartable_grid(self.param_grid), getattr(self, "_spent", None)
        return new  # type: ignore[no-any-return]

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        if has_endless_values(self.param_grid):
            state["param_grid"] = restartable_grid(self.param_grid)
        return state


class RandomizedSearch(Search, RandomizedSearchCV):  # type: ignore[misc]
    """Choose the parameters of a model among settings sampled from distributions.

    As `GridSearch`, with `param_distributions` and `n_iter` of scikit-learn's RandomizedSearchCV in place of a grid;
    the sampling is seeded by `random_state`, as it is there. Settings race in batches, each against those that remained
    of the ones before, so that a budget of `Race(max_fits=…, max_seconds=…)` may end the search after any of them.

    Parameters
    ----------
    estimator : any scikit-learn compatible classifier, regressor or pipeline.
    param_distributions : dict, or list of dicts, of parameter → list of values or distribution with `rvs`.
    n_iter : number of settings sampled.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, random_state, error_score : as in `GridSearch`.
    return_train_score, criterion, rule, loss, honest, store, fast, progress : as in `GridSearch`.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = RandomizedSearch(Ridge(), {"alpha": loguniform(1e-3, 10)}, n_iter=20, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"])
    20
    """

    _parameter_constraints = _constraints(RandomizedSearchCV)

    def __init__(
        self,
        estimator: BaseEstimator,
        param_distributions: ParamGrid,
        *,
        n_iter: int = 10,
        scoring: Scoring = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: RandomState = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        criterion: CriterionLike = DEFAULT_CRITERION,
        rule: RuleLike = "minimum",
        loss: LossLike = None,
        honest: str | None = None,
        store: StorePath = None,
        fast: bool = True,
        progress: Progress | None = None,
    ) -> None:
        keep_arguments(self, locals())

    param_distributions: ParamGrid
    n_iter: int

    def _criterion(self) -> Criterion:
        found = super()._criterion()
        if isinstance(found, Auto):
            return replace(found, race=_in_batches(found.race_taken))
        return _in_batches(found) if isinstance(found, Race) else found

    def _settings(self) -> list[dict[str, Any]]:
        n_iter = self.n_iter
        if not is_integer(n_iter, 1):
            raise ValueError(f"n_iter must be a whole number of at least 1, got {n_iter!r}")
        checked_grids(self.estimator, self.param_distributions, "param_distributions")
        seed = self.random_state
        if not isinstance(seed, int | np.integer | np.random.RandomState):
            seed = None if seed is None else child_integer(seed_sequence(seed))
        return list(ParameterSampler(self.param_distributions, n_iter, random_state=seed))


def _in_batches(race: Race) -> Race:
    return replace(race, batch_size=SETTINGS_AT_ONCE) if race.batch_size is None else race
