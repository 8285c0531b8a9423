"""Approximate leave-one-out: what a penalised linear model would predict for a row it had not seen, without refits.

A model minimises Σ_i l_i(η_i) + r(β), η_i = z_i β. One Newton step leads from its minimum towards the minimum
without row i. With H the Hessian, G_i = z_i H⁻¹ z_iᵀ and D_i = l''_i the step moves the linear predictor of row i
to η_i + (I − G_i D_i)⁻¹ G_i l'_i: for one output, η_i + l'_i h_i/(1 − l''_i h_i), exact for squared loss
(STATS 305A, lecture 16, §2.4; Rahnama Rad & Maleki 2020). Under an L1 penalty only the columns with a coefficient
other than zero are in z_i and H.

Leaving a row out may change the objective in two more ways, both of them linear in first order. Where scikit-learn
averages the losses over the rows, the row's share of the penalty leaves too in sum form; the gradient of the penalty
is −Σ_j l'_j z_j, because the total gradient is zero. And weights "balanced" over classes are those of the other rows.

How far a first step may be off is estimated in `doubt`; further steps for the rows where that matters are taken in
`refinement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, eigh, lstsq, solve_triangular, svd

from outsample.data.tables import Table
from outsample.paths.penalised.row_losses import RowLosses, Squared
from outsample.running.arrays import Bools, Floats, Rows
from outsample.running.threads import cached_property

# Numbers that the working arrays of one batch of rows hold: 16 MB.
ROWS_AT_ONCE = 2_000_000
# Columns up to which a Gram matrix of all of them is shared by models that use some.
MAX_GRAM = 2_000
# The Hessian of so many coefficients takes 800 MB.
PARAMETERS_AT_MOST = 10_000
# Eigenvalues of the Hessian, scaled to unit diagonal, below this belong to directions that no row depends on.
UNSEEN = 1e-12
# Where 1 − leverage is below this, a row determines its own prediction, and the one without it is unbounded.
ALL_ITS_OWN = 1e-10


class SharedTable:
    """X as several models read it; what depends on X alone is computed once for all of them.

    Parameters
    ----------
    X : (n, p) array or sparse matrix.
    """

    def __init__(self, X: Any) -> None:
        self.X, self._known = X, dict[Any, Any]()

    def columns(self, rotated: bool, constant: float | None, centred: bool) -> Any:
        """X or its row space, with a constant column last unless that is None.

        Parameters
        ----------
        rotated : at most n columns with the same inner products of rows, on which a uniform ridge penalty gives the
            same fits.
        centred : whether each column may be moved by a number, which an unpenalised constant takes up.
        """
        return self.once(("columns", rotated, constant, centred), lambda: self._columns(rotated, constant, centred))

    def moments(self, constant: float | None, centred: bool, weight: Floats) -> Floats:
        """Σ_i w_i z_iᵀ z_i over the rows of `columns`, (p[ + 1], p[ + 1])."""
        table = self.columns(False, constant, centred)
        key = "moments", constant, centred
        return np.asarray(self.once(key, lambda: weighted_product(weight, table, table), weight))

    def once(self, key: Any, compute: Callable[[], Any], weight: Floats | None = None) -> Any:
        """What `compute` gives, computed the first time only; for every array of weights anew."""
        place = key, id(weight)
        if place not in self._known:
            # The weights are kept, too: the identity of an array that is gone may be that of another one.
            self._known[place] = weight, compute()
        return self._known[place][1]

    def _columns(self, rotated: bool, constant: float | None, centred: bool) -> Any:
        X = self.X
        if centred and not sparse.issparse(X):
            X = X - X.mean(axis=0)
        X = _row_space(X) if rotated else X
        if constant is None:
            return X
        column = np.full((X.shape[0], 1), constant)
        return sparse.hstack([X, column], format="csr") if sparse.issparse(X) else np.hstack([X, column])


@dataclass(frozen=True, eq=False)
class Reweighting:
    """How the weights of the other rows change when a row leaves.

    Attributes
    ----------
    group : (n,) the group of each row.
    factors : (n, groups) what the weights of each group are multiplied by when row i leaves.
    """

    group: Rows
    factors: Floats


@dataclass(frozen=True, eq=False)
class LocalObjective:
    """A penalised objective around its minimum, as far as leaving one row out needs it.

    Attributes
    ----------
    X : (n, p) table, without the constant column.
    predictor : (n, K) linear predictors η at the minimum.
    losses : what each row costs.
    active : (K, p) columns free to move; under an L1 penalty those with a coefficient.
    intercept : (K,) whether an output has a constant column.
    ridge : second derivative of the penalty in each coefficient.
    constant : value of the constant column.
    constant_ridge : second derivative of the penalty in the coefficient of the constant column.
    free_constant : whether that coefficient is not penalised at all.
    share : (n,) share of the penalty that leaves with a row; 0 for penalties in sum form.
    shift_invariant : whether adding a number to all outputs changes nothing, as under softmax.
    coefficients : (K, p), where a kink of the penalty or a constraint keeps some of them at zero; None elsewhere.
    l1 : derivative of the penalty in the size of each coefficient.
    positive : whether coefficients must not be negative.
    reweighting : None where weights stay as they are.
    """

    X: SharedTable
    predictor: Floats
    losses: RowLosses
    active: Bools
    intercept: Bools
    ridge: float
    constant: float = 1.0
    constant_ridge: float = 0.0
    free_constant: bool = True
    share: Floats | float = 0.0
    shift_invariant: bool = False
    coefficients: Floats | None = None
    l1: float = 0.0
    positive: bool = False
    reweighting: Reweighting | None = None

    @cached_property
    def gradient(self) -> Floats:
        """(n, K) derivative of each row's loss with respect to η."""
        return self.losses.gradient(self.predictor)

    @cached_property
    def curvature(self) -> Floats:
        """(n, K, K) second derivative."""
        return self.losses.curvature(self.predictor)

    @cached_property
    def shares(self) -> Floats:
        """`share` of every row, (n,)."""
        return np.broadcast_to(np.asarray(self.share, dtype=np.float64), (len(self.predictor),))


class FirstSteps:
    """One Newton step from the minimum with all rows towards the minimum without each row.

    Attributes
    ----------
    table : (n, d) columns that some output moves, the constant last; all columns where models share their moments.
    free : (K, d) which of them each output moves.
    ridges : (d,) second derivatives of the penalty.
    centred : whether the columns were centred.
    root : (K d, r) F with F Fᵀ = H⁻¹, rows of zeros for what is not free.
    predictors : (n, K) left-out predictors; infinite where a row alone decides its prediction, see
        `reproduced_left_out`.
    influence : (n, K, K) G_i = z_i H⁻¹ z_iᵀ.
    leverages : (n,) the largest eigenvalue of G_i D_i; one where a row alone decides its prediction.

    Examples
    --------
    For least squares it is the exact answer, here the mean of the other labels:

    >>> from outsample.paths.penalised.row_losses import Squared
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> mean = LocalObjective(SharedTable(np.empty((3, 0))), np.full((3, 1), y.mean()), Squared(y, np.ones(3)),
    ...                       np.ones((1, 0), bool), np.ones(1, bool), ridge=0.0)
    >>> FirstSteps(mean).predictors.ravel()
    array([4. , 3.5, 1.5])
    """

    def __init__(self, objective: LocalObjective) -> None:
        self.objective = objective
        self.centred = bool(objective.intercept.all() and objective.free_constant)
        self.table, self.free, self.ridges = _columns(objective, self.centred)
        self.root, self.influence = self._shared("influence", self.ridges.tobytes(), compute=self._inverse)
        self._take_steps()

    def _shared(self, name: str, *key: Any, compute: Callable[[], Any]) -> Any:
        """What `compute` gives, shared by models with the same curvature: those of squared loss."""
        objective = self.objective
        if not isinstance(objective.losses, Squared):
            return compute()
        same = objective.active.tobytes(), objective.intercept.tobytes(), float(np.mean(objective.shares))
        return objective.X.once((name, *same, *key), compute, objective.losses.weight)

    def _inverse(self) -> tuple[Floats, Floats]:
        """(`root`, `influence`)."""
        inner = _root_of_inverse(self._hessian())
        root = np.zeros((self.free.size, inner.shape[1]))
        root[self.free.ravel()] = inner
        influence_of, n_outputs = _influence_of(root, self.free), len(self.free)
        influence = np.empty((len(self.objective.predictor), n_outputs, n_outputs))
        width = max(n_outputs, self.free.shape[1], root.shape[1] if n_outputs == 1 else 1)
        for rows in _batches(len(influence), n_outputs * width):
            influence[rows] = influence_of(as_dense(self.table[rows]))
        return root, influence

    @cached_property
    def moments(self) -> Floats | None:
        """Second derivative of squared losses in the coefficients of all columns, (p[ + 1], p[ + 1]).

        None for other losses, and where only a few of many columns are used.
        """
        objective = self.objective
        if not shares_moments(objective):
            return None
        assert isinstance(objective.losses, Squared)
        weight, constant = objective.losses.weight, objective.constant if objective.intercept.any() else None
        return objective.X.moments(constant, self.centred, weight)

    @cached_property
    def drifts(self) -> tuple[Floats, Floats]:
        """(coefficients (n, 1 + groups), gradients (1 + groups, K, d)).

        What leaving row i adds to the gradient beside the loss of that row is the sum of the products.
        """
        objective, change = self.objective, self.objective.reweighting
        coefficients, gradients = [-objective.shares], [self.penalty_gradient]
        for g in range(0 if change is None else change.factors.shape[1]):
            assert change is not None
            coefficients.append(change.factors[:, g] - 1.0)
            gradients.append(self.gradient_sum(objective.gradient * (change.group == g)[:, None]))
        return np.column_stack(coefficients), np.stack(gradients)

    @cached_property
    def penalty_gradient(self) -> Floats:
        """(K, d): minus the gradient of the losses, whose sum with it is zero at the minimum."""
        return -self.gradient_sum(self.objective.gradient)

    def gradient_sum(self, gradient: Floats) -> Floats:
        """Σ_j l'_j z_j over rows, (..., K, d), from (..., n, K); zero for what is not free."""
        flat = np.moveaxis(gradient, -2, 0).reshape(gradient.shape[-2], -1)
        summed = np.asarray((self.table.T @ flat).T).reshape(*gradient.shape[:-2], *self.free.shape)
        return np.where(self.free, summed, 0.0)

    def predictor_move(self, gradient: Floats, of_constant: Floats) -> Floats:
        """How far a Newton step moves all predictors, (n, K), where the objective has a gradient.

        Parameters
        ----------
        gradient, of_constant : (K, p) and (K,), in the coefficients of X and of the constant column.
        """
        objective, X = self.objective, self.objective.X.X
        if self.centred and not sparse.issparse(X):
            mean = X.mean(axis=0)
            X, gradient = X - mean, gradient - mean * of_constant[:, None] / objective.constant
        if _is_rotated(objective):
            width = self.table.shape[1] - bool(objective.intercept.any())
            of_rows = lstsq(as_dense(X).T, gradient.T, check_finite=False)[0]
            gradient = np.asarray((self.table[:, :width].T @ of_rows).T)
        else:
            gradient = gradient[:, objective.active.any(axis=0) | shares_moments(objective)]
        if objective.intercept.any():
            gradient = np.column_stack([gradient, of_constant])
        step = ((gradient.ravel() @ self.root) @ self.root.T).reshape(self.free.shape)
        return -np.asarray(self.table @ step.T)

    @cached_property
    def own_factors(self) -> Floats:
        """What the weight of each row would be multiplied by if it did not leave, (n,)."""
        change = self.objective.reweighting
        every = np.arange(len(self.objective.predictor))
        return np.ones(len(every)) if change is None else change.factors[every, change.group]

    def shares(self, rows: Any) -> Floats:
        """Shares of the penalty that leave with rows."""
        return np.asarray(self.objective.shares[rows])

    def _take_steps(self) -> None:
        n, n_outputs = self.objective.predictor.shape
        coefficients, gradients = self.drifts
        moved = (gradients.reshape(len(gradients), -1) @ self.root) @ self.root.T
        moved = moved.reshape(len(gradients), n_outputs, -1)
        self.predictors, self.leverages = np.empty((n, n_outputs)), np.empty(n)
        for rows in _batches(n, n_outputs * max(n_outputs, self.free.shape[1])):
            drift = np.zeros((len(self.predictors[rows]), n_outputs))
            for g in np.flatnonzero(np.any(coefficients, axis=0)):
                drift -= coefficients[rows, g, None] * (self.table[rows] @ moved[g].T)
            self.predictors[rows], self.leverages[rows] = self._left_out_rows(rows, drift)

    def _hessian(self) -> Floats:
        """Second derivative in the free coefficients, output after output, (P, P)."""
        objective, free = self.objective, self.free
        parameters = int(free.sum())
        if parameters > PARAMETERS_AT_MOST:
            raise ValueError(
                f"approximate leave-one-out factorises a square matrix of all free coefficients, here {parameters:,} "
                f'and at most {PARAMETERS_AT_MOST:,}; use "kfold" instead'
            )
        if self.moments is not None:
            moved = np.flatnonzero(free[0])
            hessian = self.moments[np.ix_(moved, moved)]
            hessian[np.diag_indices(parameters)] += self.ridges[moved] * (1.0 - float(np.mean(objective.shares)))
            return hessian
        hessian = np.empty((parameters, parameters))
        columns = [self.table if own.all() else self.table[:, own] for own in free]
        ends = np.cumsum(free.sum(axis=1))
        places = [slice(end - own.sum(), end) for own, end in zip(free, ends, strict=True)]
        for k, m in combinations_with_replacement(range(len(free)), 2):
            hessian[places[k], places[m]] = weighted_product(objective.curvature[:, k, m], columns[k], columns[m])
            hessian[places[m], places[k]] = hessian[places[k], places[m]].T
        kept = 1.0 - float(np.mean(objective.shares))
        hessian[np.diag_indices(parameters)] += kept * np.broadcast_to(self.ridges, free.shape)[free]
        if objective.shift_invariant:
            _pin_shifts(hessian, free, self.ridges)
        return hessian

    def _left_out_rows(self, rows: slice, drift: Floats) -> tuple[Floats, Floats]:
        """(left-out predictors, leverages) of some rows; `drift` is what else moves the predictors."""
        objective, influence = self.objective, self.influence[rows]
        gradient = self.own_factors[rows, None] * objective.gradient[rows]
        step = np.einsum("ikl,il->ik", influence, gradient) + drift
        own = influence @ objective.curvature[rows]
        predictor = objective.predictor[rows]
        if own.shape[1] == 1:
            leverage = own[:, 0, 0]
            return predictor + _ratio(step[:, 0], 1 - leverage)[:, None], leverage
        leverage = _largest_eigenvalues(influence, objective.curvature[rows])
        return predictor + np.linalg.solve(without_own(own, leverage), step[..., None])[..., 0], leverage


def without_own(own: Floats, leverage: Floats) -> Floats:
    """I − G_i D_i of rows, (rows, K, K), kept regular where a row alone decides its prediction."""
    kept = np.minimum(1.0, (1 - ALL_ITS_OWN) / np.maximum(leverage, UNSEEN))
    return np.asarray(np.eye(own.shape[1]) - own * kept[:, None, None])


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
    root, columns, labels = np.sqrt(weight), as_dense(X), y
    if intercept:
        columns, labels = (table - np.average(table, axis=0, weights=weight) for table in (columns, y))
    basis, singular, _ = svd(root[:, None] * columns, full_matrices=False, check_finite=False)
    seen = singular > singular[0] * max(columns.shape) * np.finfo(np.float64).eps
    basis, inverse = basis[:, seen], 1.0 / (np.square(singular[seen]) + alpha)
    residual = basis @ (inverse * (basis.T @ (root * labels)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(y - residual / (np.square(basis) @ inverse) / root)


def _batches(n: int, numbers: int) -> Iterator[slice]:
    """Slices of n rows, each row of which takes so many numbers."""
    size = max(1, ROWS_AT_ONCE // max(1, numbers))
    return (slice(start, start + size) for start in range(0, n, size))


def _influence_of(root: Floats, free: Bools) -> Callable[[Floats], Floats]:
    """G_i = z_i H⁻¹ z_iᵀ of rows z (rows, d), (rows, K, K), from F with F Fᵀ = H⁻¹."""
    n_outputs, d = free.shape
    if n_outputs == 1:
        return lambda rows: np.square(rows @ root).sum(axis=1)[:, None, None]
    of_output = (root @ root.T).reshape(n_outputs, d, n_outputs * d)

    def influence(rows: Floats) -> Floats:
        # One output at a time, which takes rows × outputs × columns numbers instead of rows × outputs² × columns.
        seen = ((rows @ half).reshape(len(rows), n_outputs, d) for half in of_output)
        return np.stack([np.einsum("ild,id->il", one, rows) for one in seen], axis=1)

    return influence


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
    bounded = slack > ALL_ITS_OWN
    unbounded = np.where(step < 0, -np.inf, np.inf)
    return np.where(bounded, step / np.where(bounded, slack, 1.0), unbounded)


def _columns(objective: LocalObjective, centred: bool) -> tuple[Any, Bools, Floats]:
    """(table, free, ridges): see `FirstSteps`."""
    active, free = objective.active, objective.intercept
    rotated = _is_rotated(objective)
    constant = objective.constant if free.any() else None
    table = objective.X.columns(rotated, constant, centred)
    ridges = np.full(table.shape[1], objective.ridge)
    if rotated:
        active = np.ones((len(active), table.shape[1] - (constant is not None)), dtype=bool)
    if constant is not None:
        active, ridges[-1] = np.column_stack([active, free]), objective.constant_ridge
    used = active.any(axis=0) | shares_moments(objective)
    if not used.all():
        table, active, ridges = table[:, used], active[:, used], ridges[used]
    return table, active, ridges


def _is_rotated(objective: LocalObjective) -> bool:
    n, p = objective.X.X.shape
    return bool(p > n and objective.active.all() and objective.coefficients is None)


def shares_moments(objective: LocalObjective) -> bool:
    """Whether models that use different columns take their Hessians from one matrix: under squared loss."""
    sparse_fit = isinstance(objective.losses, Squared) and objective.coefficients is not None
    return bool(sparse_fit and objective.X.X.shape[1] <= MAX_GRAM)


def _row_space(X: Any) -> Floats:
    """At most n columns with the same inner products of rows as X; a uniform ridge penalty gives the same fits."""
    squared, directions = eigh(as_dense(X @ X.T), check_finite=False)
    kept = squared > UNSEEN * max(squared[-1], np.finfo(np.float64).tiny)
    return np.asarray(directions[:, kept] * np.sqrt(squared[kept]))


def weighted_product(weight: Floats, left: Any, right: Any) -> Floats:
    """leftᵀ diag(weight) right, dense."""
    weighted = sparse.diags(weight) @ right if sparse.issparse(right) else weight[:, None] * right
    return as_dense(left.T @ weighted)


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
        if not len(lower) or np.diagonal(lower).min() ** 2 > UNSEEN:
            return np.asarray(scale[:, None] * solve_triangular(lower, np.eye(len(lower)), lower=True).T)
    except LinAlgError:
        pass
    values, vectors = eigh(scaled, check_finite=False)
    kept = values > UNSEEN * len(values)
    return np.asarray(scale[:, None] * vectors[:, kept] / np.sqrt(values[kept]))


def as_dense(table: Any) -> Floats:
    """A dense array of a table."""
    return np.asarray(table.toarray() if sparse.issparse(table) else table)
