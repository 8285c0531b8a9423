"""Exact left-out predictors under an L1 penalty: coordinate descent without the row, from the coefficients with it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from outsample.paths.penalised.approximate import LocalObjective, SharedTable, as_dense, weighted_product
from outsample.paths.penalised.row_losses import Squared
from outsample.running.arrays import Floats, Rows
from outsample.running.threads import n_threads, over_slices

# Coordinate descent ends when no step is longer than the first number, in units of the length of y, or after so many
# sweeps; it has converged when the gradient is within the last share of the penalty's.
_DESCENT, _MAX_SWEEPS, _OPTIMAL = 1e-8, 5_000, 1e-4
# Quadratic models are followed until a predictor is about this close, or so many times. Coordinate descent on each is
# so much more exact, or ends after so many sweeps: where columns are collinear it takes too many.
_SHORT, _MAX_STEPS, _FINER, _FEWER_SWEEPS = 1e-4, 30, 1e-2, 500
# Steps that shrink by less than the first number are given up; by how much they do is no more than the second. The part
# of a step that its row sees is at least the third of what others may see.
_SLOW, _NOWHERE, _LEAST_SEEN = 0.8, 0.99, 0.3
# Rows that are not there after so many steps have a Hessian of their own in each of the others.
_SAME_HESSIAN = 6
_MAX_HALVINGS = 20


def lasso_without(objective: LocalObjective, rows: Rows) -> tuple[Floats, Floats]:
    """(exact left-out predictors of rows by squared loss with an L1 penalty, how far off they may be), (rows,) each.

    On centred columns, leaving a row out takes a multiple of one outer product off the Gram matrix.
    """
    # Here, because the compiler is slow to import.
    from outsample._kernels.coordinate_descent import descend_without

    losses, free = objective.losses, bool(objective.intercept[0])
    assert isinstance(losses, Squared)
    assert objective.coefficients is not None
    shared = objective.X.once(("gram", free), lambda: _gram(objective.X, losses.weight, free), losses.weight)
    X, weighted, gram = shared
    y = losses.y - np.average(losses.y, weights=losses.weight) if free else losses.y
    linear = weighted.T @ y
    weight, own, labels = losses.weight[rows], np.ascontiguousarray(X[rows]), y[rows]
    total = float(losses.weight.sum())
    ratio = total / (total - weight) if free else np.ones(len(rows))
    penalties = (1.0 - objective.shares[rows]) * np.array([[objective.l1], [objective.ridge]])
    start, size = np.ascontiguousarray(objective.coefficients[0]), float(np.sqrt(losses.weight @ np.square(y)))
    values, violations = np.empty(len(rows)), np.empty(len(rows))

    def some(first: int, last: int) -> None:
        part = slice(first, last)
        arrays = own[part], labels[part], (weight * ratio)[part], np.ascontiguousarray(penalties[:, part])
        into = values[part], violations[part]
        descend_without(gram, linear, *arrays, start, _DESCENT * size, _MAX_SWEEPS, *into)

    over_slices(some, len(rows), n_threads())
    level = float(losses.weight @ losses.y) / total if free else 0.0
    shift = weight * labels / (total - weight) if free else 0.0
    return level - shift + ratio * values, np.where(violations <= _OPTIMAL, 0.0, np.inf)


def sparse_without(objective: LocalObjective, rows: Rows, factors: Floats) -> tuple[Floats, Floats]:
    """The same by any convex loss of one predictor.

    Every step minimises a quadratic model of the losses and the exact penalty; it is halved until the objective falls.
    The model has the Hessian at the coefficients with all rows, less that of the row; where that leads nowhere soon,
    because much depends on the row, the Hessian at the coefficients reached.

    Parameters
    ----------
    factors : (rows, n) what the loss of every row counts without each of `rows`; zero for that row.
    """
    model = _WithoutRows(objective, rows, factors)
    for number in range(_MAX_STEPS):
        if not len(model.left):
            break
        model.step(renewed=number >= _SAME_HESSIAN, patient=number <= _SAME_HESSIAN + 1)
    return model.predictors, model.errors


class _WithoutRows:
    """Coefficients on their way to the minimum without each of some rows.

    Attributes
    ----------
    left : places of those that are not there yet, among the rows.
    errors : (rows,) how far the predictors may be off.
    """

    def __init__(self, objective: LocalObjective, rows: Rows, factors: Floats) -> None:
        assert objective.coefficients is not None
        self.objective, self.rows, self.factors = objective, rows, factors
        constant = objective.constant if objective.intercept.any() else None
        self.table = as_dense(objective.X.columns(False, constant, False))
        p, d = objective.X.X.shape[1], self.table.shape[1]
        self.start, self.l1, self.l2 = np.zeros(d), np.full(d, objective.l1), np.full(d, objective.ridge)
        self.start[:p] = objective.coefficients[0]
        if constant is not None:
            rest = objective.predictor[:, 0] - self.table[:, :p] @ self.start[:p]
            self.start[p] = rest.mean() / constant
            if objective.free_constant:
                self.l1[p], self.l2[p] = 0.0, 0.0
        curvature = objective.curvature[:, 0, 0]
        self.hessian = weighted_product(curvature, self.table, self.table)
        self.curvature, self.own = curvature[rows], np.ascontiguousarray(self.table[rows])
        self.coef = np.tile(self.start, (len(rows), 1))
        self.left, self.errors = np.arange(len(rows)), np.full(len(rows), np.inf)
        self.before = np.full(len(rows), np.nan)

    @property
    def predictors(self) -> Floats:
        """What is said of each of the rows, (rows,)."""
        return np.asarray(np.einsum("bj,bj->b", self.coef, self.own))

    def step(self, renewed: bool, patient: bool) -> None:
        """One step for all that are left, with the Hessian of each one if `renewed`.

        Those whose steps hardly shrink are given up unless `patient`.
        """
        left, (moves, lengths) = self.left, self._moves(renewed)
        share = self._shares(moves)
        self.coef[left] += share[:, None] * moves
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(np.isnan(self.before[left]), 0.0, np.minimum(lengths / self.before[left], _NOWHERE))
        seen = np.abs(np.einsum("bj,bj->b", moves, self.own[left]))
        self.errors[left] = np.maximum(seen, _LEAST_SEEN * lengths) / (1.0 - ratio)
        self.before[left] = lengths
        slow = (ratio > _SLOW) & (not patient)
        self.left = left[(self.errors[left] > _SHORT) & (share > 0.0) & ~slow]

    def _moves(self, renewed: bool) -> tuple[Floats, Floats]:
        """(steps of quadratic models (left, d), their lengths (left,))."""
        # Here, because the compiler is slow to import.
        from outsample._kernels.coordinate_descent import moves_without

        left, predictor = self.left, self._predictor(self.coef[self.left])
        slopes = self.objective.losses.gradient(predictor[..., None])[..., 0] * self.factors[left]
        gradients, starts = slopes @ self.table, self.coef[left]
        moves, lengths, finest = np.empty_like(starts), np.empty(len(left)), _FINER * _SHORT

        def some(first: int, last: int) -> None:
            for part in (slice(i, i + 1) for i in range(first, last)) if renewed else (slice(first, last),):
                hessian, taken = self.hessian, self.curvature[left[part]]
                if renewed:
                    hessian, taken = self._hessian(predictor[part.start], left[part.start]), np.zeros(1)
                arrays = self.own[left[part]], taken, gradients[part], starts[part]
                into = moves[part], lengths[part]
                moves_without(hessian, *arrays, self.l1, self.l2, finest, _FEWER_SWEEPS, *into)

        over_slices(some, len(left), n_threads())
        return moves, lengths

    def _hessian(self, predictor: Floats, place: int) -> Floats:
        """Of the losses without the row at a place, where all rows have these predictors."""
        curvature = self.objective.losses.curvature(predictor[:, None])[:, 0, 0] * self.factors[place]
        return weighted_product(curvature, self.table, self.table)

    def _shares(self, moves: Floats) -> Floats:
        """Share of each step that lowers the objective, the first of 1, ½, ¼, …; zero where none does, (left,)."""
        at, share = self._value(self.coef[self.left], self.left), np.zeros(len(moves))
        open_ = np.arange(len(moves))
        for halvings in range(_MAX_HALVINGS):
            tried = self.coef[self.left[open_]] + 0.5**halvings * moves[open_]
            lower = self._value(tried, self.left[open_]) <= at[open_] + 1e-12 * np.abs(at[open_])
            share[open_[lower]] = 0.5**halvings
            open_ = open_[~lower]
            if not len(open_):
                break
        return share

    def _value(self, coef: Floats, places: Rows) -> Floats:
        """The objective without the rows at some places, (places,)."""
        losses = (self.objective.losses.value(self._predictor(coef)[..., None]) * self.factors[places]).sum(axis=1)
        return np.asarray(losses + np.abs(coef) @ self.l1 + 0.5 * np.square(coef) @ self.l2)

    def _predictor(self, coef: Floats) -> Floats:
        """Predictors of all rows, (len(coef), n)."""
        return np.asarray(coef @ self.table.T)


def _gram(X: SharedTable, weight: Floats, centred: bool) -> tuple[Floats, Floats, Floats]:
    """(columns, the same times their weights, Gram matrix); centred at weighted means."""
    columns = as_dense(X.X)
    if not sparse.issparse(X.X) and (weight == 1).all():
        columns = X.columns(False, None, centred)
        return columns, columns, columns.T @ columns
    if centred:
        columns = columns - np.average(columns, axis=0, weights=weight)
    weighted = weight[:, None] * columns
    return columns, weighted, weighted.T @ columns
