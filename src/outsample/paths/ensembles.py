"""Forests, bags and boosting: the first m estimators of a large ensemble are the ensemble of size m.

Forests and bags draw one seed per estimator, in order, so that no estimator depends on how many follow. Boosting adds
its estimators one after the other, so that a shorter run is the beginning of a longer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.ensemble import AdaBoostRegressor, BaggingClassifier, BaggingRegressor
from sklearn.utils import check_array

from outsample.data.tables import Table
from outsample.paths.one_fit import OneFitPath, at_sizes
from outsample.running.arrays import Array

_BAGS = (BaggingClassifier, BaggingRegressor)


class EnsemblePath(OneFitPath):
    """RandomForest, ExtraTrees and Bagging along `n_estimators`.

    One fit of the largest ensemble per label vector, then running means over its estimators, added in
    scikit-learn's order for one job. (With several jobs scikit-learn's own sums depend on which thread
    comes first, in the last digit.)
    """

    responses = frozenset({"predict", "predict_proba"})

    def richest(self) -> Any:
        """The largest ensemble, unfitted, without the out-of-bag score, which is not needed here."""
        return super().richest().set_params(oob_score=False)

    def answers(self, model: BaseEstimator, X: Table, response: str) -> Iterable[Array]:
        opinions = _bag_opinions(model, X) if type(model) in _BAGS else _forest_opinions(model, X)
        means = at_sizes(_running_means(opinions), self.sizes)
        if is_classifier(model) and response == "predict":
            return (model.classes_[np.argmax(mean, axis=1)] for mean in means)
        return means


def _running_means(opinions: Iterable[Array]) -> Iterator[Array]:
    """Mean of the first m opinions, for m = 1, 2, …"""
    total: Any = 0.0
    for count, opinion in enumerate(opinions, 1):
        total = total + opinion
        yield total / count


def _forest_opinions(model: BaseEstimator, X: Table) -> Iterator[Array]:
    """Class shares or values of each tree; X is turned into what trees read once, not once per tree."""
    X = check_array(X, dtype=np.float32, accept_sparse="csr", ensure_all_finite=False)
    for tree in model.estimators_:
        answer = tree.predict_proba if is_classifier(model) else tree.predict
        yield answer(X, check_input=False)


def _bag_opinions(model: BaseEstimator, X: Table) -> Iterator[Array]:
    """Class shares, votes or values of each estimator on its own columns."""
    table = check_array(X, dtype=None, accept_sparse=["csr", "csc"], ensure_all_finite=False)
    for estimator, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        Z = table[:, columns]
        if not is_classifier(model):
            yield estimator.predict(Z)
        elif hasattr(estimator, "predict_proba"):
            yield all_columns(estimator.predict_proba(Z), estimator.classes_, model.n_classes_)
        else:
            yield np.eye(model.n_classes_)[estimator.predict(Z)]


def all_columns(shares: Array, seen: Array, n_classes: int) -> Array:
    """Shares of the classes an estimator saw, as columns of all classes; bags fit their estimators to codes."""
    if len(seen) == n_classes:
        return shares
    full = np.zeros((len(shares), n_classes))
    full[:, seen] = shares
    return full


class StagedPath(OneFitPath):
    """GradientBoosting and AdaBoost along `n_estimators`, HistGradientBoosting along `max_iter`.

    One fit of the longest run per label vector, then scikit-learn's own staged predictions. The bins of
    HistGradientBoosting cannot be handed over from one fit to the next by any public name, so each label
    vector bins X anew.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})

    def answers(self, model: BaseEstimator, X: Table, response: str) -> Iterable[Array]:
        if type(model) is AdaBoostRegressor:
            return _weighted_medians(model, X, self.sizes)
        stages = at_sizes(getattr(model, f"staged_{response}")(X), self.sizes)
        if response == "decision_function":
            # GradientBoosting keeps a second axis in its staged decisions that its final ones do not have.
            return (stage[:, 0] if stage.shape[1:] == (1,) else stage for stage in stages)
        # GradientBoosting answers a single row with a bare number.
        return (np.atleast_1d(stage) for stage in stages)


def _weighted_medians(model: AdaBoostRegressor, X: Table, sizes: Iterable[int]) -> Iterator[Array]:
    """Weighted median of the first estimators, (n,), for each of `sizes`.

    scikit-learn's own `staged_predict` asks every estimator again at every stage; here each answers once.
    """
    opinions = np.stack([estimator.predict(X) for estimator in model.estimators_], axis=1)
    rows = np.arange(len(opinions))
    for size in sizes:
        order = np.argsort(opinions[:, :size], axis=1)
        reached = np.cumsum(model.estimator_weights_[order], axis=1)
        middle = np.argmax(reached >= 0.5 * reached[:, -1:], axis=1)
        yield opinions[rows, order[rows, middle]]
