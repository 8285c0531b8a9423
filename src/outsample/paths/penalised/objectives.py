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

from outsample.data.parameters import unknown_settings
from outsample.data.tables import n_columns
from outsample.paths.penalised.approximate import LocalObjective, Reweighting, SharedTable
from outsample.paths.penalised.row_losses import (
    Deviance,
    Huber,
    Logistic,
    MeanDeviance,
    RowLosses,
    Softmax,
    Squared,
    SquaredHinge,
    SquaredTube,
)
from outsample.running.arrays import Array, Floats


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

    def reweighting(self, setting: Any, only: int | None = None) -> Reweighting | None:
        """How weights "balanced" over the classes change when a row leaves; None for other settings.

        Parameters
        ----------
        only : the class whose rows alone have a weight; None for all classes.
        """
        if setting != "balanced":
            return None
        assert self.classes is not None
        totals = np.bincount(self.values, weights=self.weight, minlength=len(self.classes))
        left = totals - self.weight[:, None] * np.eye(len(totals))[self.values]
        # Without the last row of a class there is nothing left to be weighted.
        factors = np.where(left > 0, totals / np.where(left > 0, left, 1.0), 1.0)
        factors *= (1.0 - self.weight / totals.sum())[:, None]
        if only is None:
            return Reweighting(self.values, factors)
        own = (self.values == only).astype(np.intp)
        return Reweighting(own, np.stack([np.ones(len(factors)), factors[:, only]], axis=1))


def objectives_of(model: BaseEstimator, X: SharedTable, labels: Labels) -> list[LocalObjective]:
    """The objectives that a fitted model minimises: one; or one per output, or per class against the rest."""
    return _READERS[type(model)](model, X, labels)


def knows(estimator: BaseEstimator) -> bool:
    """Whether the objective of this learner is known and smooth in the linear predictor."""
    if unknown_settings(estimator):
        return False
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


def _predictor(model: BaseEstimator, X: SharedTable) -> Floats:
    """(n, columns) linear predictors of the fitted model."""
    return np.asarray(X.X @ np.atleast_2d(model.coef_).T + np.atleast_1d(model.intercept_))


def _one_output(X: SharedTable, predictor: Floats, losses: RowLosses, **more: Any) -> LocalObjective:
    """The objective of a single linear predictor (n,); `coefficients` (p,) where some are held at zero."""
    coefficients = more.pop("coefficients", None)
    active = np.ones((1, n_columns(X.X)), dtype=bool) if coefficients is None else coefficients[None] != 0
    return LocalObjective(
        X=X,
        predictor=predictor[:, None],
        losses=losses,
        active=active,
        intercept=np.array([more.pop("intercept")]),
        coefficients=None if coefficients is None else coefficients[None],
        **more,
    )


def _least_squares(model: Any, X: SharedTable, labels: Labels) -> list[LocalObjective]:
    """½ Σ w (y − η)² + ½ ridge ‖β‖² + L1 penalty, each output on its own."""
    lasso = isinstance(model, ElasticNet)
    total = float(labels.weight.sum())
    predictor, coefficients = _predictor(model, X), np.atleast_2d(model.coef_)
    l1, ridge = elastic_net_penalties(model, total) if lasso else (0.0, getattr(model, "alpha", 0.0))
    Y = labels.values.reshape(len(predictor), -1)
    return [
        _one_output(
            X,
            predictor[:, k],
            Squared(Y[:, k], labels.weight),
            coefficients=coefficients[k] if lasso or model.positive else None,
            intercept=model.fit_intercept,
            ridge=float(np.broadcast_to(ridge, Y.shape[1])[k]),
            share=labels.weight / total if lasso else 0.0,
            l1=l1,
            positive=model.positive,
        )
        for k in range(Y.shape[1])
    ]


def elastic_net_penalties(model: Any, total: float) -> tuple[float, float]:
    """(l1, ridge) of a lasso or an elastic net in sum form, for rows of this total weight."""
    return total * model.alpha * model.l1_ratio, total * model.alpha * (1 - model.l1_ratio)


def _generalised_linear(model: Any, X: SharedTable, labels: Labels) -> list[LocalObjective]:
    """Σ w deviance/2 + ½ W alpha ‖β‖², W the total weight."""
    total, y, weight = float(labels.weight.sum()), labels.values, labels.weight
    power = {PoissonRegressor: 1.0, GammaRegressor: 2.0}.get(type(model)) or float(getattr(model, "power", 0.0))
    losses: RowLosses
    if _log_link(model):
        losses = Deviance(y, weight, power)
    else:
        losses = Squared(y, weight) if power == 0 else MeanDeviance(y, weight, power)
    return [
        _one_output(
            X,
            _predictor(model, X)[:, 0],
            losses,
            intercept=model.fit_intercept,
            ridge=total * model.alpha,
            share=weight / total,
        )
    ]


def _log_link(model: BaseEstimator) -> bool:
    if type(model) is TweedieRegressor:
        return bool(model.link == "log" or (model.link == "auto" and model.power > 0))
    return type(model) in (PoissonRegressor, GammaRegressor)


def _logistic(model: Any, X: SharedTable, labels: Labels) -> list[LocalObjective]:
    """Σ w log-loss + ((1 − ρ)/2C) ‖β‖² + (ρ/C) ‖β‖₁; liblinear penalises the constant too."""
    predictor, codes = _predictor(model, X), labels.values
    weight = labels.weight * labels.class_weights(model.class_weight)[codes]
    l1_ratio, strength = _logistic_penalty(model)
    through_liblinear = model.solver == "liblinear"
    if through_liblinear and predictor.shape[1] > 1:
        raise ValueError('criterion "alo": liblinear fits each class against the rest; use solver "lbfgs" instead')
    binary = predictor.shape[1] == 1
    ridge = (1 - l1_ratio) * strength
    intercept, coefficients = np.full(predictor.shape[1], model.fit_intercept), model.coef_
    if through_liblinear and l1_ratio > 0 and model.fit_intercept:
        X, coefficients = _with_constant_column(model, X)
        intercept = np.array([False])
    return [
        LocalObjective(
            X=X,
            predictor=predictor,
            losses=Logistic(codes.astype(np.float64), weight) if binary else Softmax(codes, weight, predictor.shape[1]),
            active=coefficients != 0 if l1_ratio > 0 else np.ones(coefficients.shape, dtype=bool),
            intercept=intercept,
            ridge=ridge,
            constant=float(model.intercept_scaling) if through_liblinear else 1.0,
            constant_ridge=ridge if through_liblinear else 0.0,
            free_constant=not through_liblinear,
            shift_invariant=not binary,
            coefficients=coefficients if l1_ratio > 0 else None,
            l1=l1_ratio * strength,
            reweighting=labels.reweighting(model.class_weight),
        )
    ]


def _logistic_penalty(model: BaseEstimator) -> tuple[float, float]:
    """(share of L1, strength); `penalty` is the older way to say it."""
    penalty = getattr(model, "penalty", "deprecated")
    named = {"l2": 0.0, "l1": 1.0}.get(penalty)
    strength = 0.0 if penalty is None or np.isinf(model.C) else 1.0 / model.C
    return (float(model.l1_ratio or 0.0) if named is None else named), strength


def _huber(model: Any, X: SharedTable, labels: Labels) -> list[LocalObjective]:
    """Σ w (σ + σ ρ((y − η)/σ)) + alpha ‖β‖², minimised over the scale σ as well: a second output, constant in x."""
    predictor, p = _predictor(model, X)[:, 0], n_columns(X.X)
    return [
        LocalObjective(
            X=X,
            predictor=np.stack([predictor, np.full_like(predictor, model.scale_)], axis=1),
            losses=Huber(labels.values, labels.weight, model.epsilon),
            active=np.array([[True] * p, [False] * p]),
            intercept=np.array([model.fit_intercept, True]),
            ridge=2 * model.alpha,
        )
    ]


def _support_vectors(model: Any, X: SharedTable, labels: Labels) -> list[LocalObjective]:
    """Σ w max(0, 1 − y η)² + ‖β‖²/2C (or ‖β‖₁/C), each class against the rest; the constant is penalised."""
    predictor, codes = _predictor(model, X), labels.values
    by_class = labels.class_weights(model.class_weight)
    binary = predictor.shape[1] == 1
    objectives = []
    for k in range(predictor.shape[1]):
        sign = np.where(codes == (1 if binary else k), 1.0, -1.0)
        # One class against the rest: liblinear applies the weight of the class to its rows, and none to the rest.
        weight = labels.weight * (by_class[codes] if binary else np.where(sign > 0, by_class[k], 1.0))
        change = labels.reweighting(model.class_weight, None if binary else k)
        losses = SquaredHinge(sign, weight)
        objectives.append(_liblinear(model, X, predictor[:, k], losses, k, change))
    return objectives


def _support_vector_regression(model: Any, X: SharedTable, labels: Labels) -> list[LocalObjective]:
    """Σ w max(0, |y − η| − ε)² + ‖β‖²/2C; the constant is penalised."""
    losses = SquaredTube(labels.values, labels.weight, model.epsilon)
    return [_liblinear(model, X, _predictor(model, X)[:, 0], losses, 0, None)]


def _liblinear(
    model: Any, X: SharedTable, predictor: Floats, losses: RowLosses, output: int, change: Reweighting | None
) -> LocalObjective:
    lasso, coefficients = getattr(model, "penalty", "l2") == "l1", np.atleast_2d(model.coef_)
    if lasso and model.fit_intercept:
        X, coefficients = _with_constant_column(model, X)
    return _one_output(
        X,
        predictor,
        losses,
        coefficients=coefficients[output] if lasso else None,
        intercept=bool(model.fit_intercept and not lasso),
        ridge=0.0 if lasso else 1.0 / model.C,
        l1=1.0 / model.C if lasso else 0.0,
        constant=float(model.intercept_scaling),
        constant_ridge=0.0 if lasso else 1.0 / model.C,
        free_constant=False,
        reweighting=change,
    )


def _with_constant_column(model: Any, X: SharedTable) -> tuple[SharedTable, Floats]:
    """X and the coefficients with the constant, which liblinear penalises like any other column.

    Under an L1 penalty it may leave or join the active columns.
    """
    scale = float(model.intercept_scaling)
    return SharedTable(X.columns(False, scale, False)), np.column_stack([model.coef_, model.intercept_ / scale])


_READERS: dict[type, Callable[[Any, SharedTable, Labels], list[LocalObjective]]] = {
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
