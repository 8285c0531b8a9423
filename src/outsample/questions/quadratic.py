"""Leave-one-out for a user's own objective: any twice differentiable loss of a linear predictor.

Around the minimum β̂ of Σ w_i l(y_i, x_iᵀβ) + ½ βᵀPβ the objective is nearly quadratic. Taking row i out of the
quadratic and minimising it again is one rank-one update: with H = X (XᵀDX + P)⁻¹ Xᵀ, D the second derivatives, the
prediction of row i without row i is x_iᵀβ̂ + w_i l'_i H_ii/(1 − w_i l''_i H_ii) (Duchi, STATS 305A, lecture 16, §2.4).
It is exact where the loss is quadratic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from outsample.checks import whole_number
from outsample.curve.error_estimate import numeral
from outsample.curve.intervals import error_of_mean
from outsample.curve.result import Result
from outsample.data.samples import as_weight
from outsample.losses.base import as_losses, weighted_mean
from outsample.running.arrays import Floats

RowLoss = Callable[[Floats, Floats], Any]
"""A function of labels and predictions, (n,) each, that returns one number per row."""

# Steps of central differences of first and second derivatives, relative to the size of predictions: the cube root and
# the fourth root of the rounding of doubles, which balance truncation and rounding.
FIRST_STEP, SECOND_STEP = 6e-6, 1.2e-4
# The decrease of the objective that another Newton step would bring, relative to its size, at which fitting ends.
TOLERANCE = 1e-14
SMALLEST_STEP = 2.0**-40


def quadratic_leave_one_out(
    loss: RowLoss,
    X: ArrayLike,
    y: ArrayLike,
    *,
    penalty: ArrayLike = 0.0,
    first: RowLoss | None = None,
    second: RowLoss | None = None,
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    judged_by: RowLoss | None = None,
    max_iter: int = 100,
) -> QuadraticFit:
    """Fit a linear predictor by your own loss, and approximate its error by leaving out one row at a time.

    Minimises Σ w_i loss(y_i, b + x_iᵀβ) + ½ βᵀPβ by Newton's method, and takes each row out of the quadratic expansion
    at the minimum. One fit in all.

    Parameters
    ----------
    loss : a function of (labels, predictions) that returns one loss per row; twice differentiable in the predictions.
    X, y : (n, p) and (n,) real numbers.
    penalty : P: a number for P = penalty · I, one number per column, or a (p, p) matrix. The intercept is free.
    first, second : derivatives of the loss with respect to the predictions, functions like it; by default central
        differences, good to about 1e-9 and 1e-7.
    fit_intercept : whether there is an intercept b.
    sample_weight : one weight per row.
    judged_by : the loss that rows left out are judged by; by default the loss fitted.
    max_iter : Newton steps at most.

    Returns
    -------
    QuadraticFit
        The fit, the left-out predictions, and their risk.

    Raises
    ------
    ValueError
        For bad input, and where Newton's method finds no minimum: the objective must be convex around it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> y = X[:, 0] + rng.normal(size=50)
    >>> found = quadratic_leave_one_out(lambda y, p: np.log(np.cosh(y - p)), X, y)
    >>> bool(found.risk > found.in_sample)
    True
    """
    whole_number("max_iter", max_iter)
    if not callable(loss) or isinstance(loss, type):
        raise TypeError(f"loss must be a function of (y, predictions), got {loss!r}")
    objective = _Objective.of(loss, X, y, penalty, first, second, fit_intercept, sample_weight)
    beta, factor = _minimum(objective, max_iter)
    judge = objective.loss if judged_by is None else judged_by
    return _left_out(objective, beta, factor, judge, fit_intercept)


@dataclass(frozen=True, eq=False)
class QuadraticFit(Result):
    """A linear predictor fitted by a user's loss, and what it would say of each row without that row.

    Attributes
    ----------
    coef : (p,)
    intercept : float
    fitted : (n,) predictions of the fit.
    left_out : (n,) predictions for each row by the quadratic expansion without it; not a number where a row is fitted
        by itself alone.
    leverages : (n,) w_i l''_i H_ii: the share of each row in its own prediction.
    in_sample : mean loss of the fit.
    risk : mean loss of the left-out predictions; infinite where one is not a number.
    standard_error : of `risk`, taking the losses of rows as independent.
    losses : (n,) losses of the left-out predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from outsample import quadratic_leave_one_out
    >>> X, y = np.arange(10.0).reshape(-1, 1), np.arange(10.0) ** 2
    >>> found = quadratic_leave_one_out(lambda y, p: (y - p) ** 2, X, y)
    >>> round(found.in_sample, 2), round(found.risk, 2)
    (52.8, 99.43)
    """

    coef: Floats
    intercept: float
    fitted: Floats = field(repr=False)
    left_out: Floats = field(repr=False)
    leverages: Floats = field(repr=False)
    in_sample: float
    risk: float
    standard_error: float
    losses: Floats = field(repr=False)

    told: ClassVar[str] = "intercept in_sample risk standard_error coef"

    def __str__(self) -> str:
        return (
            f"left out one by one: {numeral(self.risk)} ± {numeral(self.standard_error, 2)} (standard error)\n"
            f"in-sample {numeral(self.in_sample)}, 1 fit of {len(self.coef)} coefficients to {len(self.fitted)} rows"
        )


@dataclass(frozen=True, eq=False)
class _Objective:
    """Σ w_i l(y_i, z_iᵀβ) + ½ βᵀPβ with its derivatives; z has a column of ones where there is an intercept."""

    loss: RowLoss
    first: RowLoss
    second: RowLoss
    Z: Floats
    y: Floats
    weight: Floats
    penalty: Floats

    @staticmethod
    def of(
        loss: RowLoss,
        X: ArrayLike,
        y: ArrayLike,
        penalty: ArrayLike,
        first: RowLoss | None,
        second: RowLoss | None,
        fit_intercept: bool,
        sample_weight: ArrayLike | None,
    ) -> _Objective:
        table, labels = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if table.ndim != 2 or labels.shape != (len(table),):
            raise ValueError(f"X must be (n, p) and y (n,), got {table.shape} and {labels.shape}")
        if not (np.isfinite(table).all() and np.isfinite(labels).all()):
            raise ValueError("X and y must be finite")
        n, p = table.shape
        weight = as_weight(sample_weight, n)
        matrix = _penalty_matrix(penalty, p)
        if fit_intercept:
            table = np.column_stack([np.ones(n), table])
            matrix = np.pad(matrix, ((1, 0), (1, 0)))
        name = getattr(loss, "__name__", type(loss).__name__)
        checked = _checked(loss, name, n)
        return _Objective(
            checked,
            _derivative(checked) if first is None else _checked(first, f"first derivative of {name}", n),
            _second_derivative(checked) if second is None else _checked(second, f"second derivative of {name}", n),
            table,
            labels,
            np.ones(n) if weight is None else weight,
            matrix,
        )

    def value(self, beta: Floats) -> float:
        return float(self.weight @ self.loss(self.y, self.Z @ beta) + beta @ self.penalty @ beta / 2)

    def gradient(self, beta: Floats) -> Floats:
        return np.asarray(self.Z.T @ (self.weight * self.first(self.y, self.Z @ beta)) + self.penalty @ beta)

    def hessian(self, beta: Floats) -> Floats:
        curvature = self.weight * self.second(self.y, self.Z @ beta)
        return np.asarray((self.Z.T * curvature) @ self.Z + self.penalty)


def _penalty_matrix(penalty: ArrayLike, p: int) -> Floats:
    given = np.asarray(penalty, dtype=np.float64)
    if given.ndim < 2:
        if given.shape not in ((), (p,)) or (given < 0).any():
            raise ValueError(f"penalty must be a number or one per column, none negative, got {penalty!r}")
        return np.diag(np.broadcast_to(given, (p,)))
    if given.shape != (p, p) or not np.allclose(given, given.T):
        raise ValueError(f"penalty must be a symmetric matrix of shape ({p}, {p}), got {given.shape}")
    return given


def _checked(function: RowLoss, name: str, n: int) -> RowLoss:
    """The function, whose result must be one real number per row."""

    def values(y: Floats, prediction: Floats) -> Floats:
        returned = as_losses(function(y, prediction), name)
        if returned.shape != (n,):
            raise ValueError(f"{name} must return one number per row, shape ({n},), it returned {returned.shape}")
        return returned

    return values


def _derivative(loss: RowLoss) -> RowLoss:
    def values(y: Floats, prediction: Floats) -> Floats:
        step = FIRST_STEP * np.maximum(1.0, np.abs(prediction))
        return np.asarray((loss(y, prediction + step) - loss(y, prediction - step)) / (2 * step))

    return values


def _second_derivative(loss: RowLoss) -> RowLoss:
    def values(y: Floats, prediction: Floats) -> Floats:
        step = SECOND_STEP * np.maximum(1.0, np.abs(prediction))
        around = loss(y, prediction + step) + loss(y, prediction - step) - 2 * loss(y, prediction)
        return np.asarray(around / step**2)

    return values


def _minimum(objective: _Objective, max_iter: int) -> tuple[Floats, Any]:
    """(the minimum, the Cholesky factor of the Hessian there) by Newton's method with halved steps."""
    beta = np.zeros(objective.Z.shape[1])
    value = objective.value(beta)
    for _ in range(max_iter):
        gradient, factor = objective.gradient(beta), _factor(objective.hessian(beta), damped=True)
        step = -cho_solve(factor, gradient)
        promised = -float(gradient @ step)
        if promised <= TOLERANCE * max(1.0, abs(value)):
            return beta, _factor(objective.hessian(beta))
        length = 1.0
        while (new := objective.value(beta + length * step)) > value - 1e-4 * length * promised:
            length /= 2
            if length < SMALLEST_STEP:
                # No step brings anything that rounding would not swallow: this is the minimum as far as it can be had.
                return beta, _factor(objective.hessian(beta))
        beta, value = beta + length * step, new
    raise ValueError(f"loss: no minimum after {max_iter} Newton steps; raise max_iter or add a penalty")


def _factor(hessian: Floats, damped: bool = False) -> Any:
    """Cholesky factor; with `damped` the diagonal is raised until there is one, as far from a minimum it may need."""
    scale = float(np.abs(np.diag(hessian)).max()) or 1.0
    for power in range(-12, 3):
        try:
            return cho_factor(hessian if power == -12 else hessian + 10.0**power * scale * np.eye(len(hessian)))
        except LinAlgError:
            if not damped:
                break
    raise ValueError("loss: the objective has no strict minimum here; it must be convex around it, or needs a penalty")


def _left_out(objective: _Objective, beta: Floats, factor: Any, judge: RowLoss, intercept: bool) -> QuadraticFit:
    y, w, fitted = objective.y, objective.weight, objective.Z @ beta
    spread = np.einsum("ij,ji->i", objective.Z, cho_solve(factor, objective.Z.T))
    leverages = w * objective.second(y, fitted) * spread
    slack = 1 - leverages
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = np.where(slack > 1e-10, fitted + w * objective.first(y, fitted) * spread / slack, np.nan)
    known = np.isfinite(left_out)
    losses = np.full(len(y), np.inf)
    judged = _checked(judge, "judged_by", len(y))
    losses[known] = judged(y, np.where(known, left_out, fitted))[known]
    error = float(error_of_mean(losses[None], w)[0]) if known.all() else float("inf")
    return QuadraticFit(
        coef=beta[1:] if intercept else beta,
        intercept=float(beta[0]) if intercept else 0.0,
        fitted=fitted,
        left_out=left_out,
        leverages=leverages,
        in_sample=float(weighted_mean(judged(y, fitted), w)),
        risk=float(weighted_mean(losses, w)) if known.all() else float("inf"),
        standard_error=error,
        losses=losses,
    )
