"""The few things done to a scikit-learn estimator: seed it, fit it with weights, read its predictions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from outsample.data.lending import lend
from outsample.data.tables import Table, n_rows
from outsample.running.arrays import Array

# Whose `score` is accuracy or r2; the last four only allow for X=None besides.
_SCORED_AS_USUAL = (
    ClassifierMixin,
    RegressorMixin,
    DummyClassifier,
    DummyRegressor,
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
)


# How far probabilities may sum to something other than one: those of single precision do.
PROBABILITY_TOLERANCE = 1e-4


class FitError(RuntimeError):
    """A learner raised while it was fitted to drawn labels or a resampled part of the rows."""


def seeded(estimator: BaseEstimator, seed: int | None) -> Any:
    """A clone whose unset random states are derived from `seed`; random states the user set stay."""
    copy = clone(estimator)
    if seed is None:
        return copy
    unset = [
        name
        for name, value in sorted(copy.get_params(deep=True).items())
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    ]
    if unset:
        states = np.random.SeedSequence(seed).generate_state(len(unset))
        copy.set_params(**{name: int(s % (2**31 - 1)) for name, s in zip(unset, states, strict=True)})
    return copy


def with_params(estimator: BaseEstimator, params: Mapping[str, Any]) -> Any:
    """A clone with these parameters; values that are estimators are cloned too, as scikit-learn's searches do it.

    A value of a grid serves several settings, and parameters below it are set on it: shared, every setting would have
    the last one's, and so would the object of the user.
    """
    own = {name: clone(value, safe=False) for name, value in params.items()}
    return clone(estimator).set_params(**own)


def last_step(estimator: BaseEstimator) -> Any:
    """The estimator that makes the prediction: the last step of a pipeline, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def is_pairwise(estimator: BaseEstimator, params: Mapping[str, Any] | None = None) -> bool:
    """Whether a learner with these `params` reads a number for every pair of rows: a kernel matrix or distances."""
    if params:
        own = {name: clone(value, safe=False) for name, value in params.items()}
        estimator = clone(estimator).set_params(**own)
    return bool(get_tags(estimator).input_tags.pairwise)


def usual_score(estimator: BaseEstimator) -> str | None:
    """What the learner's own `score` computes: "accuracy" or "r2"; None where it is a method of its own."""
    own = inspect.getattr_static(type(estimator), "score", None)
    if own is inspect.getattr_static(Pipeline, "score"):
        return usual_score(last_step(estimator))
    if own is None or any(own is learner.score for learner in _SCORED_AS_USUAL):
        return "r2" if is_regressor(estimator) else "accuracy"
    return None


def takes_weight(estimator: BaseEstimator, method: str = "fit") -> bool:
    """Whether a method can be given one weight per sample; a search hands it on to what it searches over."""
    learner = last_step(estimator)
    parameters = inspect.signature(getattr(learner, method)).parameters.values()
    if any(p.name == "sample_weight" for p in parameters):
        return True
    hands_on = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return hands_on and hasattr(learner, "estimator") and takes_weight(learner.estimator)


def fit(estimator: BaseEstimator, X: Table, y: Array, weight: Array | None = None) -> Any:
    """Fit in place, the weight routed to the last step of a pipeline; returns the estimator."""
    if weight is None:
        return lend(estimator, estimator.fit, X, y)
    name = _weight_name(estimator)
    return lend(estimator, lambda X, y, weight: estimator.fit(X, y, **{name: weight}), X, y, weight)


def _weight_name(estimator: BaseEstimator) -> str:
    prefix = ""
    while isinstance(estimator, Pipeline) and not get_config().get("enable_metadata_routing", False):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return f"{prefix}sample_weight"


def respond(model: BaseEstimator, X: Table, response: str, classes: Array | None) -> Array:
    """Predictions of a fitted model: class codes, real values, probabilities or decision values.

    Columns of probabilities and decision values follow `classes`, also when the model saw fewer of them.

    Raises
    ------
    ValueError
        For predictions that are none: of another length than X, not finite, probabilities that do not sum to one.
    """
    raw = np.asarray(lend(model, getattr(model, response), X))
    check_predictions(raw, n_rows(X), response)
    if classes is None:
        values = raw.astype(np.float64, copy=False)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if response == "predict":
        return encode(raw.reshape(raw.shape[0]), classes)
    return in_class_order(raw, encode(np.asarray(model.classes_), classes), response, len(classes))


def check_predictions(raw: Array, n: int, response: str) -> None:
    """Raise ValueError for predictions of n rows that no learner should give."""
    if raw.ndim == 0 or len(raw) != n:
        raise ValueError(f"{response} gave {raw.size if raw.ndim == 0 else len(raw)} predictions for {n} rows")
    if raw.dtype.kind == "c":
        raise ValueError(f"{response} gave complex numbers")
    if raw.dtype.kind == "f" and not np.isfinite(raw).all():
        rows = int((~np.isfinite(raw)).reshape(n, -1).any(axis=1).sum())
        raise ValueError(f"{response} gave values that are not finite, for {rows} of {n} rows")
    if response == "predict_proba":
        sums = raw.sum(axis=-1)
        off = (np.abs(sums - 1.0) > PROBABILITY_TOLERANCE) | (raw < -PROBABILITY_TOLERANCE).any(axis=-1)
        if off.any():
            row = int(np.argmax(off))
            raise ValueError(f"predict_proba gave no probabilities: those of row {row} are {raw[row][:4]}")


def in_class_order(raw: Array, seen: NDArray[np.intp], response: str, n_classes: int) -> Array:
    """Probabilities or decision values of a model that saw the classes `seen`, as columns of all classes.

    A class the model never saw gets probability zero, and a decision value that never wins a row.
    """
    if len(seen) == n_classes:
        return raw
    fill = 0.0 if response == "predict_proba" else raw.min() - 1.0
    if raw.ndim == 1:
        raw = np.stack([-raw, raw], axis=1)
    full = np.full((raw.shape[0], n_classes), fill)
    full[:, seen] = raw
    return full


def constant_response(code: int, n: int, response: str, n_classes: int) -> Array:
    """What any classifier must answer after seeing one class only."""
    if response == "predict":
        return np.full(n, code)
    one_hot = np.zeros((n, n_classes))
    one_hot[:, code] = 1.0
    if response == "decision_function":
        return 2.0 * one_hot[:, 1] - 1.0 if n_classes == 2 else 2.0 * one_hot - 1.0
    return one_hot


def encode(labels: Array, classes: Array) -> NDArray[np.intp]:
    """Positions of `labels` in the sorted `classes`."""
    codes = np.searchsorted(classes, labels)
    codes = np.minimum(codes, len(classes) - 1)
    if not np.array_equal(classes[codes], labels):
        strangers = np.setdiff1d(labels, classes)[:3]
        raise ValueError(f"labels {strangers.tolist()} are not among the classes {classes.tolist()[:10]}")
    return codes
