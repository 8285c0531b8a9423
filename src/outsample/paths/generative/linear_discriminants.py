"""Linear discriminant analysis along `shrinkage`."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn

from outsample.data.tables import Table
from outsample.paths.base import Design, GridPath
from outsample.paths.generative.design import ClassModels, Scorer, Scores, partly_refitted
from outsample.paths.generative.inputs import double_table, is_number, usable_priors
from outsample.paths.generative.statistics import ClassMoments
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Bools, Floats, Rows

# Until 1.9, scikit-learn's solver "svd" divided sums of squares by n − K, and that of the quadratic kind by n_k − 1.
DIVIDES_BY_ROWS = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)

# Least eigenvalue of a covariance matrix whose columns have unit variance, for which nine digits are left.
LEAST_EIGENVALUE = 1e-6
# Eigenvalues below this share of the largest are rounding: the columns depend on each other.
ROUNDING = 1e-12
# Ratio of the eigenvalues of a covariance matrix up to which scikit-learn's own solution has nine digits.
LARGEST_CONDITION = 1e6
# Least share of a quadratic form that removing a row may leave.
LEAST_LEFT = 1e-5


class LinearDiscriminantPath(GridPath):
    """`LinearDiscriminantAnalysis` along `shrinkage`, every solver, dense X in double precision.

    The shrinkage "auto", estimators of the covariance, and columns that are nearly dependent are refitted.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    takes_weight = False

    @classmethod
    def serves(cls, estimator: Any, alone: bool) -> bool:
        known = estimator.solver in ("lsqr", "eigen") or (estimator.solver == "svd" and alone)
        return bool(known and estimator.covariance_estimator is None and is_number(estimator.tol, 0.0))

    @classmethod
    def accepts(cls, value: object) -> bool:
        return value is None or is_number(value, 0.0, 1.0)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        table, own = double_table(X), self.estimator
        shrinkage = np.array([value or 0.0 for value in self.values])
        if table is None or classes is None or not self._is_valid(table.shape[1], len(classes)):
            return RefitPath.of(self).bind(X, classes, weight)

        models = LinearDiscriminants(table, shrinkage, len(classes), own.priors, own.solver, own.tol)
        served = np.arange(len(self)) if models.well_posed else np.flatnonzero(shrinkage > 0)
        return partly_refitted(self, served, models.only(served), X, classes, weight)

    def _is_valid(self, p: int, n_classes: int) -> bool:
        """Whether scikit-learn would not complain about a parameter."""
        own = self.estimator
        few = own.n_components is None or own.n_components <= min(n_classes - 1, p)
        plain = own.solver != "svd" or all(value is None for value in self.values)
        return few and plain and usable_priors(own.priors, n_classes)


class LinearDiscriminants(ClassModels):
    """Normal densities with one covariance matrix, mixed with a multiple of the identity, for every shrinkage.

    Scores are logarithms of prior times density; those of more than two classes, as scikit-learn's, are less the
    density around an origin, which is zero, or the mean of the class means for the solver "svd".

    Parameters
    ----------
    table : (n, p).
    shrinkage : (models,).
    priors : (K,) or None for the shares of the classes.
    solver, tol : of scikit-learn's estimator.
    """

    binary_link = True

    def __init__(self, table: Floats, shrinkage: Floats, n_classes: int, priors: Any, solver: str, tol: float) -> None:
        self.center = table.mean(axis=0)
        self.table = table - self.center
        self.shrinkage, self.n_models, self.n_classes = shrinkage, len(shrinkage), n_classes
        self.priors = None if priors is None else np.asarray(priors, np.float64)
        self.by_svd, self.tol = solver == "svd", tol
        spread = self.table.std(axis=0)
        varies = spread > ROUNDING * np.abs(table).max(axis=0, initial=0.0)
        self.scale = np.where(varies, spread, 1.0)
        self.rank, self._least = table.shape[1], np.inf
        if (shrinkage == 0).any():
            self._look_for_dependence(self.table.T @ self.table / len(table), len(table))

    def knowing(self, covariance: Floats, n: int) -> LinearDiscriminants:
        """The same models where n rows have this covariance matrix, (p, p), without regard to classes."""
        some, spread = copy(self), np.sqrt(np.diagonal(covariance))
        some.scale = np.where(spread > 0, spread, 1.0)
        if (self.shrinkage == 0).any():
            some._look_for_dependence(covariance, n)
        return some

    def _look_for_dependence(self, products: Floats, n: int) -> None:
        """Find the number of independent columns, and how far they are from being fewer."""
        correlations = np.linalg.eigvalsh(products / np.outer(self.scale, self.scale))
        self.rank = int((correlations > ROUNDING * n).sum())
        self._least = float(correlations[-self.rank]) if self.rank else 0.0
        self._eigenvalues = np.linalg.eigvalsh(products)

    @property
    def well_posed(self) -> bool:
        """Whether columns are independent as far as the models without shrinkage need it."""
        if (self.shrinkage > 0).all():
            return True
        if self.by_svd:
            full = self.rank == self.table.shape[1] or self.tol > 1e-7
        else:
            full = bool(self._eigenvalues[-1] <= LARGEST_CONDITION * self._eigenvalues[0])
        return full and self._least > max(LEAST_EIGENVALUE, 4 * self.tol**2 * self.by_svd)

    def only(self, models: Rows) -> LinearDiscriminants:
        """Some of the models."""
        some = copy(self)
        some.shrinkage, some.n_models = self.shrinkage[models], len(models)
        return some

    def read(self, X_new: Table) -> Floats | None:
        new = double_table(X_new)
        if new is None or new.shape[1] != self.table.shape[1]:
            return None
        # Where columns depend on each other, new rows may not follow, and the solver decides what becomes of that.
        dependent = self.rank < new.shape[1] and bool((self.shrinkage == 0).any())
        return None if dependent else new - self.center

    def statistics(self, table: Floats, codes: Array, weight: Floats | None) -> ClassMoments:
        pooled = self.by_svd or self.priors is None
        return ClassMoments.of(table, codes, self.n_classes, kind="pooled" if pooled else "classes")

    def scorer(self, statistics: ClassMoments, table: Floats, response: str) -> Scorer:
        raw = response == "decision_function" and self.n_classes > 2
        within = self.within(statistics)
        fits = [_Fit(self, models, within, statistics, raw) for models in self.groups]

        def scores(block: slice) -> Scores:
            values = np.empty((self.n_models, self.n_classes, len(table[block])))
            doubt = np.zeros((self.n_models, 1), bool)
            for fit in fits:
                values[fit.models], doubt[fit.models, 0] = fit.scores(table[block]), fit.doubt
            return Scores(values, doubt)

        return scores

    def left_out_scorer(self, statistics: ClassMoments, codes: Array, weight: Floats | None, response: str) -> Scorer:
        from outsample.paths.generative.linear_left_out import LeftOutRows

        parts = [LeftOutRows(self, models, statistics, codes, response) for models in self.groups]

        def scores(block: Rows) -> Scores:
            values = np.empty((self.n_models, self.n_classes, len(block)))
            doubt = np.empty((self.n_models, len(block)), bool)
            for part in parts:
                values[part.models], doubt[part.models] = part.scores(block)
            return Scores(values, doubt)

        return scores

    @property
    def groups(self) -> list[Rows]:
        """Positions of the models without shrinkage, whose columns may be scaled, and of those with it."""
        both = np.flatnonzero(self.shrinkage == 0), np.flatnonzero(self.shrinkage > 0)
        return [models for models in both if len(models)]

    def within(self, statistics: ClassMoments) -> Floats:
        """The covariance matrix within classes, (p, p), before shrinkage."""
        if statistics.kind == "classes":
            return np.asarray(np.einsum("k,kij->ij", self._shares(statistics.weight), statistics.scatter))
        return statistics.scatter / self.divisor(statistics.weight.sum())

    def without(self, statistics: ClassMoments, code: int) -> tuple[Floats, float]:
        """(B, g): without row i of a class the covariance matrix is B − g d dᵀ, d its deviation from the class mean."""
        left = statistics.weight.copy()
        left[code] -= 1.0
        lever = statistics.weight[code] / left[code]
        if statistics.kind == "classes":
            shares = self._shares(left)
            return np.einsum("k,kij->ij", shares, statistics.scatter), float(lever * shares[code])
        divisor = self.divisor(left.sum())
        return statistics.scatter / divisor, float(lever / divisor)

    def _shares(self, weight: Floats) -> Floats:
        assert self.priors is not None
        return np.asarray(self.priors / weight)

    def divisor(self, n: float) -> float:
        """What pooled sums of squares of n rows are divided by."""
        return n - self.n_classes if self.by_svd and not DIVIDES_BY_ROWS else n

    def prior(self, weight: Floats) -> Floats:
        """(K,) or (rows, K) priors of classes of these numbers of rows."""
        if self.priors is not None:
            return self.priors
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))

    def axes(self, models: Rows, within: Floats) -> Axes:
        """The principal axes of a covariance matrix, in the units that the models need."""
        if self.shrinkage[models[0]] > 0:
            values, vectors = np.linalg.eigh(within)
            return Axes(vectors, np.maximum(values, 0.0), np.inf, 1.0)
        scaled = within / np.outer(self.scale, self.scale)
        values, vectors = np.linalg.eigh(scaled)
        kept = slice(len(values) - self.rank, None)
        condition = 1.0
        if not self.by_svd:
            own = np.linalg.eigvalsh(within)
            condition = float(own[-1] / own[0]) if own[0] > 0 else np.inf
        return Axes(vectors[:, kept] / self.scale[:, None], values[kept], float(values[kept].min()), condition)

    def unreliable(self, axes: Axes, base: Floats, added: Floats, left: Floats) -> Bools:
        """Which models lack digits on these axes, (models, rows), when of some direction only a share is left.

        Parameters
        ----------
        base, added : (models, r) and (models, rows), see `Axes.mixed`.
        left : (models, rows).
        """
        spread = base.max(axis=1)[:, None] + added, (base.min(axis=1)[:, None] + added) * left
        doubt = ~(spread[0] <= LARGEST_CONDITION * spread[1]) & np.isinf(axes.least)
        doubt |= ~(axes.condition <= LARGEST_CONDITION * left) | ~(left > LEAST_LEFT)
        return np.asarray(doubt | ~(axes.least * left > max(LEAST_EIGENVALUE, 4 * self.tol**2 * self.by_svd)))


@dataclass(frozen=True)
class Axes:
    """Principal axes of a covariance matrix, and how well they are determined.

    Attributes
    ----------
    vectors : (p, r).
    values : (r,) eigenvalues.
    least : the least of them in units of the variances of the columns; infinite where shrinkage adds to it.
    condition : ratio of the eigenvalues in the units that scikit-learn works in.
    """

    vectors: Floats
    values: Floats
    least: float
    condition: float

    def mixed(self, shrinkage: Floats, trace: Floats, p: int) -> tuple[Floats, Floats]:
        """(models, r) eigenvalues less their shrinkage, and (models, rows) what it adds to them; `trace` is (rows,)."""
        return (1.0 - shrinkage[:, None]) * self.values, np.outer(shrinkage, trace) / p


class _Fit:
    """Linear scores of some models that share the axes of one covariance matrix."""

    def __init__(
        self, owner: LinearDiscriminants, models: Rows, within: Floats, statistics: ClassMoments, raw: bool
    ) -> None:
        self.models = models
        axes = owner.axes(models, within)
        base, added = axes.mixed(owner.shrinkage[models], np.array([np.trace(within)]), len(within))
        spread = base + added
        means, prior = statistics.mean @ axes.vectors, owner.prior(statistics.weight)
        inner = means / spread[:, None]
        self._constant = np.log(prior) - 0.5 * (inner * means).sum(axis=2)
        if raw:
            origin = (prior @ statistics.mean if owner.by_svd else -owner.center) @ axes.vectors
            inner = inner - (origin / spread)[:, None]
            self._constant += 0.5 * (origin**2 / spread).sum(axis=1)[:, None]
        self._coefficients = inner @ axes.vectors.T
        self.doubt = owner.unreliable(axes, base, added, np.ones((1, 1)))[:, 0]
        if statistics.weight.sum() <= owner.n_classes:
            self.doubt[:] = True
        if owner.by_svd and owner.n_classes > 2:
            white = means / np.sqrt(spread[0])
            self.doubt |= not centres_are_apart((white @ white.T)[None], prior, owner.tol, len(axes.values))[0]

    def scores(self, rows: Floats) -> Floats:
        """(models, K, rows)."""
        models, n_classes, p = self._coefficients.shape
        linear = self._coefficients.reshape(-1, p) @ rows.T
        return np.asarray(linear.reshape(models, n_classes, -1) + self._constant[:, :, None])


def centres_are_apart(products: Floats, prior: Floats, tol: float, rank: int) -> Bools:
    """Whether the class means span as many directions as they can, with a margin, (rows,).

    The solver "svd" drops directions in which they hardly differ.

    Parameters
    ----------
    products : (rows, K, K) inner products of the means, from any origin, in units of the covariance matrix.
    prior : (K,) or (rows, K).
    """
    own = np.broadcast_to(prior, products.shape[:2])
    to_mean = np.einsum("rkl,rl->rk", products, own)
    central = np.einsum("rk,rk->r", to_mean, own)[:, None, None]
    between = products - to_mean[:, :, None] - to_mean[:, None, :] + central
    values = np.linalg.eigvalsh(between * np.sqrt(own[:, :, None] * own[:, None, :]))
    last = values[:, -min(products.shape[1] - 1, rank)]
    return np.asarray(last > max(4 * tol**2, ROUNDING) * values[:, -1])
