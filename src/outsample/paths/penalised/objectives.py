"""The objective that each penalised linear model of scikit-learn minimises, read off the fitted estimator.

Each is written in sum form, Σ_i w_i l(y_i, η_i) + penalty. Where scikit-learn divides the losses by the total
weight (lasso, elastic net, generalised linear models), the penalty is multiplied by it instead, and leaving a row
out takes that row's share of the penalty away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.utils.class_weight import compute_class_weight

from outsample.data.tables import Table, n_columns
from outsample.paths.penalised.approximate import LocalObjective
from outsample.running.arrays import Array, Floats

Derivatives = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Labels:
    """y as the learner saw it.

    Attributes
    ----------
    values : (n,) class codes or real values; (n, outputs) for several outputs.
    classes : the sorted class labels, None for regression.
    weight : (n,) sample weights.
    """

    values: Array
    classes: Array | None
    weight: Floats

    def class_weights(self, setting: Any) -> Floats:
        """Weight of each class, (K,), from the learner's `class_weight`."""
        assert self.classes is not None
        if setting is None:
            return np.ones(len(self.classes))
        known = {} if (self.weight == 1).all() else {"sample_weight": self.weight}
        return np.asarray(compute_class_weight(setting, classes=self.classes, y=self.classes[self.values], **known))


def objectives_of(model: BaseEstimator, X: Table, labels: Labels) -> list[LocalObjective]:
    """The objectives that a fitted model minimises: one; or one per output, or per class against the rest."""
    return _READERS[type(model)](model, X, labels)


def knows(estimator: BaseEstimator) -> bool:
    """Whether the objective of this learner is known and smooth in the linear predictor."""
    if type(estimator) is LinearSVC:
        return bool(estimator.loss == "squared_hinge" and estimator.multi_class == "ovr")
    if type(estimator) is LinearSVR:
        return bool(estimator.loss == "squared_epsilon_insensitive")
    return type(estimator) in _READERS and getattr(estimator, "multi_class", "auto") in ("auto", "deprecated")


def squared_everywhere(estimator: BaseEstimator) -> bool:
    """Whether loss and penalty are quadratic, so that one Newton step is the exact answer."""
    return type(estimator) in (LinearRegression, Ridge) and not estimator.positive


def answer(model: BaseEstimator, predictor: Floats, response: str) -> Array:
    """What the model answers at linear predictors (n, columns): codes, values, probabilities or decisions."""
    if not hasattr(model, "classes_"):
        values = np.exp(predictor) if _log_link(model) else predictor
        return values[:, 0] if model.coef_.ndim == 1 else values
    binary = predictor.shape[1] == 1
    if response == "decision_function":
        return predictor[:, 0] if binary else predictor
    if response == "predict":
        return (predictor[:, 0] > 0).astype(np.intp) if binary else predictor.argmax(axis=1)
    if binary:
        positive = expit(predictor[:, 0])
        return np.stack([1 - positive, positive], axis=1)
    return np.asarray(softmax(predictor, axis=1))


def _predictor(model: BaseEstimator, X: Table) -> Floats:
    """(n, columns) linear predictors of the fitted model."""
    return np.asarray(X @ np.atleast_2d(model.coef_).T + np.atleast_1d(model.intercept_))


def _one_output(X: Table, predictor: Floats, weight: Floats, derivatives: Derivatives, **more: Any) -> LocalObjective:
    """The objective of a single linear predictor (n,); `active` (p,) tells the columns in use, all by default."""
    first, second = derivatives
    active = more.pop("active", None)
    return LocalObjective(
        X=X,
        predictor=predictor[:, None],
        gradient=(weight * first)[:, None],
        curvature=(weight * second)[:, None, None],
        active=np.ones((1, n_columns(X)), dtype=bool) if active is None else active[None],
        intercept=np.array([more.pop("intercept")]),
        **more,
    )


def _least_squares(model: BaseEstimator, X: Table, labels: Labels) -> list[LocalObjective]:
    """½ Σ w (y − η)² + ½ ridge ‖β‖² + L1 penalty, each output on its own."""
    lasso = isinstance(model, ElasticNet)
    total = float(labels.weight.sum())
    predictor, coefficients = _predictor(model, X), np.atleast_2d(model.coef_)
    ridge = total * model.alpha * (1 - model.l1_ratio) if lasso else getattr(model, "alpha", 0.0)
    Y = labels.values.reshape(len(predictor), -1)
    return [
        _one_output(
            X,
            predictor[:, k],
            labels.weight,
            (predictor[:, k] - Y[:, k], np.ones(len(Y))),
            active=coefficients[k] != 0 if lasso or model.positive else None,
            intercept=model.fit_intercept,
            ridge=float(np.broadcast_to(ridge, Y.shape[1])[k]),
            share=labels.weight / total if lasso else 0.0,
        )
        for k in range(Y.shape[1])
    ]


def _generalised_linear(model: BaseEstimator, X: Table, labels: Labels) -> list[LocalObjective]:
    """Σ w deviance/2 + ½ W alpha ‖β‖², W the total weight."""
    predictor, total = _predictor(model, X)[:, 0], float(labels.weight.sum())
    power = {PoissonRegressor: 1.0, GammaRegressor: 2.0}.get(type(model)) or float(getattr(model, "power", 0.0))
    derivatives = _deviance if _log_link(model) else _deviance_identity
    return [
        _one_output(
            X,
            predictor,
            labels.weight,
            derivatives(labels.values, predictor, power),
            intercept=model.fit_intercept,
            ridge=total * model.alpha,
            share=labels.weight / total,
        )
    ]


def _log_link(model: BaseEstimator) -> bool:
    if type(model) is TweedieRegressor:
        return bool(model.link == "log" or (model.link == "auto" and model.power > 0))
    return type(model) in (PoissonRegressor, GammaRegressor)


def _deviance(y: Array, predictor: Floats, power: float) -> Derivatives:
    """Derivatives of half the Tweedie deviance in η, mean e^η and variance mean^power."""
    mean = np.exp(predictor)
    lower, upper = y * mean ** (1 - power), mean ** (2 - power)
    return upper - lower, (2 - power) * upper - (1 - power) * lower


def _deviance_identity(y: Array, predictor: Floats, power: float) -> Derivatives:
    """Derivatives of half the Tweedie deviance in η, mean η and variance mean^power."""
    if power == 0:
        return predictor - y, np.ones_like(predictor)
    scaled = predictor**-power
    return (predictor - y) * scaled, scaled - power * (predictor - y) * scaled / predictor


def _logistic(model: BaseEstimator, X: Table, labels: Labels) -> list[LocalObjective]:
    """Σ w log-loss + ((1 − ρ)/2C) ‖β‖² + (ρ/C) ‖β‖₁; liblinear penalises the constant too."""
    predictor, codes = _predictor(model, X), labels.values
    weight = labels.weight * labels.class_weights(model.class_weight)[codes]
    l1_ratio, strength = _logistic_penalty(model)
    through_liblinear = model.solver == "liblinear"
    if through_liblinear and predictor.shape[1] > 1:
        raise ValueError('criterion "alo": liblinear fits each class against the rest; use solver "lbfgs" instead')
    probability = answer(model, predictor, "predict_proba")
    if predictor.shape[1] == 1:
        probability = probability[:, 1:]
        gradient = probability - (codes == 1)[:, None]
        curvature = (probability * (1 - probability))[..., None]
    else:
        gradient = probability - np.eye(probability.shape[1])[codes]
        curvature = probability[:, :, None] * (np.eye(probability.shape[1]) - probability[:, None])
    ridge = (1 - l1_ratio) * strength
    constant = float(model.intercept_scaling) if through_liblinear else 1.0
    intercept = np.full(predictor.shape[1], model.fit_intercept)
    if through_liblinear and l1_ratio > 0:
        intercept &= model.intercept_ != 0
    return [
        LocalObjective(
            X=X,
            predictor=predictor,
            gradient=weight[:, None] * gradient,
            curvature=weight[:, None, None] * curvature,
            active=model.coef_ != 0 if l1_ratio > 0 else np.ones(model.coef_.shape, dtype=bool),
            intercept=intercept,
            ridge=ridge,
            constant=constant,
            constant_ridge=ridge if through_liblinear else 0.0,
            shift_invariant=predictor.shape[1] > 1,
        )
    ]


def _logistic_penalty(model: BaseEstimator) -> tuple[float, float]:
    """(share of L1, strength); `penalty` is the older way to say it."""
    penalty = getattr(model, "penalty", "deprecated")
    named = {"l2": 0.0, "l1": 1.0}.get(penalty)
    strength = 0.0 if penalty is None or np.isinf(model.C) else 1.0 / model.C
    return (float(model.l1_ratio or 0.0) if named is None else named), strength


def _huber(model: BaseEstimator, X: Table, labels: Labels) -> list[LocalObjective]:
    """Σ w (σ + σ ρ((y − η)/σ)) + alpha ‖β‖², minimised over the scale σ as well: a second output, constant in x."""
    predictor, scale = _predictor(model, X)[:, 0], model.scale_
    residual = (labels.values - predictor) / scale
    inside = np.abs(residual) <= model.epsilon
    clipped = np.clip(residual, -model.epsilon, model.epsilon)
    gradient = np.stack([-2 * clipped, 1 - clipped**2], axis=1)
    direction = np.stack([np.ones_like(residual), residual], axis=1)
    curvature = (2 * inside / scale)[:, None, None] * direction[:, :, None] * direction[:, None]
    p = n_columns(X)
    return [
        LocalObjective(
            X=X,
            predictor=np.stack([predictor, np.full_like(predictor, scale)], axis=1),
            gradient=labels.weight[:, None] * gradient,
            curvature=labels.weight[:, None, None] * curvature,
            active=np.array([[True] * p, [False] * p]),
            intercept=np.array([model.fit_intercept, True]),
            ridge=2 * model.alpha,
        )
    ]


def _support_vectors(model: BaseEstimator, X: Table, labels: Labels) -> list[LocalObjective]:
    """Σ w max(0, 1 − y η)² + ‖β‖²/2C (or ‖β‖₁/C), each class against the rest; the constant is penalised."""
    predictor, codes = _predictor(model, X), labels.values
    by_class = labels.class_weights(model.class_weight)
    binary = predictor.shape[1] == 1
    objectives = []
    for k in range(predictor.shape[1]):
        sign = np.where(codes == (1 if binary else k), 1.0, -1.0)
        # One class against the rest: liblinear applies the weight of the class to its rows, and none to the rest.
        weight = labels.weight * (by_class[codes] if binary else np.where(sign > 0, by_class[k], 1.0))
        gap = np.maximum(0.0, 1 - sign * predictor[:, k])
        derivatives = (-2 * sign * gap, np.where(gap > 0, 2.0, 0.0))
        coefficients, constant = np.atleast_2d(model.coef_)[k], np.atleast_1d(model.intercept_)[k]
        objectives.append(_liblinear(model, X, predictor[:, k], weight, derivatives, coefficients, constant))
    return objectives


def _support_vector_regression(model: BaseEstimator, X: Table, labels: Labels) -> list[LocalObjective]:
    """Σ w max(0, |y − η| − ε)² + ‖β‖²/2C; the constant is penalised."""
    predictor = _predictor(model, X)[:, 0]
    residual = labels.values - predictor
    excess: Floats = np.maximum(0.0, np.abs(residual) - model.epsilon)
    derivatives = (-2 * np.sign(residual) * excess, np.where(excess > 0, 2.0, 0.0))
    constant = float(np.ravel(model.intercept_)[0])
    return [_liblinear(model, X, predictor, labels.weight, derivatives, np.ravel(model.coef_), constant)]


def _liblinear(
    model: BaseEstimator,
    X: Table,
    predictor: Floats,
    weight: Floats,
    derivatives: Derivatives,
    coefficients: Floats,
    constant: float,
) -> LocalObjective:
    lasso = getattr(model, "penalty", "l2") == "l1"
    ridge = 0.0 if lasso else 1.0 / model.C
    return _one_output(
        X,
        predictor,
        weight,
        derivatives,
        active=coefficients != 0 if lasso else None,
        intercept=bool(model.fit_intercept and (constant != 0 or not lasso)),
        ridge=ridge,
        constant=float(model.intercept_scaling),
        constant_ridge=ridge,
    )


_READERS: dict[type, Callable[[Any, Any, Labels], list[LocalObjective]]] = {
    LinearRegression: _least_squares,
    Ridge: _least_squares,
    Lasso: _least_squares,
    ElasticNet: _least_squares,
    LogisticRegression: _logistic,
    PoissonRegressor: _generalised_linear,
    GammaRegressor: _generalised_linear,
    TweedieRegressor: _generalised_linear,
    HuberRegressor: _huber,
    LinearSVC: _support_vectors,
    LinearSVR: _support_vector_regression,
}

KNOWN = ", ".join(sorted(reader.__name__ for reader in _READERS))
