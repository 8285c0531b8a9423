"""LightGBM and XGBoost along `n_estimators`; neither is imported unless the estimator is one of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import is_classifier

from outsample.tables import n_rows

from .base import Array, Floats
from .onefit import OneFitPath, at_sizes

_LEAF_TABLE_BYTES = 64 * 2**20


def _is_one_of(estimator: Any, package: str, names: Sequence[str]) -> bool:
    """Whether the estimator is exactly one of a package's classes; imports it only if it is in use."""
    if not type(estimator).__module__.startswith(package + "."):
        return False
    return type(estimator) in [getattr(import_module(package), name) for name in names]


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
    def recognise(cls, estimator: Any, parameter: str | None) -> str | None:
        if not _is_one_of(estimator, "lightgbm", ("LGBMClassifier", "LGBMRegressor")):
            return None
        settings = estimator.get_params()
        known = type(estimator)().get_params().keys() | cls._harmless
        objectives = (None,) if is_classifier(estimator) else cls._objectives
        covered = settings["boosting_type"] == "gbdt" and settings["objective"] in objectives
        plain = covered and settings.keys() <= known
        return "n_estimators" if plain and parameter in (None, "n_estimators") else None

    def answers(self, model: Any, X: Any, response: str) -> Iterable[Array]:
        return (_lightgbm_response(model, raw, response) for raw in at_sizes(_raw_scores(model, X), self.sizes))


def _raw_scores(model: Any, X: Any) -> Iterator[Floats]:
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


def _lightgbm_response(model: Any, raw: Floats, response: str) -> Array:
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
    def recognise(cls, estimator: Any, parameter: str | None) -> str | None:
        if not _is_one_of(estimator, "xgboost", ("XGBClassifier", "XGBRegressor")):
            return None
        settings = estimator.get_params()
        plain = (
            settings["booster"] in (None, "gbtree")
            and settings["early_stopping_rounds"] is None
            and settings["callbacks"] is None
            and settings["multi_strategy"] in (None, "one_output_per_tree")
        )
        return "n_estimators" if plain and parameter in (None, "n_estimators") else None

    def answers(self, model: Any, X: Any, response: str) -> Iterator[Array]:
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
