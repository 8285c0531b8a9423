"""How far the first Newton step of approximate leave-one-out may be from the minimum without the row.

The step would be exact if the curvature of the other rows stayed as it is, and if no coefficient left or reached zero.
Both are judged from how far the step goes, in the norm of the Hessian: its length λ_i moves the predictor of another
row j by at most λ_i √h_j (Cauchy–Schwarz), h_j = z_j H⁻¹ z_jᵀ. Where |l'''| ≤ b l'', as for logistic and log-linear
losses, the curvature of row j changes by a share of about b λ_i √h_j/2 on the way, and the predictor of row i is off by
about that share of its own move. Where curvature jumps (squared hinge), the share is the leverage of the rows that may
pass a jump. These are estimates on the safe side, not bounds; `benchmarks/alo_study.py` compares them with refits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from outsample.paths.penalised.approximate import FirstSteps, SharedTable, shares_moments, weighted_product
from outsample.running.arrays import Bools, Floats, Rows

# A column may switch when its own part of a step is so many times the typical one.
SAFETY = 1.5
TINY = np.finfo(np.float64).tiny ** 0.5


def first_errors(steps: FirstSteps) -> Floats:
    """How far the left-out predictor of each row may be off, (n,), the longest of K outputs; 0 where it is exact.

    Columns that leave or reach zero are another matter, see `ActiveColumns`.
    """
    objective = steps.objective
    change = _curvature_change(steps) + np.abs(steps.shares(slice(None)) - np.mean(objective.shares))
    if objective.reweighting is not None:
        change = change + np.abs(objective.reweighting.factors - 1.0).max(axis=1)
    if not change.any():
        return np.where(np.isfinite(steps.predictors[:, 0]), 0.0, np.inf)
    moved = np.linalg.norm(steps.predictors - objective.predictor, axis=1)
    with np.errstate(invalid="ignore"):
        errors = np.where(change > 0, moved * change, 0.0)
    return np.where(np.isfinite(errors), errors, np.inf)


def lengths(steps: FirstSteps) -> Floats:
    """Length of each row's step in the norm of the Hessian without that row, (n,): Newton's decrement."""
    objective = steps.objective
    moved = steps.predictors - objective.predictor
    own = np.sqrt(np.maximum(np.einsum("ik,ik->i", moved, objective.gradient), 0.0))
    coefficients, gradients = steps.drifts
    whitened = gradients.reshape(len(gradients), -1) @ steps.root
    return np.asarray(own + np.linalg.norm(coefficients @ whitened, axis=1))


def _curvature_change(steps: FirstSteps) -> Floats:
    """Share of the curvature that may change on the way of each row's step, (n,)."""
    objective = steps.objective
    room = objective.losses.room(objective.predictor)
    if objective.losses.bend == 0.0 and room is None:
        return np.zeros(len(objective.predictor))
    length, reach = lengths(steps), np.sqrt(np.trace(steps.influence, axis1=1, axis2=2))
    own = np.einsum("ikl,ilk->i", steps.influence, objective.curvature)
    typical = float(own @ reach / max(own.sum(), TINY))
    smooth: Floats = 0.5 * objective.losses.bend * length * np.maximum(typical, reach)
    return smooth if room is None else smooth + _jumps(steps, length, reach, room)


def _jumps(steps: FirstSteps, length: Floats, reach: Floats, room: Floats) -> Floats:
    """Share of all leverages that belongs to rows which a step of this length may take past a jump, (n,)."""
    jump = steps.objective.losses.curvature(_past_jump(steps, room))
    largest = np.maximum(np.abs(jump), np.abs(steps.objective.curvature))[:, 0, 0] * steps.influence[:, 0, 0]
    needed = np.where(reach > 0, room / np.maximum(reach, TINY), np.inf)
    order = np.argsort(needed)
    summed = np.concatenate([[0.0], np.cumsum(largest[order])])
    passed = np.searchsorted(needed[order], length)
    total = float(np.einsum("ikl,ilk->", steps.influence, steps.objective.curvature))
    return np.asarray(summed[passed] / max(total, TINY))


def _past_jump(steps: FirstSteps, room: Floats) -> Floats:
    """Predictors moved to where the curvature has jumped, in the direction where it grows."""
    objective = steps.objective
    moved = np.repeat(objective.predictor[None], 2, axis=0)
    moved[0, :, 0] -= room * (1 + 1e-6) + 1e-9
    moved[1, :, 0] += room * (1 + 1e-6) + 1e-9
    curved = objective.losses.curvature(moved)[..., 0, 0]
    best = curved.argmax(axis=0)
    return np.asarray(np.take_along_axis(moved, best[None, :, None], axis=0)[0])


class ActiveColumns:
    """How close the columns of an objective are to leaving or joining those with a coefficient.

    Without row i, column k alone would move by (x_ik/s_k) r_i in units of its standard error, with
    r_i = l'_i/(1 − leverage) and s_k the length of what the other active columns do not explain of it. If that is more
    than it takes to switch, the predictor of row i is off by about x_ik/s_k times the excess. For the one x_ik/s_k is
    taken at the largest entry of the row, for the other at the root mean square, both in units of whole columns.
    """

    def __init__(self, steps: FirstSteps) -> None:
        objective = steps.objective
        self._steps, self.table = steps, objective.X.columns(False, None, steps.centred)
        found = [self._units(k) for k in range(len(objective.active))]
        self._units_of = [unit for unit, _, _ in found]
        self._needed = np.sort(np.concatenate([needed for _, needed, _ in found]))
        scale = np.min([lengths for _, _, lengths in found], axis=0)
        self._part, self._typical = entries(objective.X, steps.centred, scale)

    def errors(self) -> Floats:
        """How far predictors may be off after the first steps because columns switch, (n,)."""
        steps = self._steps
        move = np.abs(steps.objective.gradient).max(axis=1) / np.maximum(1.0 - steps.leverages, 1e-10)
        reach = SAFETY * self._part * move
        count = np.searchsorted(self._needed, reach, side="right")
        summed = np.concatenate([[0.0], np.cumsum(self._needed)])
        return np.asarray(SAFETY * self._typical * (count * reach - summed[count]))

    def errors_after(self, rows: Rows, deltas: Floats, slopes: Floats, kept: Floats) -> Floats:
        """The same, (rows,), where steps are known: zero if no column switched.

        Parameters
        ----------
        deltas : (rows, K, d) the steps, in the columns of the first steps.
        slopes : (rows, n, K) derivative of the loss of every row after each step.
        kept : (rows,) share of the penalty that stays.
        """
        objective, excess = self._steps.objective, np.zeros(len(rows))
        assert objective.coefficients is not None
        for k, active in enumerate(objective.active):
            coefficients = objective.coefficients[k, active]
            after = coefficients + deltas[:, k, self._places(active)]
            wrong = np.maximum(-after * np.sign(coefficients), 0.0)
            pull = -np.asarray(self.table[:, ~active].T @ slopes[:, :, k].T).T
            pull = pull if objective.positive else np.abs(pull)
            beyond = np.maximum(pull - objective.l1 * (1 + 1e-9) * kept[:, None], 0.0)
            excess += (wrong / self._units_of[k][active]).sum(axis=1) + (beyond / self._units_of[k][~active]).sum(
                axis=1
            )
        return np.asarray(self._part[rows] * excess)

    def _units(self, k: int) -> tuple[Floats, Floats, Floats]:
        """(unit of its coefficient or gradient, move at which it switches, length) of each column of output k.

        The unit is a standard error: that of the coefficient of an active column, of the gradient of another.
        """
        steps, objective = self._steps, self._steps.objective
        assert objective.coefficients is not None
        active, d = objective.active[k], steps.free.shape[1]
        squares, cross = self._products(k, ~active)
        root = steps.root[k * d : (k + 1) * d]
        explained = np.square(root.T @ cross).sum(axis=0)
        pull = -np.asarray(self.table.T @ objective.gradient[:, k])[~active]
        unit, distance = np.empty(len(active)), np.empty(len(active))
        unit[active] = np.sqrt(np.square(root[self._places(active)]).sum(axis=1))
        distance[active] = np.abs(objective.coefficients[k, active])
        unit[~active] = np.sqrt(np.maximum(squares[~active] - explained, 1e-9 * squares[~active]))
        distance[~active] = np.maximum(objective.l1 - (pull if objective.positive else np.abs(pull)), 0.0)
        unit = np.maximum(unit, TINY)
        return unit, distance / unit, np.sqrt(squares)

    def _places(self, active: Bools) -> Rows:
        """Where the active columns of an output are among the columns of the steps."""
        if shares_moments(self._steps.objective):
            return np.flatnonzero(active)
        return np.flatnonzero(active[self._steps.objective.active.any(axis=0)])

    def _products(self, k: int, rest: Bools) -> tuple[Floats, Floats]:
        """(squared length of every column, products of the columns in use with those of `rest`), by curvature."""
        steps, curvature = self._steps, self._steps.objective.curvature[:, k, k]
        if steps.moments is not None:
            squares = np.diagonal(steps.moments)[: len(rest)] + steps.objective.ridge
            return squares, steps.moments[:, np.flatnonzero(rest)]
        squares = _column_squares(self.table, curvature) + steps.objective.ridge
        return squares, weighted_product(curvature, steps.table, self.table[:, rest])


def _column_squares(X: Any, weight: Floats) -> Floats:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).T @ weight).ravel()
    return np.asarray(weight @ np.square(X))


def entries(X: SharedTable, centred: bool, scale: Floats) -> tuple[Floats, Floats]:
    """(largest entry of each row, root mean square of its entries), (n,) each, in units of columns, (p,)."""
    units, table = np.maximum(scale, TINY), X.columns(False, None, centred)
    found: tuple[Floats, Floats] = X.once(("entries", centred, units.tobytes()), lambda: _entries(table, units))
    return found


def _entries(X: Any, scale: Floats) -> tuple[Floats, Floats]:
    scaled = abs(X @ sparse.diags(1.0 / scale)) if sparse.issparse(X) else np.abs(X / scale)
    largest = scaled.max(axis=1).toarray().ravel() if sparse.issparse(X) else scaled.max(axis=1, initial=0.0)
    squares = _column_squares(scaled.T, np.ones(len(scale))) / max(1, len(scale))
    return np.asarray(largest), np.sqrt(squares)
