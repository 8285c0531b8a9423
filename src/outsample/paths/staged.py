"""Boosting: a run of M stages holds every shorter run.

Stages are added one at a time, each from the random state the one before left behind, so a run with fewer
stages is the beginning of a longer run. That stays true under early stopping, which looks only at the
stages so far: a run that stopped answers for every larger number of stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from .base import Array
from .onefit import OneFitPath, at_sizes


class StagedPath(OneFitPath):
    """GradientBoosting and AdaBoost along `n_estimators`, HistGradientBoosting along `max_iter`.

    One fit of the longest run per label vector, then scikit-learn's own staged predictions. The bins of
    HistGradientBoosting cannot be handed over from one fit to the next by any public name, so each label
    vector bins X anew.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    _along: ClassVar[dict[type, str]] = {
        GradientBoostingClassifier: "n_estimators",
        GradientBoostingRegressor: "n_estimators",
        AdaBoostClassifier: "n_estimators",
        AdaBoostRegressor: "n_estimators",
        HistGradientBoostingClassifier: "max_iter",
        HistGradientBoostingRegressor: "max_iter",
    }

    @classmethod
    def recognise(cls, estimator: Any, parameter: str | None) -> str | None:
        own = cls._along.get(type(estimator))
        return own if parameter in (None, own) else None

    def answers(self, model: Any, X: Any, response: str) -> Iterable[Array]:
        if type(model) is AdaBoostRegressor:
            return _weighted_medians(model, X, self.sizes)
        stages = at_sizes(getattr(model, f"staged_{response}")(X), self.sizes)
        if response == "decision_function":
            # GradientBoosting keeps a second axis in its staged decisions that its final ones do not have.
            return (stage[:, 0] if stage.shape[1:] == (1,) else stage for stage in stages)
        # GradientBoosting answers a single row with a bare number.
        return (np.atleast_1d(stage) for stage in stages)


def _weighted_medians(model: AdaBoostRegressor, X: Any, sizes: Iterable[int]) -> Iterator[Array]:
    """Median of the first members, weighted, for each of `sizes`.

    scikit-learn's own `staged_predict` asks every member again at every stage; here each answers once.
    """
    members = np.stack([member.predict(X) for member in model.estimators_], axis=1)
    rows = np.arange(len(members))
    for size in sizes:
        order = np.argsort(members[:, :size], axis=1)
        reached = np.cumsum(model.estimator_weights_[order], axis=1)
        middle = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
        yield members[rows, order[rows, middle]]
