"""LightGBM, XGBoost and CatBoost along the number of their stages: the first m stages of a run are the run of m stages.

That holds for settings under which no stage knows how many will follow it and no stage changes an earlier one; the
others are left to refits. Scores of all stages together cost about one prediction, because each stage adds its own to
those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, is_classifier

from outsample.data.tables import Table, n_rows, rows
from outsample.paths.one_fit import OneFitPath, at_sizes
from outsample.running.arrays import Array, Floats

_LEAF_TABLE_BYTES = 64 * 2**20

# Sums and exponentials in another order than LightGBM's differ by less than this; closer classes are as good as tied.
_ROUNDING = 1e-12


class LightGBMPath(OneFitPath):
    """LGBMClassifier and LGBMRegressor along `n_estimators`.

    One fit per label vector; each row's leaves are looked up once, and their values added tree by tree,
    in LightGBM's own order. The data set is binned anew for each label vector: LightGBM's scikit-learn
    classes take no binned data. Not served: dart and rf, whose runs are not nested, linear trees, early
    stopping, and objectives that transform their raw scores in ways not listed here.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    _classifications = frozenset({None, "binary", "multiclass", "softmax"})
    _identities = frozenset(
        {None, "regression", "regression_l2", "l2", "mean_squared_error", "mse", "l2_root", "rmse"}
        | {"regression_l1", "l1", "mean_absolute_error", "mae", "huber", "fair", "quantile"}
        | {"mape", "mean_absolute_percentage_error"}
    )
    _exponentials = frozenset({"poisson", "gamma", "tweedie"})

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        settings = estimator.get_params()
        objectives = cls._classifications if is_classifier(estimator) else cls._identities | cls._exponentials
        named = settings["objective"] is None or isinstance(settings["objective"], str)
        nested = settings["boosting_type"] in ("gbdt", "gbrt", "goss")
        return bool(nested and named and settings["objective"] in objectives)

    def answers(self, model: BaseEstimator, X: Table, response: str) -> Iterator[Array]:
        raw_scores = at_sizes(_raw_scores(model, X), self.sizes)
        for size, raw in zip(self.sizes, raw_scores, strict=True):
            if not is_classifier(model):
                yield np.exp(raw[:, 0]) if model.objective in self._exponentials else raw[:, 0]
            elif response == "decision_function":
                yield raw[:, 0] if raw.shape[1] == 1 else raw
            else:
                shares = _class_shares(raw)
                yield shares if response == "predict_proba" else _labels(model, X, size, shares)


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


def _class_shares(raw: Floats) -> Floats:
    """Probabilities of the classes, (n, classes), from raw scores."""
    if raw.shape[1] > 1:
        return np.asarray(softmax(raw, axis=1))
    second = 1.0 / (1.0 + np.exp(-raw[:, 0]))
    return np.column_stack([1.0 - second, second])


def _labels(model: BaseEstimator, X: Table, size: int, shares: Floats) -> Array:
    """The likeliest class of each row; LightGBM itself decides where two are tied but for rounding."""
    labels = model.classes_[np.argmax(shares, axis=1)]
    first, second = np.moveaxis(np.partition(shares, -2, axis=1)[:, -2:], 1, 0)
    tied = np.flatnonzero(second - first < _ROUNDING)
    if len(tied):
        labels[tied] = model.predict(rows(X, tied), num_iteration=size)
    return np.asarray(labels)


class XGBoostPath(OneFitPath):
    """XGBClassifier and XGBRegressor along `n_estimators`.

    One fit per label vector; X is read once, and each size starts from the margins of the size before, so every tree
    is asked twice at most, once where the margins are the answer, and sums are XGBoost's own, in single precision.
    The data set is binned anew for each label vector: XGBoost's scikit-learn classes take no binned data.
    Not served: dart and linear boosters, early stopping and other callbacks, trees of several outputs, and objectives
    of classifiers whose values are no probabilities.
    """

    responses = frozenset({"predict", "predict_proba"})

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        settings = estimator.get_params()
        objective = settings["objective"]
        probabilities = objective in (None, "binary:logistic", "multi:softprob")
        return bool(
            settings["booster"] in (None, "gbtree")
            and settings["early_stopping_rounds"] is None
            and settings["callbacks"] is None
            and settings["multi_strategy"] in (None, "one_output_per_tree")
            and settings.get("process_type") in (None, "default")
            and (objective is None or isinstance(objective, str))
            and objective != "reg:quantileerror"
            and (probabilities or not is_classifier(estimator))
        )

    def answers(self, model: BaseEstimator, X: Table, response: str) -> Iterator[Array]:
        plain = not is_classifier(model) and model.objective in (None, "reg:squarederror")
        booster, table = model.get_booster(), _as_xgboost_reads(model, X)
        reached, answer = 0, None
        for size in self.sizes:
            if size > reached:
                stages = {"iteration_range": (reached, size)}
                values = None if plain else booster.predict(table, **stages)
                margins = booster.predict(table, output_margin=True, **stages)
                table.set_base_margin(margins)
                answer = margins if values is None else _xgboost_response(model, values, response)
                reached = size
            assert answer is not None
            yield answer


def _as_xgboost_reads(model: BaseEstimator, X: Table) -> Any:
    """X as XGBoost's own matrix, made as its scikit-learn classes make it; reading X again at every stage is slow."""
    from xgboost import DMatrix

    return DMatrix(
        X,
        missing=model.missing,
        nthread=model.n_jobs,
        feature_types=model.feature_types,
        enable_categorical=model.enable_categorical,
    )


def _xgboost_response(model: BaseEstimator, values: Array, response: str) -> Array:
    """What XGBoost's scikit-learn classes make of the values of a booster."""
    if not is_classifier(model):
        return values
    if values.ndim > 1:
        return values if response == "predict_proba" else np.argmax(values, axis=1)
    if response == "predict_proba":
        return np.column_stack([1.0 - values, values])
    return (values > 0.5).astype(np.intp)


class CatBoostPath(OneFitPath):
    """CatBoostClassifier and CatBoostRegressor along `iterations`, by whichever of its names.

    One fit per label vector, then CatBoost's own staged predictions. Served with a learning rate given, because
    CatBoost's own choice of it depends on the number of iterations. Not served: Langevin boosting and shrunken
    models, which change earlier stages, early stopping, and objectives that transform their raw scores.
    """

    responses = frozenset({"predict", "predict_proba"})
    _objectives = frozenset({None, "Logloss", "CrossEntropy", "MultiClass", "RMSE", "MAE"})
    _rates = ("learning_rate", "eta")

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        settings = estimator.get_params()
        rate = any(settings.get(name) is not None for name in cls._rates)
        objective = settings.get("loss_function", settings.get("objective"))
        named = objective is None or isinstance(objective, str)
        return bool(rate and named and objective in cls._objectives)

    def answers(self, model: BaseEstimator, X: Table, response: str) -> Iterable[Array]:
        step = gcd(*self.sizes)
        threads = {"thread_count": model.get_params().get("thread_count") or -1}
        stages = getattr(model, f"staged_{response}")(X, eval_period=step, **threads)
        at_steps = at_sizes(stages, [size // step for size in self.sizes])
        return (stage[:, 0] if response == "predict" and stage.ndim == 2 else stage for stage in at_steps)
