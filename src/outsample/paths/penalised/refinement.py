"""Leave-one-out of a penalised linear model, made as exact as it has to be, row by row.

`LeaveOneOut` begins with one Newton step for every row and says how far each may be off. Rows for which that matters
are improved: by further steps with the Hessian of all rows, which need no factorisation, or until convergence by steps
with Hessians of their own. Both work on many rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement

import numpy as np

from outsample.paths.penalised.approximate import (
    MAX_GRAM,
    ROWS_AT_ONCE,
    FirstSteps,
    LocalObjective,
    as_dense,
    without_own,
)
from outsample.paths.penalised.doubt import ActiveColumns, first_errors
from outsample.paths.penalised.row_losses import Squared
from outsample.paths.penalised.without_rows import lasso_without, sparse_without
from outsample.running.arrays import Floats, Rows

# The curvature changes over the whole way, so that steps shrink less later on than the first two do: by up to this
# factor, and by no less than about half the change of curvature that was expected. Steps that would shrink by less
# than the second number are not followed: they lead nowhere soon.
_LATER, _SLOWEST = 2.5, 0.8
# The part of a step that row i sees is at least this share of the longest it could see.
_LEAST_SEEN = 0.3
_MAX_NEWTON_STEPS, _MAX_HALVINGS = 60, 30
_SMALL_MOVE, _DAMPED = 1e-7, 1e-8
# A coefficient is wrongly zero where the gradient is so much larger than the penalty's.
_STRAY = 0.01
# What improvements may cost in all: this many multiplications; or this many Newton steps with all rows, but no more
# than so many products of the table with a vector, which is about what refits to ten folds take.
_LITTLE_WORK, _STEPS_WORTH, _PRODUCTS_WORTH = 2e9, 50, 4000


class LeaveOneOut:
    """Left-out predictors of one objective.

    Attributes
    ----------
    predictors : (n, K).
    errors : (n,) how far they may be off.
    leverages : (n,) see `FirstSteps`.
    direction : (n, K) of length one: where the first step led.
    """

    def __init__(self, objective: LocalObjective) -> None:
        self.objective = objective
        self._first = FirstSteps(objective)
        self.predictors, self.leverages = self._first.predictors, self._first.leverages
        self._active = None if objective.coefficients is None else ActiveColumns(self._first)
        self.errors = first_errors(self._first)
        moved = self.predictors - objective.predictor
        size = np.linalg.norm(moved, axis=1, keepdims=True)
        known = (size > 0) & np.isfinite(size)
        self.direction = np.full(moved.shape, moved.shape[1] ** -0.5)
        np.divide(moved, size, out=self.direction, where=known)
        self._change = np.divide(self.errors, size[:, 0], out=np.zeros(len(moved)), where=known[:, 0])
        if self._active is not None:
            self.errors = self.errors + self._active.errors()
        self._steps: dict[int, tuple[Floats, float]] = {}

    @property
    def unknowns(self) -> int:
        """Free coefficients."""
        return int(self._first.free.sum())

    def move_to_minimum(self, coefficients: Floats, constants: Floats) -> Floats:
        """How far a Newton step from these coefficients would move the predictors, (n, K); infinite for a stray zero.

        Parameters
        ----------
        coefficients : (K, p), of the outputs that have some.
        constants : (K,).
        """
        objective, n_outputs = self.objective, self.predictors.shape[1]
        coefficients = coefficients if objective.coefficients is None else objective.coefficients
        B, constant = np.zeros((n_outputs, coefficients.shape[1])), np.zeros(n_outputs)
        B[: len(coefficients)] = coefficients
        constant[: len(constants)] = constants / objective.constant
        slope = objective.gradient
        gradient = np.asarray((objective.X.X.T @ slope).T) + objective.ridge * B + objective.l1 * np.sign(B)
        of_constant = slope.sum(axis=0) * objective.constant + objective.constant_ridge * constant
        if not objective.free_constant:
            of_constant = of_constant + objective.l1 * np.sign(constant)
        held = ~objective.active[: len(coefficients)]
        if (np.abs(gradient[: len(coefficients)][held]) > (1 + _STRAY) * objective.l1).any():
            return np.full(self.predictors.shape, np.inf)
        free = np.where(objective.active, gradient, 0.0), np.where(objective.intercept, of_constant, 0.0)
        return self._first.predictor_move(*free)

    @property
    def work(self) -> float:
        """Multiplications that improvements of one kind may take: no more than refits to folds would."""
        per_unknown = min(_STEPS_WORTH * self.unknowns, _PRODUCTS_WORTH)
        return max(_LITTLE_WORK, per_unknown * self.predictors.shape[0] * self.unknowns)

    @property
    def improvements(self) -> tuple[tuple[Callable[[Rows], None], float], ...]:
        """What can be done for rows in doubt, from cheap to dear, with the multiplications it takes per row."""
        n, unknowns, p = len(self.predictors), max(1, self.unknowns), self.objective.X.X.shape[1]
        jumps = self.objective.losses.room(self.objective.predictor) is not None
        # Where curvature jumps, steps may shrink for a while and then no more.
        steps = () if jumps else ((self.step, 4.0 * n * unknowns),) * 3
        if self.objective.coefficients is None:
            return *steps, (self.solve, 8.0 * n * unknowns**2)
        descent = ((self.descend, 20.0 * p**2 + (0.0 if self._squared else 20.0 * n * p)),) if self._descends else ()
        return descent if self._squared else (*steps, *descent)

    def step(self, rows: Rows) -> None:
        """One more step for each of these rows."""
        for batch in self._batches(rows, len(self.predictors) * self.predictors.shape[1]):
            self._step(batch)

    def solve(self, rows: Rows) -> None:
        """Newton's method to convergence for each of these rows; those that do not converge stay in doubt."""
        size = len(self.predictors) * self.predictors.shape[1] ** 2 + self._first.free.size**2
        for batch in self._batches(rows, size):
            self._solve(batch)

    def descend(self, rows: Rows) -> None:
        """Coordinate descent without each of these rows, from the coefficients with all rows."""
        if self._squared:
            self.predictors[rows, 0], self.errors[rows] = lasso_without(self.objective, rows)
        else:
            for batch in self._batches(rows, len(self.predictors)):
                self.predictors[batch, 0], self.errors[batch] = sparse_without(
                    self.objective, batch, self._factors(batch)
                )

    @property
    def _squared(self) -> bool:
        return isinstance(self.objective.losses, Squared)

    @property
    def _descends(self) -> bool:
        """Whether coordinate descent can solve the objective without a row."""
        objective = self.objective
        small = objective.X.X.shape[1] <= MAX_GRAM and not objective.positive
        return small and (self._squared or objective.predictor.shape[1] == 1)

    def _batches(self, rows: Rows, numbers: int) -> Iterator[Rows]:
        size = max(1, ROWS_AT_ONCE // max(1, numbers))
        return (rows[start : start + size] for start in range(0, len(rows), size))

    def _step(self, rows: Rows) -> None:
        first = self._first
        expected = np.where([int(i) in self._steps for i in rows], 0.0, 0.5 * self._change[rows])
        deltas, before = self._known(rows)
        gradient = self._gradient(rows, deltas)
        move = -self._without(rows, gradient)
        length = np.sqrt(np.maximum(-(move * gradient).sum(axis=(1, 2)), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.maximum(_LATER * np.where(length > 0, length / before, 0.0), expected)
        follow = ratio < _SLOWEST
        deltas = deltas + np.where(follow[:, None, None], move, 0.0)
        seen = np.einsum("bkd,bd->bk", move, self._own(rows))
        reach = np.sqrt(
            np.trace(first.influence[rows], axis1=1, axis2=2) / np.maximum(1 - first.leverages[rows], 1e-10)
        )
        size = np.maximum(np.linalg.norm(seen, axis=1), _LEAST_SEEN * reach * length)
        ahead = size * np.where(follow, ratio / (1 - np.minimum(ratio, _SLOWEST)), 1.0 / (1 - _SLOWEST))
        self._settle(rows, deltas, np.where(follow, length, before), np.where(np.isfinite(ahead), ahead, np.inf))
        if self._active is not None:
            slopes = self.objective.losses.gradient(self._moved(deltas)) * self._factors(rows)[..., None]
            self.errors[rows] += self._active.errors_after(rows, deltas, slopes, 1.0 - first.shares(rows))

    def _known(self, rows: Rows) -> tuple[Floats, Floats]:
        """(steps so far (rows, K, d), length of the last one); the first step where there was none."""
        new = np.array([i for i in rows if int(i) not in self._steps], dtype=np.intp)
        if len(new):
            gradient = self._first_gradient(new)
            move = -self._without(new, gradient)
            length = np.sqrt(np.maximum(-(move * gradient).sum(axis=(1, 2)), 0.0))
            self._steps.update(zip(map(int, new), zip(move, length, strict=True), strict=True))
        known = [self._steps[int(i)] for i in rows]
        return np.stack([delta for delta, _ in known]), np.array([length for _, length in known])

    def _settle(self, rows: Rows, deltas: Floats, length: Floats, errors: Floats) -> None:
        self.predictors[rows] = self.objective.predictor[rows] + np.einsum("bkd,bd->bk", deltas, self._own(rows))
        self.errors[rows] = errors
        self._steps.update(zip(map(int, rows), zip(deltas, length, strict=True), strict=True))

    def _own(self, rows: Rows) -> Floats:
        return as_dense(self._first.table[rows])

    def _moved(self, deltas: Floats) -> Floats:
        """Linear predictors of all rows after steps (batch, K, d), (batch, n, K)."""
        table = self._first.table
        flat = np.asarray(table @ deltas.reshape(len(deltas) * deltas.shape[1], deltas.shape[2]).T)
        moved = flat.reshape(table.shape[0], len(deltas), deltas.shape[1])
        return np.asarray(self.objective.predictor + np.moveaxis(moved, 0, 1))

    def _factors(self, rows: Rows) -> Floats:
        """What the loss of every row counts without each of `rows`, (batch, n): zero for that row."""
        change = self.objective.reweighting
        n = len(self.predictors)
        factors = np.ones((len(rows), n)) if change is None else change.factors[rows][:, change.group]
        factors[np.arange(len(rows)), rows] = 0.0
        return factors

    def _gradient(self, rows: Rows, deltas: Floats) -> Floats:
        """Gradient of the objective without each row after its steps, (batch, K, d)."""
        first = self._first
        slopes = self.objective.losses.gradient(self._moved(deltas)) * self._factors(rows)[..., None]
        kept = (1.0 - first.shares(rows))[:, None, None]
        return np.asarray(first.gradient_sum(slopes) + kept * (first.penalty_gradient + first.ridges * deltas))

    def _first_gradient(self, rows: Rows) -> Floats:
        """The same before any step: at the minimum with all rows, only what leaves with the row is left of it."""
        first = self._first
        coefficients, gradients = first.drifts
        own = first.own_factors[rows, None] * self.objective.gradient[rows]
        leaving = np.where(first.free, own[:, :, None] * self._own(rows)[:, None, :], 0.0)
        return np.asarray(np.tensordot(coefficients[rows], gradients, axes=1) - leaving)

    def _value(self, rows: Rows, deltas: Floats) -> Floats:
        """The objective without each row after its steps, (batch,), up to a number."""
        first = self._first
        losses = (self.objective.losses.value(self._moved(deltas)) * self._factors(rows)).sum(axis=1)
        penalty = (deltas * (first.penalty_gradient + 0.5 * first.ridges * deltas)).sum(axis=(1, 2))
        return np.asarray(losses + (1.0 - first.shares(rows)) * penalty)

    def _without(self, rows: Rows, gradient: Floats) -> Floats:
        """H₋ᵢ⁻¹ g of each row, (batch, K, d): the Hessian of all rows less that of one, by Woodbury's formula."""
        first, shape = self._first, gradient.shape
        own, curvature = self._own(rows), self.objective.curvature[rows]
        solved = ((gradient.reshape(len(rows), -1) @ first.root) @ first.root.T).reshape(shape)
        seen = np.einsum("bkd,bd->bk", solved, own)
        kept = without_own(first.influence[rows] @ curvature, first.leverages[rows])
        pull = np.einsum("bkl,bl->bk", curvature, np.linalg.solve(kept, seen[..., None])[..., 0])
        back = (pull[:, :, None] * own[:, None, :]).reshape(len(rows), -1)
        return np.asarray(solved + ((back @ first.root) @ first.root.T).reshape(shape))

    def _solve(self, rows: Rows) -> None:
        deltas, _ = self._known(rows)
        own, left = self._own(rows), np.arange(len(rows))
        value, errors = self._value(rows, deltas), np.full(len(rows), np.inf)
        for _ in range(_MAX_NEWTON_STEPS):
            if not len(left):
                break
            gradient = self._gradient(rows[left], deltas[left])
            move = self._newton_move(rows[left], deltas[left], gradient)
            share, reached = self._line_search(rows[left], deltas[left], move, value[left])
            deltas[left] += share[:, None, None] * move
            value[left] = reached
            seen = np.abs(np.einsum("bkd,bd->bk", move, own[left])).max(axis=1)
            at = np.abs(self.objective.predictor[rows[left]]).max(axis=1)
            small = seen <= _SMALL_MOVE * (1.0 + at)
            done = (small & (share == 1.0)) | (small & (share == 0.0))
            errors[left[done]] = 0.0
            left = left[~done & (share > 0.0)]
        self._settle(rows, deltas, np.zeros(len(rows)), errors)

    def _newton_move(self, rows: Rows, deltas: Floats, gradient: Floats) -> Floats:
        hessian = self._hessians(rows, deltas)
        flat = gradient.reshape(len(rows), -1)
        try:
            move = np.linalg.solve(hessian, flat[..., None])
        except np.linalg.LinAlgError:  # a direction without curvature, as where few rows are within Huber's epsilon
            level = np.einsum("bii->b", hessian)[:, None, None] / flat.shape[1]
            move = np.linalg.solve(hessian + _DAMPED * level * np.eye(flat.shape[1]), flat[..., None])
        return np.asarray(-move[..., 0].reshape(gradient.shape))

    def _line_search(self, rows: Rows, deltas: Floats, move: Floats, value: Floats) -> tuple[Floats, Floats]:
        """(share of each move, value there): the first of 1, ½, ¼, … that lowers the objective, or zero."""
        share, reached, open_ = np.zeros(len(rows)), value.copy(), np.arange(len(rows))
        for halvings in range(_MAX_HALVINGS):
            tried = self._value(rows[open_], deltas[open_] + 0.5**halvings * move[open_])
            lower = tried <= value[open_] + 1e-13 * np.abs(value[open_])
            share[open_[lower]], reached[open_[lower]] = 0.5**halvings, tried[lower]
            open_ = open_[~lower]
            if not len(open_):
                break
        return share, reached

    def _hessians(self, rows: Rows, deltas: Floats) -> Floats:
        """Second derivatives of the objective without each row after its steps, (batch, K d, K d)."""
        first, (n_outputs, d) = self._first, self._first.free.shape
        curvature = self.objective.losses.curvature(self._moved(deltas)) * self._factors(rows)[..., None, None]
        hessian = np.zeros((len(rows), n_outputs, d, n_outputs, d))
        # Rows times curvature first, so that few rows left out of many take one product of matrices each.
        size = max(1, ROWS_AT_ONCE // (d * len(rows)))
        for start in range(0, len(self.predictors), size):
            part = slice(start, start + size)
            dense = as_dense(first.table[part])
            for k, m in combinations_with_replacement(range(n_outputs), 2):
                weighted = curvature[:, None, part, k, m] * dense.T
                block = (weighted.reshape(-1, len(dense)) @ dense).reshape(len(rows), d, d)
                hessian[:, k, :, m] += block
                if k != m:
                    hessian[:, m, :, k] += block
        return self._completed(hessian.reshape(len(rows), n_outputs * d, n_outputs * d), rows)

    def _completed(self, hessian: Floats, rows: Rows) -> Floats:
        """Penalty added, and what would leave the matrices singular: coefficients not free, shifts of all outputs."""
        first, free = self._first, self._first.free.ravel()
        kept = 1.0 - first.shares(rows)
        ridges = np.tile(first.ridges, len(first.free))
        level = np.trace(hessian, axis1=1, axis2=2) / len(free)
        diagonal = np.where(free, kept[:, None] * ridges + 1e-13 * level[:, None], 1.0)
        hessian[:, ~free] = 0.0
        hessian[:, :, ~free] = 0.0
        index = np.arange(len(free))
        hessian[:, index, index] += diagonal
        if self.objective.shift_invariant:
            d = first.free.shape[1]
            for column in np.flatnonzero(first.free.all(axis=0) & (first.ridges == 0)):
                at = column + d * np.arange(len(first.free))
                hessian[:, at[:, None], at] += level[:, None, None]
        return hessian
