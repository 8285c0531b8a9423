"""First steps of approximate leave-one-out for many penalties of a lasso or an elastic net at once, without weights.

As the penalty falls, columns join those with a coefficient and few leave. Along a run of models each of which has the
columns of the one before, the Cholesky factor of the last Hessian, its columns in the order in which they joined, has
the factors of all the others as leading blocks. So the leverages of all models are running sums over one product of
matrices, and what else `FirstSteps` and `ActiveColumns` find for one model takes a few products for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from outsample.paths.penalised.approximate import ALL_ITS_OWN, UNSEEN, SharedTable
from outsample.paths.penalised.doubt import SAFETY, TINY, entries
from outsample.running.arrays import Array, Bools, Floats, Rows

# Numbers of the working arrays of models that are handled together: 1 MB, which stays in the processor's cache.
_AT_ONCE = 125_000
# Columns up to which going through them is faster than looking rows up among them.
_FEW = 10


@dataclass(frozen=True, eq=False)
class Penalised:
    """Minima of ½ Σ (y − x β − constant)² + l1 |β|₁ + ½ ridge |β|², one for each penalty.

    Attributes
    ----------
    coefficients : (models, p).
    constants : (models,).
    l1, ridge : (models,).
    intercept : whether the constant is free; otherwise it is zero.
    """

    coefficients: Floats
    constants: Floats
    l1: Floats
    ridge: Floats
    intercept: bool


@dataclass(frozen=True, eq=False)
class ManySteps:
    """The first steps of some models.

    Attributes
    ----------
    places : their places among all.
    predictors, left_out : (models, n) of the fits, and without each row.
    bounded : (models,) whether no row alone decides its prediction.
    reach, needed : (models, n) how far columns may move without a row, and (models, p) how far each must move to leave
        or join those with a coefficient, ascending; see `ActiveColumns`.
    typical : (n,) what such a column may change of the prediction of a row.
    """

    places: range
    predictors: Floats
    left_out: Floats
    bounded: Bools
    reach: Floats
    needed: Floats
    typical: Floats

    def errors(self, model: int) -> tuple[Rows, Floats]:
        """(rows whose left-out predictors may be off because columns switch, how far), in one of the models."""
        needed, reach = self.needed[model], self.reach[model]
        within = needed[: np.searchsorted(needed, reach.max())]
        if not len(within):
            return np.empty(0, dtype=np.intp), np.empty(0)
        rows = np.flatnonzero(reach > within[0])
        reach = reach[rows]
        if len(within) <= _FEW:
            excess = sum(np.maximum(reach - one, 0.0) for one in within)
        else:
            count = np.searchsorted(within, reach, side="right")
            excess = count * reach - np.concatenate([[0.0], np.cumsum(within)])[count]
        return rows, SAFETY * self.typical[rows] * excess


class NestedModels:
    """Iterates over the `ManySteps` of models, in their order; passes over those whose Hessian is singular.

    Parameters
    ----------
    X, y : the table and its labels (n,).
    weight : (n,) ones, under which what X knows is shared with steps of single models.
    models : the minima.
    """

    def __init__(self, X: SharedTable, y: Floats, weight: Floats, models: Penalised) -> None:
        self._X, self._y, self._models = X, y, models
        self._p = models.coefficients.shape[1]
        constant = 1.0 if models.intercept else None
        self._table = X.columns(False, constant, models.intercept)
        self._moments = X.moments(constant, models.intercept, weight)
        level = np.full((len(models.constants), int(models.intercept)), y.mean())
        fitted = np.column_stack([models.coefficients, level]) @ self._moments
        self._pull = y @ self._table - fitted
        self._active = models.coefficients != 0

    def __iter__(self) -> Iterator[ManySteps]:
        at_once = max(1, _AT_ONCE // len(self._y))
        for first, last in self._runs():
            ridge = float(self._models.ridge[first])
            run = self._factored(first, last, ridge)
            if run is None:
                continue
            scaled = entries(self._X, self._models.intercept, np.sqrt(run.squares))
            for start in range(first, last, at_once):
                yield self._steps(range(start, min(start + at_once, last)), run, scaled)

    def _runs(self) -> Iterator[tuple[int, int]]:
        """(first, last + 1) of models with the same ridge, each with the columns of the one before."""
        first, n_models = 0, len(self._active)
        for m in range(1, n_models + 1):
            if m == n_models or self._models.ridge[m] != self._models.ridge[m - 1] or self._leaves(m):
                yield first, m
                first = m

    def _leaves(self, m: int) -> bool:
        """Whether a column of the model before is not used any more."""
        return bool((self._active[m - 1] & ~self._active[m]).any())

    def _factored(self, first: int, last: int, ridge: float) -> _Run | None:
        """What the models of a run share; None where their Hessian is singular."""
        used = np.flatnonzero(self._active[last - 1])
        joined = self._active[first:last].argmax(axis=0)[used]
        used = used[np.argsort(joined, kind="stable")]
        own = np.arange(self._p, self._table.shape[1])
        order = np.concatenate([own, used])
        hessian = self._moments[np.ix_(order, order)]
        penalised = np.arange(len(own), len(order))
        hessian[penalised, penalised] += ridge * (1.0 - 1.0 / len(self._y))
        lower = _factor(hessian)
        return None if lower is None else _Run(order, lower, self._table, self._moments, self._p, ridge)

    def _steps(self, places: range, run: _Run, scaled: tuple[Floats, Floats]) -> ManySteps:
        models, here = self._models, slice(places.start, places.stop)
        predictors = models.coefficients[here] @ self._X.X.T
        predictors += models.constants[here, None]
        gradient = predictors - self._y
        sizes = self._active[here].sum(axis=1) + int(models.intercept)
        leverages = run.leverages[sizes]
        slack = 1.0 - leverages
        bounded = slack.min(axis=1) > ALL_ITS_OWN
        np.maximum(slack, ALL_ITS_OWN, out=slack)
        # Without a row, its share of the penalty leaves too.
        left_out = run.moved(self._pull[here], sizes) @ run.whitened
        left_out /= len(self._y)
        leverages *= gradient
        left_out += leverages
        left_out /= slack
        left_out += predictors
        reach = np.abs(gradient, out=gradient)
        reach /= slack
        reach *= SAFETY * scaled[0]
        needed = self._needed(here, run, sizes)
        return ManySteps(places, predictors, left_out, bounded, reach, needed, scaled[1])

    def _needed(self, here: slice, run: _Run, sizes: Rows) -> Floats:
        """How far each column must move to switch, in standard errors, ascending, (models, p)."""
        models, active, pull = self._models, self._active[here], self._pull[here, : self._p]
        unit = np.where(active, run.spreads[sizes], run.unexplained[sizes])
        distance = np.maximum(models.l1[here, None] - np.abs(pull), 0.0)
        distance = np.where(active, np.abs(models.coefficients[here]), distance)
        return np.sort(distance / np.maximum(unit, TINY), axis=1)


class _Run:
    """What models with nested columns share, by the number of columns that a model uses.

    Attributes
    ----------
    order : the columns in the order in which they join, the constant first.
    squares : (p,) squared length of each column.
    whitened : (columns, n) W with W_s Wᵀ_s, its first s rows, the products z_i H⁻¹ z_jᵀ of the model of s columns.
    leverages : (columns + 1, n) sums of squares over the first s rows.
    spreads, unexplained : (columns + 1, p) standard error of each coefficient in use, and length of what the columns in
        use do not explain of each other one.
    """

    def __init__(self, order: Rows, lower: Floats, table: Floats, moments: Floats, p: int, ridge: float) -> None:
        self.order, self._inverse = order, solve_triangular(lower, np.eye(len(order)), lower=True)
        self.squares = np.diagonal(moments)[:p] + ridge
        placed = np.zeros((len(order), table.shape[1]))
        placed[:, order] = self._inverse
        self.whitened = placed @ table.T
        self.leverages = _running_squares(self.whitened)
        own = order < p
        self.spreads = np.zeros((len(order) + 1, p))
        self.spreads[:, order[own]] = np.sqrt(_running_squares(self._inverse[:, own]))
        explained = _running_squares(self._inverse @ moments[order, :p])
        self.unexplained = np.sqrt(np.maximum(self.squares - explained, 1e-9 * self.squares))

    def moved(self, pull: Floats, sizes: Rows) -> Floats:
        """H⁻¹ times the gradient of the penalty in the directions of `whitened`, (models, columns)."""
        whitened = pull[:, self.order] @ self._inverse.T
        return np.where(np.arange(len(self.order)) < sizes[:, None], whitened, 0.0)


def _running_squares(rows: Array) -> Floats:
    """Sums of squares over the first 0, 1, … rows, (rows + 1, ...)."""
    sums = np.zeros((len(rows) + 1, rows.shape[1]))
    np.square(rows, out=sums[1:])
    # Row after row, which is several times as fast as `cumsum` down the columns.
    for before, here in pairwise(sums):
        here += before
    return sums


def _factor(hessian: Floats) -> Floats | None:
    """The lower Cholesky factor; None where the matrix, scaled to unit diagonal, is singular up to rounding."""
    diagonal = np.diagonal(hessian)
    if not (diagonal > 0).all():
        return None
    scale = np.sqrt(diagonal)
    try:
        lower = cholesky(hessian / np.outer(scale, scale), lower=True, check_finite=False)
    except LinAlgError:
        return None
    singular = len(lower) > 0 and np.diagonal(lower).min() ** 2 <= UNSEEN
    return None if singular else np.asarray(scale[:, None] * lower)
