"""What makes a search stand where GridSearchCV stands: it is one, and our evidence takes the place of its loop.

A search goes one of two ways. Where our evidence can judge the candidates, and scikit-learn's numbers are not asked for
or are the same, it goes through `fit` of scikit-learn with the loop told what we found (see `told`). Otherwise
scikit-learn's own loop runs, and its table is read back as a curve (see `results`). `asked` says which way is taken.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from outsample.criteria.base import Criterion
from outsample.criteria.cross_validation import CrossValidation
from outsample.data.lazy import as_lazy, in_memory_only, is_lazy
from outsample.data.learners import fit, respond, seeded, with_params
from outsample.data.tables import Table, as_table, n_rows
from outsample.losses.choice import choose_loss
from outsample.problem import Question
from outsample.questions.asked import Asked, Metadata, metadata_of, obstacle
from outsample.questions.candidates import filled, learners_of, own_setting, place_among, with_default
from outsample.questions.contest import Outcome, choice
from outsample.questions.fitted import Fitted
from outsample.questions.honest import as_honesty, tibshirani
from outsample.questions.metrics import ONE, loss_of, metrics_of, scorer_of, several
from outsample.questions.own_setting import with_reference
from outsample.questions.posed import Posed, Told, opened, questions_of
from outsample.questions.results import CvResults, our_columns, outcome_of_results, results_table
from outsample.questions.told import fitted_by, own_state, stand_ins, standing_in, told_estimator
from outsample.rules import as_rule, minimum
from outsample.running.callbacks import FitsDone, Tasks, unwatched
from outsample.running.kept_fits import setting_key
from outsample.running.progress import TerminalProgress
from outsample.running.run import REAL_FIT, ROW_SPLITS, child_integer, seed_sequence, splitter_seed
from outsample.running.units import row_keys

if TYPE_CHECKING:
    from outsample.questions.asked import Settings


class Search(Asked, Fitted):
    """What searches share; stands before a search of scikit-learn among the parents of a class."""

    keeps_groups = True
    """Whether `fit` makes use of groups: declared for those who fit searches as learners."""

    def fit(self, X: Table, y: ArrayLike | None = None, **params: Any) -> Self:
        """Estimate the error of every candidate, choose, and refit the chosen one to all rows.

        Parameters
        ----------
        X, y : the data.
        **params : `sample_weight`, one weight per row, used in fits and in the loss; `groups`, rows that belong
            together, for criteria that respect them. With `cv=`, and for anything else, what scikit-learn's searches
            make of it: passed on to the estimator, the scorer and the splitter, by its metadata routing where that is
            switched on, and cut with the rows where it has their length.
        """
        self._validate_params()  # type: ignore[attr-defined]
        as_rule(self.rule), as_honesty(self.honest)
        metrics = metrics_of(self.estimator, self.loss, self.scoring)
        if several(self.scoring) is not None:
            self._check_refit_for_multimetric(metrics)  # type: ignore[attr-defined]
        criterion = self._criterion()
        if is_lazy(X):
            self._run_beyond_memory(X, y, params, criterion, metrics)
            return self
        X = as_table(X)
        if self.cv is None or self._only_ours is not None:
            told = self._by_evidence(X, y, params, criterion, metrics)
        else:
            told = self._exactly(X, y, criterion, metrics) if self._may_be_fast(params) else None
        if told is None:
            self._run_loop(X, y, params, criterion)
        else:
            self._run_told(X, y, told)
        self._keys_of_rows = row_keys(X)
        return self

    def _by_evidence(
        self, X: Table, y: Any, params: dict[str, Any], criterion: Criterion, metrics: dict[str, Any]
    ) -> Told | None:
        """The search put to our evidence, checked; None where scikit-learn's loop is to serve."""
        metadata, settings = metadata_of(self, params), self._settings()
        learner = filled(self.estimator, settings if isinstance(settings, list) else [settings.fixed])
        why = obstacle(learner, X, y, metadata.strangers) or self._wants_loop(metadata, criterion)
        if why is not None and (self._default or isinstance(criterion, CrossValidation)):
            if self.honest not in (None, "tibshirani") or self.store is not None or self.loss is not None:
                raise ValueError(f"{self._only_ours} needs our own evidence, which cannot serve: {why}")
            return None
        if metadata.strangers:
            raise TypeError(f"{why}, and criterion {criterion.name!r} does not pass it on; use cv=")
        posed = self._posed(X, y, metadata, settings, learner, criterion, metrics)
        return Told(posed, None if self.honest is None else unwatched(clone(self)), self.return_train_score)

    def _exactly(self, X: Table, y: Any, criterion: Criterion, metrics: dict[str, Any]) -> Told | None:
        """What fast paths found where they give scikit-learn's own numbers; None where its loop is to serve.

        Whatever is unusual is left to scikit-learn, its messages included.
        """
        with warnings.catch_warnings(record=True) as caught, TerminalProgress(criterion.name) as bar:
            warnings.simplefilter("always")
            try:
                posed = self._posed(X, y, Metadata(), self._settings(), self.estimator, criterion, metrics)
                if not posed.same_digits:
                    return None
                told = Told(replace(posed, error_score="raise").told(self.progress or bar, None))
                told.find(None)
            except Exception:
                return None
        for warning in caught:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        return told

    def _posed(
        self,
        X: Table,
        y: Any,
        metadata: Metadata,
        settings: Settings,
        learner: BaseEstimator,
        criterion: Criterion,
        metrics: dict[str, Any],
    ) -> Posed:
        if self.store is not None and len(metrics) > 1:
            raise ValueError(f"store={self.store!r} keeps the work of one metric, scoring has {len(metrics)}")
        if self.honest == "bootstrap":
            criterion = criterion.keeping_predictions()
        criterion = criterion.for_learner(self.estimator)
        default = None
        own = None
        if criterion.joint and isinstance(settings, list):
            settings, default = with_default(self.estimator, settings)
        elif criterion.name == "auto" and isinstance(settings, list):
            own = own_setting(self.estimator, settings)
            default = None if own is None else place_among(own, settings)
        usual = criterion.default_loss(learners_of(learner, settings))
        losses = {name: usual if metric is None else metric for name, metric in metrics.items()}
        questions = questions_of(learner, X, y, metadata, losses, self.random_state, self.n_jobs)
        return Posed(
            questions,
            self._decisive(metrics),
            self.estimator,
            learner,
            settings,
            criterion,
            as_rule(self.rule),
            self.fast,
            self.error_score,
            default,
            own,
        )

    def _run_beyond_memory(
        self, X: Any, y: Any, params: dict[str, Any], criterion: Criterion, metrics: dict[str, Any]
    ) -> None:
        """The search over a table that is read a block of rows at a time."""
        from outsample.questions.beyond_memory import lazy_search

        settings = self._settings()
        asked = [name for name, value in params.items() if value is not None]
        asked += [name for name in ("honest", "store") if getattr(self, name) is not None]
        asked += ["several metrics"] * (len(metrics) > 1)
        if asked or not isinstance(settings, list):
            raise ValueError(in_memory_only(asked[0] if asked else "an endless grid"))
        (metric,) = metrics.values()
        loss = criterion.default_loss(learners_of(self.estimator, settings)) if metric is None else metric
        judged = lazy_search(self.estimator, settings, as_lazy(X, y), criterion, loss)
        outcome = judged.outcome(as_rule(self.rule))
        self.multimetric_, self.cv_results_ = False, results_table({ONE: outcome})
        self.best_index_ = outcome.best_position
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        if self.refit:
            start = time.perf_counter()
            self.best_estimator_ = judged.refitted(self.best_index_)
            self.refit_time_ = time.perf_counter() - start
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        self._keep(outcome, None)
        self.scorer_ = scorer_of(self.estimator, self.loss, self.scoring, self.loss_)

    def _run_told(self, X: Table, y: Any, told: Told) -> None:
        """scikit-learn's `fit`, whose loop is told what our evidence finds."""
        posed = told.posed
        scorer = scorer_of(posed.learner, self.loss, self.scoring, posed.question.loss)
        estimator = told_estimator(self.estimator, self._chosen)
        self._told = told
        with TerminalProgress(posed.criterion.name, always=self.verbose > 0) as bar, opened(self.store) as store:
            told.posed = posed.told(self.progress or bar, store)
            try:
                with standing_in(self, **stand_ins(self, estimator, several(self.scoring) is not None, scorer)):
                    super().fit(X, y)  # type: ignore[misc]
            finally:
                del self._told
        self._keep(told.outcome, told.honest_score, posed.question.data.groups)
        if self.refit:
            self.loss_ = choose_loss(self.loss_, posed.question.target, self.best_estimator_)[0]
            self._tell_in_sample(posed.question)
        self.scorer_ = scorer_of(posed.learner, self.loss, self.scoring, self.loss_)

    def _tell_in_sample(self, question: Question) -> None:
        """The chosen model's error on the rows it was fitted to, where the criterion fitted none to all of them."""
        if not math.isnan(self.estimate_.in_sample) or not self.loss_.reads_predictions:
            return
        data = question.data
        response = next(r for r in self.loss_.responses if hasattr(self.best_estimator_, r))
        said = respond(self.best_estimator_, data.X, response, data.target.classes)
        in_sample = float(self.loss_.reported(self.loss_.risk(data.y, said, data.weight)))
        self.estimate_ = replace(self.estimate_, in_sample=in_sample, optimism=self.estimate_.out_sample - in_sample)

    def _run_loop(self, X: Table, y: Any, params: dict[str, Any], criterion: Criterion) -> None:
        """scikit-learn's `fit` as it is; a random state of ours seeds what has none."""
        with standing_in(self, **self._seeded(criterion)), self._progress_of_loop():
            super().fit(X, y, **params)  # type: ignore[misc]
        outcomes = self._outcomes_of(self.cv_results_, n_rows(X))
        decisive = outcomes[self._decisive(outcomes)]
        chosen = None if self.honest is None else decisive.model_at(self.best_index_)
        self._keep(decisive, None if chosen is None else tibshirani(decisive.curve, chosen))

    def _seeded(self, criterion: Criterion) -> dict[str, Any]:
        """The arguments of scikit-learn's loop that differ from those of the search."""
        others: dict[str, Any] = {}
        seed, root = self.random_state, None
        # A RandomState is left to the sampler of settings, which would otherwise draw others than scikit-learn's.
        if seed is not None and not isinstance(seed, np.random.RandomState):
            root = seed_sequence(seed)
            others["estimator"] = seeded(self.estimator, child_integer(root, REAL_FIT))
            if not isinstance(seed, int | np.integer):
                others["random_state"] = child_integer(root)
        if isinstance(criterion, CrossValidation):
            # Splitters of scikit-learn's own stay random where nobody chose a seed; folds of ours do not.
            fixed = root is not None or criterion.shuffle
            state = splitter_seed(seed_sequence(None) if root is None else root, ROW_SPLITS) if fixed else None
            others["cv"] = criterion.folds(self.estimator, state)
        return others

    @contextmanager
    def _progress_of_loop(self) -> Iterator[None]:
        """Progress of scikit-learn's loop through its callbacks, where it has any."""
        set_callbacks = getattr(self, "set_callbacks", None)
        if set_callbacks is None or (self.progress is None and not sys.stderr.isatty()):
            yield
            return
        own = getattr(self, "_skl_callbacks", [])
        with TerminalProgress("kfold") as bar:
            set_callbacks(*own, FitsDone(self.progress or bar))
            try:
                yield
            finally:
                set_callbacks(*own)

    def _run_search(self, evaluate_candidates: Any, *, callback_ctx: Any = None) -> None:
        told: Told | None = getattr(self, "_told", None)
        if told is None:

            def evaluate(*candidates: Any, **others: Any) -> CvResults:
                results: CvResults = evaluate_candidates(*candidates, **others)
                results |= our_columns(self._outcomes_of(results, 0))
                return results

            context = {} if callback_ctx is None else {"callback_ctx": callback_ctx}
            super()._run_search(evaluate, **context)  # type: ignore[misc]
            return
        tasks = Tasks(self, callback_ctx, told.posed.question.progress)
        told.posed = told.posed.told(tasks, None)
        told.find(self.honest)
        posed = told.posed
        if posed.own is not None and told.outcome.reference is None:
            beside_them = with_reference(told.outcome, posed.question, posed.estimator, posed.own, posed.criterion)
            told.outcomes[posed.chosen_by] = beside_them
        tasks.close()
        results = evaluate_candidates([{}])
        told.evaluated = True
        results.clear()
        results.update(results_table(told.outcomes, told.train))

    def _select_best_index(self, refit: Any, refit_metric: str, results: CvResults) -> int:
        told: Told | None = getattr(self, "_told", None)
        rule = as_rule(self.rule)
        if callable(refit) or (told is None and rule is minimum):
            return super()._select_best_index(refit, refit_metric, results)  # type: ignore[misc, no-any-return]
        if told is not None:
            return told.outcome.best_position
        decisive = self._outcomes_of(results, 0)[refit_metric]
        return int(decisive.positions[choice(decisive.curve, decisive.positions, CrossValidation(), rule)])

    def _chosen(self) -> Any:
        """The chosen model, which our own refit fits when scikit-learn does; None before its loop is over."""
        if not self._told.evaluated:
            return None
        question = self._told.posed.question
        setting = with_params(self._told.posed.estimator, self.best_params_)
        fitted = question.run.fits.take(setting_key(setting))
        if fitted is not None:
            return fitted_by(fitted, lambda model: model)
        return fitted_by(seeded(setting, question.real_seed), lambda model: self._refit(model, question))

    def _refit(self, model: Any, question: Question) -> Any:
        """The chosen model, fitted to all rows."""
        data = question.data
        return fit(model, data.X, data.labels, data.weight)

    def get_metadata_routing(self) -> MetadataRouter:
        """Which metadata the estimator, the scorer and the splitter consume; criteria of ours consume groups."""
        router = super().get_metadata_routing()  # type: ignore[misc]
        if self.cv is not None:
            return router
        own = getattr(self.criterion, "cv", None)
        splitter = own if hasattr(own, "get_metadata_routing") else GroupKFold()
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def __getstate__(self) -> dict[str, Any]:
        return own_state(super().__getstate__())  # type: ignore[arg-type]

    def _outcomes_of(self, results: CvResults, n_samples: int) -> dict[str, Outcome]:
        """What each metric says, by its name, from the table of scikit-learn's loop."""
        start = "mean_test_"
        metrics = [name.removeprefix(start) for name in results if name.startswith(start)]
        return {m: outcome_of_results(results, m, loss_of(self.scoring, m), n_samples) for m in metrics}
