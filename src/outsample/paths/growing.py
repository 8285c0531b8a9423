"""Forests and bags that grow: a fitted ensemble gets more estimators, the same that a fit of that size gives it.

scikit-learn draws one seed per estimator, in order, from the ensemble's own. With `warm_start` it skips those of the
estimators that are there, so that an ensemble that grew in steps is the one that was fitted in one go.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from outsample.data.learners import fit, last_step
from outsample.data.tables import Table, lend
from outsample.paths.dispatch import is_patched
from outsample.paths.out_of_bag import SIZE, is_bag, objection
from outsample.running.arrays import Array, Floats


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


def planted(learner: BaseEstimator, size: int, X: Table, labels: Array, weight: Floats | None) -> Growing:
    """An unfitted ensemble, alone or at the end of a pipeline, fitted in place with so many estimators, to grow on."""
    ensemble, made = last_step(learner), None
    if isinstance(learner, Pipeline) and len(learner.steps) > 1:
        leading = learner[:-1]
        made = lend(leading, leading.fit_transform, X, labels)
        learner.steps[:-1] = leading.steps
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
