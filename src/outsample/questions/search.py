"""Which model? Searches that stand where scikit-learn's own searches stand."""

from __future__ import annotations

import copy
import os
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.model_selection import ParameterSampler
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from outsample.checks import is_integer
from outsample.criteria.base import Criterion, CriterionLike, as_criterion
from outsample.curve.error_estimate import ErrorEstimate
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import fit, seeded, with_params
from outsample.data.tables import Table
from outsample.losses.base import Loss
from outsample.losses.choice import LossLike, choose_loss
from outsample.problem import Question, ask
from outsample.questions.candidates import ParamGrid, candidates_of, checked_grids, filled, learners_of
from outsample.questions.contest import Outcome, outcome_of
from outsample.questions.endless import Endless, endless_parameter, has_endless_values, restartable_grid, scan
from outsample.questions.estimate import risk_on
from outsample.questions.honest import as_honesty, honest_score
from outsample.questions.results import results_table
from outsample.rules import OracleTerms, RuleLike, as_rule, oracle_terms, penalized
from outsample.running.progress import Progress, TerminalProgress
from outsample.running.run import RandomState, child_integer, seed_sequence
from outsample.running.store import Store, StorePath
from outsample.running.units import fingerprint


def keep_arguments(search: BaseEstimator, arguments: dict[str, Any]) -> None:
    """Keep the arguments of a constructor as attributes of the same names, as scikit-learn's convention asks."""
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(search, name, value)


def _offered(method: str) -> Any:
    """A method is there when the inner estimator has it."""

    def check(self: _Search) -> bool:
        inner = getattr(self, "best_estimator_", self.estimator)
        getattr(inner, method)
        return True

    return available_if(check)


class _Search(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What searches share: estimate every candidate, choose by a rule, refit the choice."""

    estimator: BaseEstimator
    criterion: CriterionLike
    rule: RuleLike
    loss: LossLike
    refit: bool | str
    honest: str | None
    n_jobs: int | None
    random_state: RandomState
    store: StorePath
    error_score: float | str
    fast: bool
    progress: Progress | None
    verbose: int

    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    best_estimator_: BaseEstimator
    cv_results_: dict[str, Any]
    curve_: RiskCurve
    estimate_: ErrorEstimate
    honest_score_: ErrorEstimate
    oracle_terms_: OracleTerms
    n_fits_: int
    n_splits_: int
    path_: str
    loss_: Loss
    refit_time_: float
    multimetric_: bool

    def _settings(self) -> list[dict[str, Any]] | Endless:
        """The candidate settings, or a parameter with endlessly many values."""
        raise NotImplementedError

    def fit(self, X: Table, y: ArrayLike | None = None, **params: Any) -> Self:
        """Estimate the error of every candidate, choose, and refit the chosen one to all rows.

        Parameters
        ----------
        X, y : the data.
        **params : `sample_weight`, one weight per row, used in fits and in the loss; `groups`, rows that belong
            together, for criteria that respect them.
        """
        strangers = sorted(set(params) - {"sample_weight", "groups"})
        if strangers:
            raise TypeError(f"fit takes sample_weight and groups, got {', '.join(strangers)}")
        criterion, rule = as_criterion(self.criterion), as_rule(self.rule)
        self._check_answers()
        honesty = None if self.honest is None else as_honesty(self.honest)
        if honesty == "bootstrap":
            criterion = criterion.keeping_predictions()
        settings = self._settings()
        learner = filled(self.estimator, settings if isinstance(settings, list) else [settings.fixed])
        learners = learners_of(learner, settings)
        criterion = criterion.for_learner(self.estimator)
        loss = criterion.default_loss(learners) if self.loss is None else self.loss
        with (
            TerminalProgress(criterion.name, always=self.verbose > 0) as bar,
            nullcontext() if self.store is None else Store(self.store) as store,
        ):
            question = ask(
                learner,
                X,
                y,
                loss=loss,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                progress=self.progress or bar,
                **params,
            )
            if store is not None:
                run = store.attach(question.run, partial(self._facts, question, settings, criterion))
                question = replace(question, run=run)
            if isinstance(settings, list):
                outcome = outcome_of(question, self.estimator, settings, criterion, rule, self.fast, self.error_score)
            else:
                outcome = scan(question, self.estimator, settings, criterion, rule)
            self._keep(outcome)
            if honesty is not None:
                self.honest_score_ = honest_score(honesty, self, learner, question, outcome)
        if self.refit:
            self._refit(question)
        return self

    def _facts(self, question: Question, settings: object, criterion: Criterion) -> dict[str, Any]:
        """What tells this search from others, for its store."""
        data = question.data
        return {
            "data": joblib.hash((data.X, data.y, data.weight, data.groups)),
            "estimator": f"{type(self.estimator).__qualname__} {fingerprint(self.estimator)}",
            "grid": fingerprint(settings) if isinstance(settings, list) else "open-ended",
            "criterion": f"{criterion.name} {fingerprint(criterion)}",
            "loss": f"{question.loss.name} {fingerprint(question.loss)}",
        }

    def _check_answers(self) -> None:
        """Arguments that are first used after all the fits, checked before them."""
        if isinstance(self.refit, str):
            raise ValueError(
                f"refit={self.refit!r} names one of several metrics, and there is one only; use refit=True"
            )
        if not isinstance(self.refit, bool | np.bool_):
            raise ValueError(f"refit must be True or False, got {self.refit!r}; a function that chooses goes to rule=")
        score = self.error_score
        number = isinstance(score, int | float | np.number) and not isinstance(
            score, bool | complex | np.complexfloating
        )
        if not number and not (isinstance(score, str) and score == "raise"):
            raise ValueError(f'error_score must be a number or "raise", got {score!r}')

    def _keep(self, outcome: Outcome) -> None:
        self.curve_ = outcome.curve
        self.path_ = outcome.curve.path
        self.n_fits_ = outcome.curve.n_fits
        self.best_index_ = outcome.best_position
        self.best_params_ = dict(outcome.curve.params[outcome.best_model])
        self.cv_results_ = results_table(outcome)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.estimate_ = outcome.curve.estimate(outcome.best_model)
        self.multimetric_ = False
        self.loss_ = outcome.curve.loss
        if as_rule(self.rule) is penalized:
            self.oracle_terms_ = oracle_terms(outcome.curve)
        if outcome.curve.fold_risks is not None:
            self.n_splits_ = len(outcome.curve.fold_risks)

    def _refit(self, question: Question) -> None:
        start, data = time.perf_counter(), question.data
        best = seeded(with_params(self.estimator, self.best_params_), question.real_seed)
        self.best_estimator_ = fit(best, data.X, data.labels, data.weight)
        self.loss_ = choose_loss(self.loss_, data.target, best)[0]
        self.refit_time_ = time.perf_counter() - start
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def _best(self) -> Any:
        check_is_fitted(self)
        if not self.refit:
            raise AttributeError(f"{type(self).__name__}(refit=False) has no refitted model to predict with")
        return self.best_estimator_

    @property
    def classes_(self) -> Any:
        """Class labels of the refitted model."""
        return self._best().classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in fit."""
        try:
            check_is_fitted(self)
        except Exception as error:
            raise AttributeError(f"{type(self).__name__} is not fitted yet, so it has no n_features_in_") from error
        return int(self._best().n_features_in_)

    @_offered("predict")
    def predict(self, X: Table) -> Any:
        """Predictions of the refitted model."""
        return self._best().predict(X)

    @_offered("predict_proba")
    def predict_proba(self, X: Table) -> Any:
        """Class probabilities of the refitted model."""
        return self._best().predict_proba(X)

    @_offered("predict_log_proba")
    def predict_log_proba(self, X: Table) -> Any:
        """Logarithms of class probabilities of the refitted model."""
        return self._best().predict_log_proba(X)

    @_offered("decision_function")
    def decision_function(self, X: Table) -> Any:
        """Decision values of the refitted model."""
        return self._best().decision_function(X)

    @_offered("transform")
    def transform(self, X: Table) -> Any:
        """X as the refitted model transforms it."""
        return self._best().transform(X)

    @_offered("inverse_transform")
    def inverse_transform(self, X: Table) -> Any:
        """X as the refitted model transforms it back."""
        return self._best().inverse_transform(X)

    @_offered("score_samples")
    def score_samples(self, X: Table) -> Any:
        """Log-likelihood of each sample under the refitted model."""
        return self._best().score_samples(X)

    def score(self, X: Table, y: ArrayLike) -> float:
        """Score of the refitted model on other data, greater is better: the loss's own score.

        A scorer scores; zero-one loss gives the accuracy; by default the estimator's own `score` is used; any
        other loss gives minus the risk.
        """
        best = self._best()
        if self.loss is None:
            return float(best.score(X, y))
        return float(self.loss_.score(risk_on(best, X, y, self.loss_)))

    def to_html(self, path: str | os.PathLike[str], X: Table | None = None, y: ArrayLike | None = None) -> None:
        """Write a report, one self-contained HTML file; with X and y it warns of what is special about them."""
        from outsample.report.page import write_report

        check_is_fitted(self)
        write_report(self, path, X=X, y=y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = True
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Which metadata this search and its estimator consume."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )


class GridSearch(_Search):
    """Choose the parameters of a model by the estimated error on new data, over a grid.

    Stands where scikit-learn's GridSearchCV stands; by default it permutes labels instead of splitting rows, and
    reads all models of a path off one fit where it can.

    Parameters
    ----------
    estimator : any scikit-learn compatible classifier, regressor or pipeline.
    param_grid : dict, or list of dicts, of parameter values to try. Values may be learners, which are cloned; the grid
        may name their parameters too, and may fill a step of a pipeline that is None or "passthrough". With rule
        "first-local-minimum" one parameter may be an endless iterator, simplest value first.
    criterion : how the error on new data is estimated, see `outsample.criteria`.
    rule : how the model is chosen from the estimates, see `outsample.rules`.
    loss : as in `outsample.estimate`. None means zero-one for classifiers and squared for regressors; with
        cross-validation it means the estimator's own score, as in GridSearchCV.
    refit : whether to fit the chosen model to all rows.
    honest : also estimate the error of the whole search, which the error of the chosen model understates: "nested",
        "bootstrap", "tibshirani" or "permutation"; see `outsample.questions.honest`.
    n_jobs : joblib workers; the answer does not depend on it.
    random_state : seed of all draws, and of learners whose own random state is not set.
    store : a file in which every finished unit of work is kept, so that an interrupted search can go on.
    error_score : the score of a setting the estimator rejects, or "raise".
    fast : whether paths that know the estimator may serve; False refits everything. The numbers are the same,
        except that the exact expectations of linear smoothers become averages over draws.
    progress : called with (fits done, fits planned); by default a bar on long runs in a terminal.
    verbose : above 0 the bar is shown from the start.

    Attributes
    ----------
    best_params_, best_index_, best_score_, best_estimator_, cv_results_, refit_time_, n_features_in_,
    feature_names_in_, classes_ : as in GridSearchCV; scores are greater-is-better.
    curve_ : RiskCurve over all candidates, simplest first; risks are smaller-is-better.
    estimate_ : ErrorEstimate of the chosen model. Choosing it made this estimate optimistic: see honest_score_.
    honest_score_ : the error of the whole search (with `honest`).
    oracle_terms_ : the terms of the oracle inequality (with rule "penalized").
    n_fits_ : fits spent before the final refit.
    path_ : name of the path or paths that served.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
    >>> search = GridSearch(tree, {"max_leaf_nodes": range(2, 21)}, random_state=0).fit(X, y)
    >>> search.n_fits_
    11
    >>> 2 <= search.best_params_["max_leaf_nodes"] <= 20
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        param_grid: ParamGrid,
        *,
        criterion: CriterionLike = "permutation",
        rule: RuleLike = "minimum",
        loss: LossLike = None,
        refit: bool = True,
        honest: str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        store: StorePath = None,
        error_score: float | str = np.nan,
        fast: bool = True,
        progress: Progress | None = None,
        verbose: int = 0,
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


class RandomizedSearch(_Search):
    """Choose the parameters of a model among settings sampled from distributions.

    As `GridSearch`, with `param_distributions` and `n_iter` of scikit-learn's RandomizedSearchCV in place of a grid;
    the sampling is seeded by `random_state`.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        param_distributions: ParamGrid,
        *,
        n_iter: int = 10,
        criterion: CriterionLike = "permutation",
        rule: RuleLike = "minimum",
        loss: LossLike = None,
        refit: bool = True,
        honest: str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        store: StorePath = None,
        error_score: float | str = np.nan,
        fast: bool = True,
        progress: Progress | None = None,
        verbose: int = 0,
    ) -> None:
        keep_arguments(self, locals())

    param_distributions: ParamGrid
    n_iter: int

    def _settings(self) -> list[dict[str, Any]]:
        n_iter = self.n_iter
        if not is_integer(n_iter, 1):
            raise ValueError(f"n_iter must be a whole number of at least 1, got {n_iter!r}")
        checked_grids(self.estimator, self.param_distributions, "param_distributions")
        seed = self.random_state
        if not isinstance(seed, int | np.integer | np.random.RandomState):
            seed = None if seed is None else child_integer(seed_sequence(seed))
        return list(ParameterSampler(self.param_distributions, n_iter, random_state=seed))
