"""Coordinate descent for a quadratic form with an elastic-net penalty."""

from __future__ import annotations

import numpy as np
from numba import njit

from outsample._kernels.options import OPTIONS
from outsample.running.arrays import Floats


@njit(**OPTIONS)
def descend(
    gram: Floats, linear: Floats, l1: Floats, l2: Floats, coef: Floats, threshold: float, max_sweeps: int
) -> int:
    """Minimise ½ bᵀGb − cᵀb + Σ l1_j |b_j| + ½ Σ l2_j b_j² in place, starting at `coef`.

    Full sweeps find the coefficients that leave zero; the sweeps between them visit only those that are not zero.

    Parameters
    ----------
    gram : (p, p) symmetric, non-negative definite.
    linear : (p,) the vector c.
    l1, l2 : (p,) non-negative.
    coef : (p,) start, overwritten by the solution.
    threshold : stop when no step of a full sweep is larger, in units of b_j √(G_jj + l2_j).
    max_sweeps : largest number of sweeps.

    Returns
    -------
    Number of sweeps; `max_sweeps` when the threshold was not reached.
    """
    p = len(linear)
    pull = linear.copy()
    for j in range(p):
        if coef[j] != 0.0:
            for k in range(p):
                pull[k] -= coef[j] * gram[j, k]
    everything = True
    for sweep in range(max_sweeps):
        largest = 0.0
        for j in range(p):
            if not everything and coef[j] == 0.0:
                continue
            curvature = gram[j, j] + l2[j]
            if curvature <= 0.0:
                continue
            target = pull[j] + gram[j, j] * coef[j]
            shrunk = max(abs(target) - l1[j], 0.0) / curvature
            step = (shrunk if target > 0.0 else -shrunk) - coef[j]
            if step != 0.0:
                coef[j] += step
                for k in range(p):
                    pull[k] -= step * gram[j, k]
                largest = max(largest, abs(step) * np.sqrt(curvature))
        if largest <= threshold:
            if everything:
                return sweep + 1
            everything = True
        else:
            everything = False
    return max_sweeps


@njit(**OPTIONS)
def descend_without(
    gram: Floats,
    linear: Floats,
    X: Floats,
    y: Floats,
    taken: Floats,
    penalties: Floats,
    start: Floats,
    threshold: float,
    max_sweeps: int,
    values: Floats,
    violations: Floats,
) -> None:
    """The minimum of `descend` without each row of X, from the one with all rows.

    Parameters
    ----------
    gram, linear : G (p, p) and c (p,) of all rows.
    X, y, taken : (rows, p), (rows,) and (rows,): without row i, G loses taken_i x_i x_iᵀ and c loses taken_i y_i x_i.
    penalties : (2, rows) l1 and l2 without each row.
    start : (p,) the minimum with all rows.
    values : (rows,) receives x_iᵀb.
    violations : (rows,) receives by how much b fails the conditions of a minimum, in units of l1.
    """
    p = len(linear)
    without, pull, coef = np.empty_like(gram), np.empty(p), np.empty(p)
    sizes, squares = np.empty(p), np.empty(p)
    for i in range(len(X)):
        l1, l2 = penalties[0, i], penalties[1, i]
        for j in range(p):
            sizes[j], squares[j] = l1, l2
            coef[j] = start[j]
            pull[j] = linear[j] - taken[i] * y[i] * X[i, j]
            for k in range(p):
                without[j, k] = gram[j, k] - taken[i] * X[i, j] * X[i, k]
        descend(without, pull, sizes, squares, coef, threshold, max_sweeps)
        values[i] = 0.0
        for j in range(p):
            values[i] += coef[j] * X[i, j]
            if coef[j] != 0.0:
                for k in range(p):
                    pull[k] -= coef[j] * without[j, k]
        worst = 0.0
        for j in range(p):
            if coef[j] == 0.0:
                worst = max(worst, abs(pull[j]) - l1)
            else:
                worst = max(worst, abs(pull[j] - l2 * coef[j] - (l1 if coef[j] > 0.0 else -l1)))
        violations[i] = worst / l1


@njit(**OPTIONS)
def moves_without(
    hessian: Floats,
    X: Floats,
    curvature: Floats,
    gradients: Floats,
    starts: Floats,
    l1: Floats,
    l2: Floats,
    threshold: float,
    max_sweeps: int,
    moves: Floats,
    lengths: Floats,
) -> None:
    """One step for each row of X towards the minimum without it, with a quadratic model of the losses.

    Parameters
    ----------
    hessian : (p, p) second derivative of all losses.
    X, curvature : (rows, p), (rows,): without row i the Hessian loses curvature_i x_i x_iᵀ.
    gradients, starts : (rows, p) gradient of the losses without the row, at these coefficients.
    l1, l2 : (p,) as in `descend`.
    moves : (rows, p) receives the steps.
    lengths : (rows,) receives their lengths in the norm of the Hessian without the row.
    """
    p = len(l1)
    without, linear, coef = np.empty_like(hessian), np.empty(p), np.empty(p)
    for i in range(len(X)):
        for j in range(p):
            coef[j] = starts[i, j]
            linear[j] = -gradients[i, j]
            for k in range(p):
                without[j, k] = hessian[j, k] - curvature[i] * X[i, j] * X[i, k]
                linear[j] += without[j, k] * starts[i, k]
        descend(without, linear, l1, l2, coef, threshold, max_sweeps)
        for j in range(p):
            moves[i, j] = coef[j] - starts[i, j]
        squared = 0.0
        for j in range(p):
            if moves[i, j] != 0.0:
                squared += l2[j] * moves[i, j] ** 2
                for k in range(p):
                    squared += moves[i, j] * without[j, k] * moves[i, k]
        lengths[i] = np.sqrt(max(squared, 0.0))


def warmup() -> None:
    """Compile the kernels, or load them from disk."""
    one = np.ones(1)
    descend(np.eye(1), one, 0.1 * one, 0.1 * one, np.zeros(1), 1e-6, 10)
    square = np.eye(1)
    moves_without(square, square, one / 2, square, square, one, one, 1e-6, 10, square.copy(), one.copy())
    descend_without(np.eye(1), one, np.eye(1), one, one / 2, np.ones((2, 1)), one, 1e-6, 10, one.copy(), one.copy())
