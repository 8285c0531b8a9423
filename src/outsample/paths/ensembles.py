"""Forests, bags and boosting: the first m estimators of a large ensemble are the ensemble of size m.

Forests and bags draw one seed per estimator, in order, so that no estimator depends on how many follow. Boosting adds
its estimators one after the other, so that a shorter run is the beginning of a longer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, is_classifier
from sklearn.ensemble import AdaBoostRegressor, BaggingClassifier, BaggingRegressor
from sklearn.utils import check_array

from outsample.data.tables import Table, n_rows
from outsample.paths.one_fit import OneFitPath, at_sizes
from outsample.running.arrays import Array, Floats

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
            yield _all_columns(estimator.predict_proba(Z), estimator.classes_, model.n_classes_)
        else:
            yield np.eye(model.n_classes_)[estimator.predict(Z)]


def _all_columns(shares: Array, seen: Array, n_classes: int) -> Array:
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


_LEAF_TABLE_BYTES = 64 * 2**20


class LightGBMPath(OneFitPath):
    """LGBMClassifier and LGBMRegressor along `n_estimators`.

    One fit per label vector; each row's leaves are looked up once, and their values added tree by tree,
    in LightGBM's own order. The data set is binned anew for each label vector: LightGBM's scikit-learn
    classes take no binned data. Not served: dart and rf, whose runs are not nested, linear trees, and
    objectives that transform their raw scores.
    """

    responses = frozenset({"predict", "predict_proba"})
    _objectives = (None, "regression", "regression_l1", "l1", "l2", "mae", "mse", "huber", "quantile", "fair")
    _harmless = frozenset(
        {"verbose", "verbosity", "max_bin", "deterministic", "force_col_wise", "force_row_wise", "extra_trees"}
    )

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        settings = estimator.get_params()
        known = type(estimator)().get_params().keys() | cls._harmless
        objectives = (None,) if is_classifier(estimator) else cls._objectives
        covered = settings["boosting_type"] == "gbdt" and settings["objective"] in objectives
        return bool(covered and settings.keys() <= known)

    def answers(self, model: BaseEstimator, X: Table, response: str) -> Iterable[Array]:
        return (_lightgbm_response(model, raw, response) for raw in at_sizes(_raw_scores(model, X), self.sizes))


def _raw_scores(model: BaseEstimator, X: Table) -> Iterator[Floats]:
    """Raw scores after each iteration, (n, trees per iteration)."""
    n, booster = n_rows(X), model.booster_
    width = booster.num_model_per_iteration()
    raw = np.zeros((n, width))
    at_once = max(1, _LEAF_TABLE_BYTES // (8 * n * width))
    for start in range(0, booster.current_iteration(), at_once):
        leaves = model.predict(X, pred_leaf=True, start_iteration=start, num_iteration=at_once)
        leaves = np.asarray(leaves).reshape(n, -1, width).astype(np.intp)
        for i in range(leaves.shape[1]):
            raw = raw.copy()
            for k in range(width):
                leaf = leaves[:, i, k]
                tree = (start + i) * width + k
                values = [booster.get_leaf_output(tree, j) for j in range(int(leaf.max()) + 1)]
                raw[:, k] += np.array(values)[leaf]
            yield raw


def _lightgbm_response(model: BaseEstimator, raw: Floats, response: str) -> Array:
    if not is_classifier(model):
        return raw[:, 0]
    if raw.shape[1] == 1:
        second = 1.0 / (1.0 + np.exp(-raw[:, 0]))
        probability = np.column_stack([1.0 - second, second])
    else:
        probability = softmax(raw, axis=1)
    return np.argmax(probability, axis=1) if response == "predict" else probability


class XGBoostPath(OneFitPath):
    """XGBClassifier and XGBRegressor along `n_estimators`.

    One fit per label vector; each size starts from the margins of the size before, so every tree is asked
    twice at most, once where the margins are the answer, and sums are XGBoost's own, in single precision.
    The data set is binned anew for each label vector: XGBoost's scikit-learn classes take no binned data.
    Not served: dart and linear boosters.
    """

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        settings = estimator.get_params()
        return (
            settings["booster"] in (None, "gbtree")
            and settings["early_stopping_rounds"] is None
            and settings["callbacks"] is None
            and settings["multi_strategy"] in (None, "one_output_per_tree")
        )

    def answers(self, model: BaseEstimator, X: Table, response: str) -> Iterator[Array]:
        margin, reached, answer = None, 0, None
        plain = not is_classifier(model) and model.objective in (None, "reg:squarederror")
        for size in self.sizes:
            if size > reached:
                following = {"base_margin": margin, "iteration_range": (reached, size)}
                margin = model.predict(X, output_margin=True, **following)
                answer = margin if plain else getattr(model, response)(X, **following)
                reached = size
            assert answer is not None
            yield answer
