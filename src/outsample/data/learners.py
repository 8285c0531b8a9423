"""What is done to a scikit-learn estimator: clone it with parameters or a seed, fit it, read its predictions."""

from __future__ import annotations

import inspect
import reprlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from outsample.data.early_stopping import gives_validation_rows, stops_early, validation_parameters, validation_rows
from outsample.data.tables import Table, lend, n_rows, rows
from outsample.running.arrays import Array
from outsample.running.fits import count_fits, uncounted_fits

# Classes whose `score` is accuracy or r2. The last four override it only to accept X=None.
_SCORED_AS_USUAL = (
    ClassifierMixin,
    RegressorMixin,
    DummyClassifier,
    DummyRegressor,
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
)

# How far the sum of probabilities may be from one: those in single precision are off by about 1e-7 per class.
PROBABILITY_TOLERANCE = 1e-4


class FitError(RuntimeError):
    """A learner raised an error while it was fitted to drawn labels or resampled rows."""


def check_learner(value: object, name: str = "estimator", methods: Sequence[str] = ("fit", "predict")) -> None:
    """Raise TypeError for what is no estimator: a class, a name, a function, None."""
    if isinstance(value, type):
        raise TypeError(f"{name} must be an object, got the class {value.__name__}; use {value.__name__}()")
    if not all(hasattr(value, method) for method in (*methods, "get_params", "__sklearn_tags__")):
        raise TypeError(f"{name} must follow scikit-learn's conventions, got {reprlib.repr(value)}")


def seeded(estimator: BaseEstimator, seed: int | None) -> Any:
    """A clone whose random states that are None are set from `seed`; those the user set are kept."""
    copy = clone(estimator)
    params = copy.get_params(deep=True)
    _keep_what_was_made(copy, params, estimator, seed)
    if seed is None:
        return copy
    unset = [
        name
        for name, value in sorted(params.items())
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    ]
    if unset:
        states = np.random.SeedSequence(seed).generate_state(len(unset))
        copy.set_params(**{name: int(s % (2**31 - 1)) for name, s in zip(unset, states, strict=True)})
    return copy


def _keep_what_was_made(copy: Any, params: Mapping[str, Any], estimator: Any, seed: int | None) -> None:
    """Give a clone with these parameters what constructors made of parameters before `set_params` changed them.

    GridSearchCV fits what `set_params` leaves, a clone would be constructed anew: PassiveAggressiveClassifier keeps
    the step that it was constructed with, whatever its C. SVR makes a random state that is no parameter.
    """
    for name, part in {"": copy, **params}.items():
        if not _is_estimator(part):
            continue
        made = vars(part).keys() - _parameters(type(part))  # type: ignore[arg-type]
        if made:
            original = vars(estimator.get_params(deep=True)[name] if name else estimator)
            if not any(attribute.endswith("_") for attribute in original):  # it was not fitted
                vars(part).update((at, original[at]) for at in made if isinstance(original.get(at), int | float | str))
        if "random_state" in made and part.random_state is None:
            part.random_state = seed


def _is_estimator(part: Any) -> bool:
    return hasattr(part, "get_params") and hasattr(part, "__dict__") and not isinstance(part, type)


@cache
def _parameters(learner: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(learner).parameters)


def with_params(estimator: BaseEstimator, params: Mapping[str, Any]) -> Any:
    """A clone with these parameters; values that are estimators are cloned too, as scikit-learn's searches do.

    Several settings of a grid may name the same estimator and different parameters of it. Without clones all settings,
    and the user's own object, would end up with the parameters that were set last.
    """
    own = {name: clone(value, safe=False) for name, value in params.items()}
    return clone(estimator).set_params(**own)


def last_step(estimator: BaseEstimator) -> Any:
    """The estimator that makes the prediction: the last step of a pipeline, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def is_pairwise(estimator: BaseEstimator, params: Mapping[str, Any] | None = None) -> bool:
    """Whether a learner with these parameters takes a number for every pair of rows: a kernel matrix or distances."""
    # Numbers do not change what X is.
    telling = {k: v for k, v in (params or {}).items() if not isinstance(v, int | float | np.number)}
    if telling:
        estimator = with_params(estimator, params or {})
    return bool(get_tags(estimator).input_tags.pairwise)


def _score_of(learner: Any) -> Any:
    """The `score` that a class defines, beneath what loggers such as MLflow wrap around it; None where it has none."""
    return inspect.unwrap(inspect.getattr_static(learner, "score", None))


def usual_score(estimator: BaseEstimator) -> str | None:
    """What the learner's `score` method computes: "accuracy" or "r2"; None where the learner defines another score."""
    own = _score_of(type(estimator))
    if own is _score_of(Pipeline):
        return usual_score(last_step(estimator))
    if own is None or any(own is _score_of(learner) for learner in _SCORED_AS_USUAL):
        return "r2" if is_regressor(estimator) else "accuracy"
    return None


def takes_weight(estimator: BaseEstimator, method: str = "fit") -> bool:
    """Whether a method takes one weight per sample. Searches pass `**params` on to the estimator that they search."""
    learner = last_step(estimator)
    parameters = inspect.signature(getattr(learner, method)).parameters.values()
    if any(p.name == "sample_weight" for p in parameters):
        return True
    passes_on = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    return passes_on and hasattr(learner, "estimator") and takes_weight(learner.estimator)


def fit(
    estimator: BaseEstimator,
    X: Table,
    y: Array,
    weight: Array | None = None,
    params: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Fit the estimator in place and return it; a pipeline passes the weight to its last step.

    A learner whose settings ask for early stopping holds validation rows out of these rows, see `early_stopping`.

    Parameters
    ----------
    params : further parameters of its `fit`, passed on as they are. An `eval_set` among them takes the place of rows
        held out; one made of rows of the user's table would tell the learner of rows that it is tested on.
    """
    count_fits()
    with uncounted_fits():
        return _fit(estimator, X, y, weight, params)


def _fit(estimator: BaseEstimator, X: Table, y: Array, weight: Array | None, params: Mapping[str, Any]) -> Any:
    learner = last_step(estimator)
    if hasattr(learner, "get_params") and stops_early(learner) and not gives_validation_rows(params):
        if isinstance(estimator, Pipeline):
            return _fit_steps(estimator, X, y, weight, params)
        return lend(learner, partial(_fit_and_validate, learner, params=params), X, y, weight)
    if weight is None:
        return lend(estimator, partial(estimator.fit, **params), X, y)
    name = _weight_name(estimator)
    return lend(estimator, lambda X, y, weight: estimator.fit(X, y, **{**params, name: weight}), X, y, weight)


def _fit_steps(pipeline: Pipeline, X: Table, y: Array, weight: Array | None, params: Mapping[str, Any]) -> Pipeline:
    """Fit a pipeline whose last step stops early: the steps before it to all rows, and it on what they make of them."""
    name, learner = pipeline.steps[-1]
    own = {key.removeprefix(f"{name}__"): value for key, value in params.items() if key.startswith(f"{name}__")}
    others = {key: value for key, value in params.items() if not key.startswith(f"{name}__")}
    if len(pipeline.steps) > 1:
        leading = pipeline[:-1]
        X = lend(leading, partial(leading.fit_transform, **others), X, y)
        pipeline.steps[:-1] = leading.steps
    _fit(learner, X, y, weight, own)
    return pipeline


def _fit_and_validate(learner: Any, X: Table, y: Array, weight: Array | None, params: Mapping[str, Any]) -> Any:
    """Fit a learner that stops early in place, with validation rows held out of its own; returns it.

    Parameters
    ----------
    params : further parameters of its `fit`; those with a value per row follow the rows that are fitted.
    """
    n, held_out = n_rows(X), validation_rows(learner, y)
    fitted = np.setdiff1d(np.arange(n), held_out)
    own = {name: rows(value, fitted) if _has_length(value, n) else value for name, value in params.items()}
    if weight is not None:
        own["sample_weight"] = weight[fitted]
    weight_of_them = None if weight is None else weight[held_out]
    given = validation_parameters(learner, rows(X, held_out), rows(y, held_out), weight_of_them)
    with warnings.catch_warnings():
        # LightGBM asks for eval_X and eval_y in place of eval_set, but reads names of classes in eval_set only.
        warnings.filterwarnings("ignore", "The argument 'eval_set' is deprecated", FutureWarning)
        return learner.fit(rows(X, fitted), rows(y, fitted), **given | own)


def _has_length(value: object, n: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | dict) and n_rows(value) == n


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
        For predictions of another length than X, that are not finite, or probabilities that do not sum to one.
    """
    # Threads of a forest add the answers of its trees in the order in which they end, which moves the last digit.
    with parallel_config("sequential"):
        raw = np.asarray(lend(model, getattr(model, response), X))
    check_predictions(raw, n_rows(X), response)
    if classes is None:
        values = raw.astype(np.float64, copy=False)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if response == "predict":
        return encode(raw.reshape(raw.shape[0]), classes)
    return in_class_order(raw, encode(np.asarray(model.classes_), classes), response, len(classes))


def check_predictions(raw: Array, n: int, response: str) -> None:
    """Raise ValueError for invalid predictions of n rows: see `respond`."""
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
    """Probabilities or decision values, (n, classes), of a model that was fitted to the classes `seen` only.

    A class the model never saw gets probability zero, or a decision value below all others.
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
    """The response of any classifier fitted to rows of one class, `code`: (n,) or (n, classes)."""
    if response == "predict":
        return np.full(n, code)
    one_hot = np.zeros((n, n_classes))
    one_hot[:, code] = 1.0
    if response == "decision_function":
        return 2.0 * one_hot[:, 1] - 1.0 if n_classes == 2 else 2.0 * one_hot - 1.0
    return one_hot


def encode(labels: Array, classes: Array) -> NDArray[np.intp]:
    """Positions of `labels` in the sorted `classes`, (n,); raises ValueError for labels that are not among them."""
    codes = np.searchsorted(classes, labels)
    codes = np.minimum(codes, len(classes) - 1)
    if not np.array_equal(classes[codes], labels):
        strangers = np.setdiff1d(labels, classes)[:3]
        raise ValueError(f"labels {strangers.tolist()} are not among the classes {classes.tolist()[:10]}")
    return codes
