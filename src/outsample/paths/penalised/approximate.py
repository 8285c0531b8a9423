"""Approximate leave-one-out: what a penalised linear model would predict for a row it had not seen, without refits.

A model minimises Σ_i l_i(η_i) + r(β), η_i = z_i β. One Newton step leads from its minimum towards the minimum
without row i. With H the Hessian, G_i = z_i H⁻¹ z_iᵀ and D_i = l''_i the step moves the linear predictor of row i
to η_i + (I − G_i D_i)⁻¹ G_i l'_i: for one output, η_i + l'_i h_i/(1 − l''_i h_i), exact for squared loss
(STATS 305A, lecture 16, §2.4; Rahnama Rad & Maleki 2020). Under an L1 penalty only the columns with a coefficient
other than zero are in z_i and H.

Where scikit-learn averages the losses over the rows, leaving a row out also takes that row's share of the penalty
away in sum form. The gradient of the penalty is −Σ_j l'_j z_j, because the total gradient is zero; the share of it
that leaves is added to the gradient of the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular, svd

from outsample.data.tables import Table
from outsample.running.arrays import Bools, Floats

# Numbers that the working arrays of one batch of rows hold: 16 MB.
ROWS_AT_ONCE = 2_000_000
# The Hessian of so many coefficients takes 800 MB.
PARAMETERS_AT_MOST = 10_000
# Eigenvalues of the Hessian, scaled to unit diagonal, below this belong to directions that no row depends on.
_UNSEEN = 1e-12
# Where 1 − leverage is below this, a row determines its own prediction, and the one without it is unbounded.
_ALL_ITS_OWN = 1e-10


@dataclass(frozen=True, eq=False)
class LocalObjective:
    """A penalised objective around its minimum, as far as leaving one row out needs it.

    Attributes
    ----------
    X : (n, p) array or sparse matrix, without the constant column.
    predictor : (n, K) linear predictors η at the minimum.
    gradient : (n, K) derivative of each row's loss with respect to η, weights included.
    curvature : (n, K, K) second derivative.
    active : (K, p) columns free to move; under an L1 penalty those with a coefficient.
    intercept : (K,) whether an output has a constant column.
    ridge : second derivative of the penalty in each coefficient.
    constant : value of the constant column.
    constant_ridge : second derivative of the penalty in the coefficient of the constant column.
    share : (n,) share of the penalty that leaves with a row; 0 for penalties in sum form.
    shift_invariant : whether adding a number to all outputs changes nothing, as under softmax.
    """

    X: Any
    predictor: Floats
    gradient: Floats
    curvature: Floats
    active: Bools
    intercept: Bools
    ridge: float
    constant: float = 1.0
    constant_ridge: float = 0.0
    share: Floats | float = 0.0
    shift_invariant: bool = False


def left_out_predictors(objective: LocalObjective) -> tuple[Floats, Floats]:
    """Approximate linear predictors of every row by the model without that row.

    Returns
    -------
    predictors : (n, K); infinite where a row alone decides its prediction, see `reproduced_left_out`.
    leverages : (n,) the largest eigenvalue of G_i D_i; near one the approximation is doubtful.

    Examples
    --------
    For least squares it is the exact answer, here the mean of the other labels:

    >>> y = np.array([1.0, 2.0, 6.0])
    >>> residuals = (y.mean() - y)[:, None]
    >>> mean = LocalObjective(np.empty((3, 0)), np.full((3, 1), y.mean()), residuals, np.ones((3, 1, 1)),
    ...                       np.ones((1, 0), bool), np.ones(1, bool), ridge=0.0)
    >>> left_out_predictors(mean)[0].ravel()
    array([4. , 3.5, 1.5])
    """
    table, free, ridges = _columns(objective)
    root = _root_of_inverse(_hessian(objective, table, free, ridges))
    total = -np.stack([table.T @ objective.gradient[:, k] for k in range(len(free))])
    n, (n_outputs, d) = len(objective.predictor), free.shape
    drift = np.zeros(free.shape)
    drift[free] = root @ (root.T @ total[free])
    share = np.broadcast_to(np.asarray(objective.share, dtype=np.float64), (n,))
    influence_of = _influence_of(root, free)
    step = max(1, ROWS_AT_ONCE // (n_outputs * max(n_outputs, d, root.shape[1] if n_outputs == 1 else 1)))
    batches = []
    for start in range(0, n, step):
        rows = slice(start, start + step)
        dense = _dense(table[rows])
        batches.append(_left_out_rows(objective, rows, influence_of(dense), share[rows, None] * (dense @ drift.T)))
    return np.concatenate([p for p, _ in batches]), np.concatenate([leverage for _, leverage in batches])


def reproduced_left_out(X: Table, y: Floats, weight: Floats, alpha: float, intercept: bool) -> Floats:
    """What ridge regression without a row predicts for it, (n,), where all rows together reproduce its label.

    There the residual r_i and 1 − leverage of the fit to all rows are both zero up to rounding, but their ratio, the
    residual of row i left out, has a limit: (M y)_i/M_ii, M = (√W X Xᵀ √W + alpha)⁻¹ on the span of the centred
    columns. For alpha = 0 it is the limit of small penalties: least squares of minimum norm, as scikit-learn's. Not
    right for rows whose label is not reproduced.

    Examples
    --------
    Two columns and no constant fit two labels; one label alone is fitted by the shortest coefficients:

    >>> X, y = np.array([[1.0, 1.0], [0.0, 2.0]]), np.array([3.0, 8.0])
    >>> reproduced_left_out(X, y, np.ones(2), 0.0, False)
    array([4., 3.])
    """
    root, columns, labels = np.sqrt(weight), _dense(X), y
    if intercept:
        columns, labels = (table - np.average(table, axis=0, weights=weight) for table in (columns, y))
    basis, singular, _ = svd(root[:, None] * columns, full_matrices=False, check_finite=False)
    seen = singular > singular[0] * max(columns.shape) * np.finfo(np.float64).eps
    basis, inverse = basis[:, seen], 1.0 / (np.square(singular[seen]) + alpha)
    residual = basis @ (inverse * (basis.T @ (root * labels)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(y - residual / (np.square(basis) @ inverse) / root)


def _influence_of(root: Floats, free: Bools) -> Callable[[Floats], Floats]:
    """G_i = z_i H⁻¹ z_iᵀ of rows z (rows, d), (rows, K, K), from F with F Fᵀ = H⁻¹."""
    n_outputs, d = free.shape
    if n_outputs == 1:
        return lambda rows: np.square(rows[:, free[0]] @ root).sum(axis=1)[:, None, None]
    inverse = np.zeros((n_outputs * d, n_outputs * d))
    inverse[np.ix_(free.ravel(), free.ravel())] = root @ root.T
    of_output = inverse.reshape(n_outputs, d, n_outputs * d)

    def influence(rows: Floats) -> Floats:
        # One output at a time, which takes rows × outputs × columns numbers instead of rows × outputs² × columns.
        seen = ((rows @ half).reshape(len(rows), n_outputs, d) for half in of_output)
        return np.stack([np.einsum("ild,id->il", one, rows) for one in seen], axis=1)

    return influence


def _left_out_rows(objective: LocalObjective, rows: slice, influence: Floats, drift: Floats) -> tuple[Floats, Floats]:
    """(left-out predictors, leverages) of some rows; `drift` is the effect of the penalty's share."""
    step = np.einsum("ikl,il->ik", influence, objective.gradient[rows]) + drift
    own = influence @ objective.curvature[rows]
    predictor = objective.predictor[rows]
    if own.shape[1] == 1:
        leverage = own[:, 0, 0]
        return predictor + _ratio(step[:, 0], 1 - leverage)[:, None], leverage
    leverage = _largest_eigenvalues(influence, objective.curvature[rows])
    kept = (
        np.eye(own.shape[1]) - own * np.minimum(1.0, (1 - _ALL_ITS_OWN) / np.maximum(leverage, _UNSEEN))[:, None, None]
    )
    return predictor + np.linalg.solve(kept, step[..., None])[..., 0], leverage


def _largest_eigenvalues(influence: Floats, curvature: Floats) -> Floats:
    """The largest eigenvalue of each product G D of two positive semidefinite matrices, (rows,).

    With G = L Lᵀ the eigenvalues are those of Lᵀ D L, a symmetric matrix, for which they are found several times
    faster.
    """
    n_outputs = influence.shape[1]
    # G plus a multiple of the identity as small as rounding: a singular G has no Cholesky factor.
    more = np.finfo(np.float64).eps * np.trace(influence, axis1=1, axis2=2) + np.finfo(np.float64).tiny ** 0.5
    lower = np.linalg.cholesky(influence + more[:, None, None] * np.eye(n_outputs))
    return np.asarray(np.linalg.eigvalsh(lower.swapaxes(1, 2) @ curvature @ lower)[:, -1])


def _ratio(step: Floats, slack: Floats) -> Floats:
    """step/slack, infinite where the slack is zero up to rounding."""
    bounded = slack > _ALL_ITS_OWN
    unbounded = np.where(step < 0, -np.inf, np.inf)
    return np.where(bounded, step / np.where(bounded, slack, 1.0), unbounded)


def _columns(objective: LocalObjective) -> tuple[Any, Bools, Floats]:
    """(table, free, ridges): columns (n, d) with the constant last, which of them each output moves (K, d), (d,)."""
    X, active = objective.X, objective.active
    used = active.any(axis=0)
    if not used.all():
        X, active = X[:, used], active[:, used]
    if X.shape[1] > X.shape[0] and active.all():
        X = _row_space(X)
        active = np.ones((len(active), X.shape[1]), dtype=bool)
    ridges = np.full(X.shape[1], objective.ridge)
    if objective.intercept.any():
        column = np.full((X.shape[0], 1), objective.constant)
        X = sparse.hstack([X, column], format="csr") if sparse.issparse(X) else np.hstack([X, column])
        active = np.column_stack([active, objective.intercept])
        ridges = np.append(ridges, objective.constant_ridge)
    return X, active, ridges * (1.0 - float(np.mean(objective.share)))


def _row_space(X: Any) -> Floats:
    """At most n columns with the same inner products of rows as X; a uniform ridge penalty gives the same fits."""
    squared, directions = eigh(_dense(X @ X.T), check_finite=False)
    kept = squared > _UNSEEN * max(squared[-1], np.finfo(np.float64).tiny)
    return np.asarray(directions[:, kept] * np.sqrt(squared[kept]))


def _hessian(objective: LocalObjective, table: Any, free: Bools, ridges: Floats) -> Floats:
    """Second derivative in the free coefficients, output after output, (P, P)."""
    parameters = int(free.sum())
    if parameters > PARAMETERS_AT_MOST:
        raise ValueError(
            f"approximate leave-one-out factorises a square matrix of all free coefficients, here {parameters:,} and "
            f'at most {PARAMETERS_AT_MOST:,}; use "kfold" instead'
        )
    hessian = np.empty((parameters, parameters))
    columns = [table if own.all() else table[:, own] for own in free]
    ends = np.cumsum(free.sum(axis=1))
    places = [slice(end - own.sum(), end) for own, end in zip(free, ends, strict=True)]
    for k, m in combinations_with_replacement(range(len(free)), 2):
        hessian[places[k], places[m]] = _block(objective.curvature[:, k, m], columns[k], columns[m])
        hessian[places[m], places[k]] = hessian[places[k], places[m]].T
    hessian[np.diag_indices(parameters)] += np.broadcast_to(ridges, free.shape)[free]
    if objective.shift_invariant:
        _pin_shifts(hessian, free, ridges)
    return hessian


def _block(curvature: Floats, left: Any, right: Any) -> Floats:
    weighted = sparse.diags(curvature) @ right if sparse.issparse(right) else curvature[:, None] * right
    return _dense(left.T @ weighted)


def _pin_shifts(hessian: Floats, free: Bools, ridges: Floats) -> None:
    """Add curvature along unpenalised shifts of all outputs, which change no prediction but make H singular."""
    positions = np.cumsum(free.ravel()).reshape(free.shape) - 1
    level = np.trace(hessian) / max(1, len(hessian))
    for column in np.flatnonzero(free.all(axis=0) & (ridges == 0)):
        index = positions[:, column]
        hessian[np.ix_(index, index)] += level


def _root_of_inverse(hessian: Floats) -> Floats:
    """F with F Fᵀ = H⁻¹, (P, r); of the generalised inverse where no row depends on some directions.

    H is scaled to unit diagonal first, so that which directions count as such does not depend on the units of X.
    """
    diagonal = np.diagonal(hessian)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = hessian * np.outer(scale, scale)
    try:
        lower = cholesky(scaled, lower=True, check_finite=False)
        if not len(lower) or np.diagonal(lower).min() ** 2 > _UNSEEN:
            return np.asarray(scale[:, None] * solve_triangular(lower, np.eye(len(lower)), lower=True).T)
    except LinAlgError:
        pass
    values, vectors = eigh(scaled, check_finite=False)
    kept = values > _UNSEEN * len(values)
    return np.asarray(scale[:, None] * vectors[:, kept] / np.sqrt(values[kept]))


def _dense(table: Any) -> Floats:
    return np.asarray(table.toarray() if sparse.issparse(table) else table)
