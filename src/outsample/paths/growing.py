"""Forests and bags that grow: a fitted ensemble gets more estimators, the same that a fit of that size gives it.

scikit-learn draws one seed per estimator, in order, from the ensemble's own. With `warm_start` it skips those of the
estimators that are there, so that an ensemble that grew in steps is the one that was fitted in one go.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from outsample.data.learners import fit, last_step
from outsample.data.tables import Table, lend
from outsample.paths.dispatch import is_patched
from outsample.paths.out_of_bag import SIZE, is_bag, objection, read_by_ensemble
from outsample.running.arrays import Array, Floats
from outsample.running.kept_fits import setting_key


def objection_to_growth(estimator: BaseEstimator) -> str | None:
    """Why an ensemble, alone or at the end of a pipeline, cannot grow in steps; None where it can."""
    reason = objection(estimator)
    if reason is not None:
        return reason
    ensemble, size = last_step(estimator), last_step(estimator).get_params()[SIZE]
    if is_patched(type(ensemble)):
        return "grows the forests of scikit-learn only, not those of scikit-learn-intelex"
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        return f"needs a whole number of trees, not {SIZE}={size!r}"
    if not isinstance(ensemble.random_state, int | np.integer | None):
        return "needs a random_state that is a whole number or None: another one changes with every fit"
    if is_bag(ensemble) and ensemble.oob_score:
        return "cannot go with oob_score=True, for which scikit-learn fits a bag in one go"
    if isinstance(estimator, Pipeline) and any(isinstance(step, Pipeline) for _, step in estimator.steps):
        return "does not look into pipelines within pipelines"
    return None


@dataclass(frozen=True, eq=False)
class Growing:
    """An ensemble on its way to its full size; picklable.

    Attributes
    ----------
    model : the ensemble so far, alone or at the end of a fitted pipeline.
    X : what the ensemble is fitted to where earlier steps make it; None where it is the table itself.
    warm_start : the user's own setting.
    """

    model: Any
    X: Any
    warm_start: bool

    @property
    def ensemble(self) -> Any:
        """The ensemble itself."""
        return last_step(self.model)

    @property
    def size(self) -> int:
        """Estimators so far."""
        return len(self.ensemble.estimators_)

    def grow(self, size: int, X: Table, labels: Array, weight: Floats | None) -> None:
        """Add estimators up to this size, in place."""
        if size <= self.size:
            return
        seeds = getattr(self.ensemble, "_seeds", None)
        _fit_up_to(self.ensemble, size, X if self.X is None else self.X, labels, weight)
        if seeds is not None:
            # Where bags keep the seeds that `estimators_samples_` is made from; a warm start forgets the first ones.
            self.ensemble._seeds = np.concatenate([seeds, self.ensemble._seeds])

    def finished(self) -> Any:
        """The model as a fit of this size in one go leaves it."""
        self.ensemble.set_params(warm_start=self.warm_start)
        return self.model


Ahead = tuple[Pipeline, Any]
"""Fitted steps before an ensemble, and what they made of X while they were fitted."""


def _steps_ahead(learner: BaseEstimator) -> Pipeline | None:
    """The steps of a pipeline before its last one, None where there are none."""
    return learner[:-1] if isinstance(learner, Pipeline) and len(learner.steps) > 1 else None


def _fitted_ahead(steps: Pipeline, X: Table, labels: Array) -> Ahead:
    """The steps, fitted in place, and what they made of X."""
    return steps, lend(steps, steps.fit_transform, X, labels)


def planted(
    learner: BaseEstimator, size: int, X: Table, labels: Array, weight: Floats | None, ahead: Ahead | None = None
) -> Growing:
    """An unfitted ensemble, alone or at the end of a pipeline, fitted in place with so many estimators, to grow on.

    Parameters
    ----------
    ahead : the steps before it, where they are fitted already.
    """
    ensemble, made, steps = last_step(learner), None, _steps_ahead(learner)
    if steps is not None:
        fitted, made = _fitted_ahead(steps, X, labels) if ahead is None else ahead
        learner.steps[:-1] = fitted.steps
    own = bool(ensemble.warm_start)
    _fit_up_to(ensemble, size, X if made is None else made, labels, weight)
    return Growing(learner, made, own)


def _fit_up_to(ensemble: Any, size: int, X: Any, labels: Array, weight: Floats | None) -> None:
    ensemble.set_params(warm_start=True, **{SIZE: size})
    with warnings.catch_warnings():
        # Weights by class frequency are those of all rows, which are the same in every step.
        warnings.filterwarnings("ignore", "class_weight presets")
        # Nor is the score out of bag that of the finished forest before it is one.
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        fit(ensemble, X, labels, weight)


class SharedSteps:
    """Steps before forests, fitted once to all rows for all forests that have the same; picklable, without the fits.

    Threads that need the same ones at the same moment may each fit them, and all of them get those of one.

    Parameters
    ----------
    learners : the forests, alone or at the end of pipelines, with their random states.
    """

    def __init__(self, learners: Sequence[Any]) -> None:
        keys = [_key_of(_steps_ahead(learner)) for learner in learners]
        often = Counter(keys)
        self._learners, self._keys = learners, [key if often[key] > 1 else None for key in keys]
        self._fitted: dict[str, Ahead] = {}
        self._tables: dict[str, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_fitted": {}, "_tables": {}}

    def fitted(self, e: int, X: Table, labels: Array) -> Ahead | None:
        """The steps before a forest and what they made of X while they were fitted; None where no others have them."""
        key = self._keys[e]
        if key is None:
            return None
        if key not in self._fitted:
            self._fitted.setdefault(key, _fitted_ahead(clone(_steps_ahead(self._learners[e])), X, labels))
        return self._fitted[key]

    def read(self, e: int, model: Any, X: Table) -> Any:
        """X as the earlier steps of a fitted pipeline transform it for its forest."""
        key = self._keys[e]
        if key is None:
            return read_by_ensemble(model, X)
        if key not in self._tables:
            self._tables.setdefault(key, read_by_ensemble(model, X))
        return self._tables[key]


def _key_of(steps: Pipeline | None) -> str | None:
    """What tells steps from others; None where there are none, or that cannot be told."""
    return None if steps is None else setting_key(steps)
