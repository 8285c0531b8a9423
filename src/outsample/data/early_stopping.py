"""Learners that stop early, and the rows on which they find out when.

LightGBM, XGBoost and CatBoost stop when the loss on an `eval_set` no longer falls, and leave the choice of these rows
to the caller of `fit`. Inside a search they must come out of the rows that are fitted: an `eval_set` made of other
rows of the same table would hold rows that the model is tested on in some fold. So every fit holds out a share of its
own rows, the same ones for every setting.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from outsample.running.arrays import Array, Rows

# One row in so many is held out, of those sorted by label.
ONE_IN = 10

# The settings of LightGBM (by all its names for them), XGBoost and CatBoost that ask for early stopping.
_SETTINGS = (
    "early_stopping_rounds",
    "early_stopping_round",
    "early_stopping",
    "n_iter_no_change",
    "od_type",
    "od_wait",
    "od_pval",
)


def stops_early(learner: BaseEstimator) -> bool:
    """Whether the settings of a learner ask for early stopping on rows that its `fit` must be given.

    scikit-learn's own learners that stop early take these rows out of X themselves, and do not count.
    """
    if "eval_set" not in inspect.signature(learner.fit).parameters:
        return False
    settings = learner.get_params(deep=False)
    callbacks = settings.get("callbacks") or ()
    named = any(_is_set(settings.get(name)) for name in _SETTINGS)
    return named or any(type(callback).__name__ == "EarlyStopping" for callback in callbacks)


def _is_set(value: object) -> bool:
    return value is not None and value is not False and not (isinstance(value, int | float) and value <= 0)


def gives_validation_rows(names: Iterable[str]) -> bool:
    """Whether these parameters of a fit name validation rows, such as `eval_set` or `model__eval_set`."""
    return any(name.rpartition("__")[2] in ("eval_set", "eval_X") for name in names)


def validation_rows(learner: BaseEstimator, y: Array) -> Rows:
    """Rows to hold out of a fit to labels y, sorted: about one in ten, spread evenly over classes or values.

    They depend on nothing but y. A class of one row keeps it for the fit, and so does a single row in all.
    """
    order = np.random.default_rng(0).permutation(len(y))
    if np.ndim(y) == 1:
        labels = np.unique(np.asarray(y)[order], return_inverse=True)[1]
        order = order[np.argsort(labels, kind="stable")]
        if is_classifier(learner):
            order = order[np.bincount(labels)[np.sort(labels)] > 1]
    first = min(ONE_IN // 2, len(order)) - 1
    return np.sort(order[max(first, 0) :: ONE_IN]) if len(y) > 1 else np.empty(0, dtype=np.intp)


def validation_parameters(learner: Any, X: Any, y: Array, weight: Array | None) -> dict[str, Any]:
    """Validation rows as parameters of the learner's `fit`, which every library names in its own way."""
    accepted = inspect.signature(learner.fit).parameters
    given: dict[str, Any] = {"eval_set": [(X, y)]}
    if "sample_weight_eval_set" in accepted:
        given["verbose"] = False  # XGBoost prints every stage as soon as it has an eval_set
    if weight is None:
        return given
    for name in ("eval_sample_weight", "sample_weight_eval_set"):  # LightGBM, XGBoost
        if name in accepted:
            return given | {name: [weight]}
    if type(learner).__module__ == "catboost.core":
        given["eval_set"] = _catboost_pool(learner, X, y, weight)
    return given


def _catboost_pool(learner: Any, X: Any, y: Array, weight: Array) -> Any:
    """Weighted rows as CatBoost reads them, with the kinds of columns that the learner was told of."""
    from catboost import Pool

    settings = learner.get_params()
    kinds = {name: settings.get(name) for name in ("cat_features", "text_features", "embedding_features")}
    return Pool(X, y, weight=weight, **kinds)
