"""Exact minima: of a quadratic form with an elastic-net penalty, and of penalised logistic losses."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dposv
from scipy.special import expit, log_expit, log_softmax
from sklearn.exceptions import ConvergenceWarning

from outsample.running.arrays import Floats

_THRESHOLDS = (1e-6, 1e-9, 1e-13)
_MAX_SWEEPS = 100_000


def minimise(gram: Floats, linear: Floats, l1: float, l2: float, start: Floats, scale: float) -> Floats:
    """The b that minimises ½ bᵀGb − cᵀb + l1 |b|₁ + ½ l2 |b|², (p,).

    Coordinate descent finds which coefficients are not zero, and their signs; given these, the minimum is the
    solution of one linear system. If the solution has these signs, and the gradient at the other coefficients is no
    larger than l1, it satisfies the optimality conditions and is returned; otherwise descent goes on to a tighter
    threshold.

    Parameters
    ----------
    gram, linear : G (p, p) and c (p,).
    start : (p,) a nearby solution, not changed.
    scale : the unit of b_j √G_jj in which steps are compared with the thresholds.
    """
    # Here, because the compiler is slow to import.
    from outsample._kernels.coordinate_descent import descend

    coef, l1s, l2s = start.copy(), np.full(len(linear), l1), np.full(len(linear), l2)
    sweeps = 0
    for threshold in _THRESHOLDS:
        sweeps = descend(gram, linear, l1s, l2s, coef, threshold * scale, _MAX_SWEEPS)
        exact = solved_on_support(gram, linear, l1, l2, coef)
        if exact is not None:
            return exact
    if sweeps == _MAX_SWEEPS:
        warnings.warn("coordinate descent has not converged", ConvergenceWarning, stacklevel=2)
    return coef


def solved_on_support(gram: Floats, linear: Floats, l1: float, l2: float, coef: Floats) -> Floats | None:
    """The minimum among vectors with the signs of `coef`, (p,); None if it is not the minimum among all."""
    support = np.flatnonzero(coef)
    signs = np.sign(coef[support])
    exact = np.zeros_like(coef)
    if len(support):
        inner = gram[np.ix_(support, support)]
        inner[np.diag_indices(len(support))] += l2
        # Of small systems the checks around this take longer than the work.
        _, exact[support], failed = dposv(inner, linear[support] - l1 * signs)
        if failed or not np.array_equal(np.sign(exact[support]), signs):
            return None
    # The solution of a nearly singular system may be wrong, so its equations are checked too.
    pull = linear - gram @ exact - l2 * exact
    pull[support] = np.abs(pull[support] - l1 * signs) + l1
    slack = 1e-11 * (l1 + float(np.abs(linear).max(initial=0.0)))
    return exact if float(np.abs(pull).max(initial=0.0)) <= l1 + slack else None


_MAX_STEPS = 200
_SMALL_STEP = 1e-10
_ROUNDING = 1e-14


def solve_binary(X: Floats, y: Floats, share: Floats, C: float, mix: float, intercept: bool, start: Floats) -> Floats:
    """Coefficients and, last, the intercept, (p + 1,), of the class coded one.

    Each step minimises the second-order model of the loss under the exact penalty.

    Parameters
    ----------
    X : (n, p).
    y, share : (n,) zeros and ones, and the weight of each sample.
    mix : share of the absolute penalty: 0 is l2, 1 is l1.
    start : (p + 1,) the solution at a nearby C.
    """
    l1, l2 = mix / C, (1.0 - mix) / C
    sign = 2.0 * y - 1.0
    size = float(np.sqrt(share.sum()))

    def objective(beta: Floats) -> float:
        w = beta[:-1]
        loss = -share @ log_expit(sign * (X @ w + beta[-1]))
        return float(loss + l1 * np.abs(w).sum() + 0.5 * l2 * w @ w)

    def newton_point(beta: Floats) -> Floats:
        probability = expit(X @ beta[:-1] + beta[-1])
        pull = share * (y - probability)
        curvature = share * probability * (1.0 - probability)
        weighted = X * curvature[:, None]
        gram, linear, total = X.T @ weighted, X.T @ pull, curvature.sum()
        level = weighted.sum(axis=0)
        free = intercept and total > 0.0
        if free:
            gram = gram - np.outer(level, level) / total
            linear = linear - level * (pull.sum() / total)
        w = _penalised_point(gram, linear + gram @ beta[:-1], l1, l2, beta[:-1], size)
        shift = (pull.sum() - level @ (w - beta[:-1])) / total if free else 0.0
        return np.append(w, beta[-1] + shift)

    def distance(a: Floats, b: Floats) -> float:
        return float(np.abs(X @ (a - b)[:-1] + (a - b)[-1]).max())

    return _damped_newton(objective, newton_point, distance, start)


def _penalised_point(gram: Floats, linear: Floats, l1: float, l2: float, start: Floats, size: float) -> Floats:
    """The minimum of ½ bᵀGb − cᵀb under the penalty, by a linear system where the penalty is smooth."""
    if l1 == 0.0:
        return np.asarray(cho_solve(cho_factor(gram + l2 * np.eye(len(gram))), linear))
    return minimise(gram, linear, l1, l2, start, size)


def solve_multinomial(Z: Floats, y: Floats, share: Floats, C: float, intercept: bool, start: Floats) -> Floats:
    """Coefficients of every class under an l2 penalty, (K, q).

    Parameters
    ----------
    Z : (n, q), with a last column of ones when there is an intercept.
    y : (n, K) one-hot labels.
    share : (n,) the weight of each sample.
    start : (K, q) the solution at a nearby C.
    """
    n_classes, q = start.shape
    ridge = np.full(q, 1.0 / C)
    if intercept:
        ridge[-1] = 0.0

    def objective(beta: Floats) -> float:
        loss = -share @ (y * log_softmax(Z @ beta.T, axis=1)).sum(axis=1)
        return float(loss + 0.5 * (beta**2 @ ridge).sum())

    def newton_point(beta: Floats) -> Floats:
        probability = np.exp(log_softmax(Z @ beta.T, axis=1))
        gradient = (share[:, None] * (probability - y)).T @ Z + beta * ridge
        hessian = _softmax_hessian(Z, probability, share)
        hessian[:, np.arange(q), :, np.arange(q)] += ridge[:, None, None] * np.eye(n_classes)
        if intercept:
            # Adding a constant to all intercepts changes no prediction: the added curvature keeps their sum.
            hessian[:, -1, :, -1] += share.sum()
        flat = hessian.reshape(n_classes * q, n_classes * q)
        return np.asarray(beta - cho_solve(cho_factor(flat), gradient.ravel()).reshape(n_classes, q))

    def distance(a: Floats, b: Floats) -> float:
        return float(np.abs(Z @ (a - b).T).max())

    return _damped_newton(objective, newton_point, distance, start)


def _softmax_hessian(Z: Floats, probability: Floats, share: Floats) -> Floats:
    """Second derivatives of the weighted loss, (K, q, K, q)."""
    n_classes, q = probability.shape[1], Z.shape[1]
    hessian = np.empty((n_classes, q, n_classes, q))
    for k in range(n_classes):
        for m in range(k, n_classes):
            same = 1.0 if k == m else 0.0
            weight = share * probability[:, k] * (same - probability[:, m])
            hessian[k, :, m, :] = Z.T @ (weight[:, None] * Z)
            hessian[m, :, k, :] = hessian[k, :, m, :].T
    return hessian


def _damped_newton(
    objective: Callable[[Floats], float],
    newton_point: Callable[[Floats], Floats],
    distance: Callable[[Floats, Floats], float],
    start: Floats,
) -> Floats:
    """Newton steps, each halved until it lowers the objective, (the shape of `start`).

    Newton's method converges quadratically: once a step moves every linear predictor by less than 1e-10, the next
    would move it by less than double precision can show, so the search ends.
    """
    beta, value = start, objective(start)
    for _ in range(_MAX_STEPS):
        target = newton_point(beta)
        if distance(target, beta) <= _SMALL_STEP:
            return target
        beta, value, moved = _backtrack(objective, beta, target, value)
        if not moved:
            return target
    warnings.warn("Newton's method has not converged", ConvergenceWarning, stacklevel=2)
    return beta


def _backtrack(
    objective: Callable[[Floats], float], beta: Floats, target: Floats, value: float
) -> tuple[Floats, float, bool]:
    """(point, value, whether it is lower) of the first point that lowers the objective, halving from target to beta."""
    for halvings in range(40):
        point = beta + 0.5**halvings * (target - beta)
        reached = objective(point)
        if reached < value:
            return point, reached, True
        if halvings == 0 and reached <= value + _ROUNDING * abs(value):
            # At the minimum a whole step changes the objective by no more than rounding.
            break
    return target, value, False
