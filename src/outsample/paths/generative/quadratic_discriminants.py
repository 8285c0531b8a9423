"""Quadratic discriminant analysis along `reg_param` and `shrinkage`."""

from __future__ import annotations

from typing import Any

import numpy as np

from outsample.data.tables import Table
from outsample.paths.base import Design, GridPath
from outsample.paths.generative.design import ClassModels, GenerativeDesign, Scorer, Scores
from outsample.paths.generative.inputs import double_table, is_number, usable_priors
from outsample.paths.generative.linear_discriminants import DIVIDES_BY_ROWS, LARGEST_CONDITION, LEAST_LEFT
from outsample.paths.generative.statistics import ClassMoments
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Bools, Floats, Rows

# The same where its eigenvalues are squares of singular values of the rows, as for scikit-learn's solver "svd".
LARGEST_CONDITION_OF_ROWS = 1e12
# Distance of the rows from zero, in their smallest standard deviation, up to which means have ten digits of that.
LARGEST_OFFSET = 1e6


class QuadraticDiscriminantPath(GridPath):
    """`QuadraticDiscriminantAnalysis` along `reg_param` or `shrinkage`, dense X in double precision.

    The shrinkage "auto" and estimators of the covariance are refitted. So are training sets in which scikit-learn finds
    a covariance matrix that is not of full rank, or nearly so; it refuses them.
    """

    responses = frozenset({"predict", "predict_proba", "decision_function"})
    takes_weight = False

    @classmethod
    def serves(cls, estimator: Any, alone: bool) -> bool:
        return estimator.solver in ("svd", "eigen") and estimator.covariance_estimator is None

    @classmethod
    def accepts(cls, value: object) -> bool:
        return value is None or is_number(value, 0.0, 1.0)

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        table, own = double_table(X), self.estimator
        settings = [{"reg_param": own.reg_param, "shrinkage": own.shrinkage, **params} for params in self.params]
        valid = all(self._is_valid(**setting) for setting in settings) and is_number(own.tol, 0.0)
        if not valid or table is None or classes is None or not usable_priors(own.priors, len(classes)):
            return RefitPath.of(self).bind(X, classes, weight)
        to_trace = own.solver == "eigen"
        mixed = [setting["shrinkage"] or 0.0 if to_trace else setting["reg_param"] for setting in settings]
        models = QuadraticDiscriminants(table, np.array(mixed), to_trace, len(classes), own.priors, own.tol)
        return GenerativeDesign(self, models, X, classes, weight)

    def _is_valid(self, reg_param: Any, shrinkage: Any) -> bool:
        """Whether scikit-learn would not complain about a parameter, and this path knows it."""
        by_svd = self.estimator.solver == "svd"
        shrunk = shrinkage is None if by_svd else shrinkage is None or is_number(shrinkage, 0.0, 1.0)
        return shrunk and is_number(reg_param, 0.0, 1.0)


class QuadraticDiscriminants(ClassModels):
    """Normal densities with a covariance matrix per class, mixed with a multiple of the identity.

    Parameters
    ----------
    table : (n, p).
    mixed : (models,) the share of the identity.
    to_trace : whether the identity is multiplied by the mean of the eigenvalues; otherwise by one.
    priors : (K,) or None for the shares of the classes.
    tol : least eigenvalue of a covariance matrix of full rank.
    """

    def __init__(self, table: Floats, mixed: Floats, to_trace: bool, n_classes: int, priors: Any, tol: float) -> None:
        self._center = table.mean(axis=0)
        self.offset = float(np.abs(self._center).max(initial=0.0))
        self.table = table - self._center
        self.mixed, self.to_trace, self.tol = mixed, to_trace, tol
        self._priors = None if priors is None else np.asarray(priors, np.float64)
        self.n_models, self.n_classes = len(mixed), n_classes

    def read(self, X_new: Table) -> Floats | None:
        new = double_table(X_new)
        return None if new is None or new.shape[1] != self.table.shape[1] else new - self._center

    def statistics(self, table: Floats, codes: Array, weight: Floats | None) -> ClassMoments:
        return ClassMoments.of(table, codes, self.n_classes, kind="classes")

    def scorer(self, statistics: ClassMoments, table: Floats, response: str) -> Scorer:
        fits = self._fits(statistics)
        log_priors = np.log(self.prior(statistics.weight))
        doubt = np.any([fit.doubt for fit in fits], axis=0)[:, None]

        def scores(block: slice) -> Scores:
            forms = np.stack([fit.forms(table[block]) for fit in fits], axis=1)
            return Scores(log_priors[:, None] - 0.5 * forms, doubt)

        return scores

    def left_out_scorer(self, statistics: ClassMoments, codes: Array, weight: Floats | None, response: str) -> Scorer:
        fits = [_ClassFit.of_rows(self, self.table[codes == k]) for k in range(self.n_classes)]
        place = np.empty(len(codes), np.intp)
        for k, fit in enumerate(fits):
            place[codes == k] = np.arange(len(fit.rows))
        doubts = np.array([fit.doubt for fit in fits])
        others_doubt = np.stack([np.delete(doubts, k, axis=0).any(axis=0) for k in range(self.n_classes)])

        def scores(block: Rows) -> Scores:
            rows, own = self.table[block], codes[block]
            forms = np.stack([fit.forms(rows) for fit in fits], axis=1)
            left = statistics.weight - (np.arange(self.n_classes) == own[:, None])
            doubt = others_doubt[own].T
            for k in np.unique(own):
                inside = np.flatnonzero(own == k)
                forms[:, k, inside], unsure = fits[k].left_out_forms(place[block[inside]])
                doubt[:, inside] |= unsure
            return Scores(np.log(self.prior(left)).T - 0.5 * forms, doubt)

        return scores

    def prior(self, weight: Floats) -> Floats:
        """Priors of classes of these numbers of rows, (K,) or (rows, K)."""
        if self._priors is not None:
            return np.broadcast_to(self._priors, weight.shape)
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))

    def divisor(self, n: float) -> float:
        """What sums of squares of n rows are divided by."""
        return n - 1.0 if not self.to_trace and not DIVIDES_BY_ROWS else n

    def _fits(self, statistics: ClassMoments) -> list[_ClassFit]:
        moments = zip(statistics.weight, statistics.mean, statistics.scatter, strict=True)
        return [_ClassFit.of_moments(self, *of_class) for of_class in moments]


class _ClassFit:
    """The densities of one class: −2 log density of rows, but for a constant, by every model.

    Parameters
    ----------
    owner : all models.
    n : rows of the class.
    mean : (p,) of the class.
    squares, axes : (p,) sums of squares along the principal axes, which are (p, p), one a column.
    most : ratio of the eigenvalues of a covariance matrix up to which there are digits enough.
    rows : (n, p) of the class, where they are known.
    """

    def __init__(
        self,
        owner: QuadraticDiscriminants,
        n: int,
        mean: Floats,
        squares: Floats,
        axes: Floats,
        most: float,
        rows: Floats | None = None,
    ) -> None:
        self._owner, self._n, self._mean, self._squares, self._axes = owner, float(n), mean, squares, axes
        self._most, self._rows = most, rows
        self._surely = 1.001 if most == LARGEST_CONDITION else 1.0 + 1e-6
        spread = self._spreads(self._n)
        self.doubt = self._unsure(spread.min(axis=1), spread.T) | self._too_few(n)
        self._inverse, self._log_determinant = 1.0 / spread, np.log(spread).sum(axis=1)

    @classmethod
    def of_moments(cls, owner: QuadraticDiscriminants, n: float, mean: Floats, scatter: Floats) -> _ClassFit:
        """From sums of squares and products, which have digits for axes of not too different lengths only."""
        squares, axes = np.linalg.eigh(scatter)
        return cls(owner, int(n), mean, np.maximum(squares, 0.0), axes, LARGEST_CONDITION)

    @classmethod
    def of_rows(cls, owner: QuadraticDiscriminants, rows: Floats) -> _ClassFit:
        """From the rows, (n, p), whose singular values are the roots of the squares: they have twice the digits."""
        n, p = rows.shape
        mean = rows.mean(axis=0) if n else np.zeros(p)
        # Directions that no row has are axes too.
        apart = np.vstack([rows - mean, np.zeros((max(p - n, 0), p))])
        _, roots, axes = np.linalg.svd(apart, full_matrices=False)
        most = LARGEST_CONDITION if owner.to_trace else LARGEST_CONDITION_OF_ROWS
        return cls(owner, n, mean, np.square(roots), axes.T, most, rows)

    @property
    def rows(self) -> Floats:
        """The rows of the class, (n, p)."""
        assert self._rows is not None
        return self._rows

    def _too_few(self, n: float) -> bool:
        """Whether scikit-learn refuses so many rows: by singular values, of which there are no more than rows."""
        return n < 2 or (n < len(self._mean) and not self._owner.to_trace)

    def _unsure(self, least: Floats, spread: Floats, left: Floats | float = 1.0) -> Bools:
        """Whether covariance matrices are near to what scikit-learn refuses, or short of digits.

        Parameters
        ----------
        least : bound of their least eigenvalues.
        spread : (p, …) eigenvalues, before an update that has left the share `left` in some direction.
        """
        refused = ~(least > self._surely * self._owner.tol)
        refused |= ~(np.square(self._owner.offset / LARGEST_OFFSET) <= least)
        return np.asarray(refused | ~(spread.max(axis=0) <= self._most * spread.min(axis=0) * left**2))

    def forms(self, rows: Floats) -> Floats:
        """(models, rows)."""
        squares = np.square((rows - self._mean) @ self._axes)
        return np.asarray(self._inverse @ squares.T + self._log_determinant[:, None])

    def left_out_forms(self, places: Rows) -> tuple[Floats, Bools]:
        """(the same of rows of this class when each is left out, where it is in doubt), each (models, rows).

        Without the row the sums of squares are S − d dᵀ n/(n − 1): one update of the inverse and the determinant. Where
        little is left by that in some direction, the class is read anew without the row.
        """
        n, owner = self._n, self._owner
        if self._too_few(n - 1):
            return np.zeros((owner.n_models, len(places))), np.ones((owner.n_models, len(places)), bool)
        forms, doubt = self._updated(self.rows[places])
        # Where all rows are in doubt as it is, one row less does not help.
        spread = self._spreads(n - 1.0)
        hopeless = self._unsure(spread.min(axis=1), spread.T)
        for i in np.flatnonzero(doubt[~hopeless].any(axis=0)):
            without = self._without(int(places[i]))
            forms[:, i], doubt[:, i] = without.forms(self.rows[places[i]][None])[:, 0], without.doubt
        return forms, doubt

    def _without(self, place: int) -> _ClassFit:
        """The densities of the class without one of its rows."""
        rows, owner = np.delete(self.rows, place, axis=0), self._owner
        if not owner.to_trace:
            return _ClassFit.of_rows(owner, rows)
        apart = rows - rows.mean(axis=0)
        return _ClassFit.of_moments(owner, len(rows), rows.mean(axis=0), apart.T @ apart)

    def _updated(self, rows: Floats) -> tuple[Floats, Bools]:
        """(forms by the update, where it lacks digits), each (models, rows)."""
        n, owner = self._n, self._owner
        lever, divisor = n / (n - 1.0), owner.divisor(n - 1.0)
        squares = np.square((rows - self._mean) @ self._axes).T
        total = self._squares.sum()
        left_of_trace = 1.0 - lever * squares.sum(axis=0) / total if total > 0 else np.ones(len(rows))
        taken = self._taken_of_least(squares) / divisor
        forms = np.empty((owner.n_models, len(rows)))
        doubt = np.empty(forms.shape, bool)
        for m, share in enumerate(owner.mixed):
            spread = self._spread(m, n - 1.0, left_of_trace)
            own = (squares / spread).sum(axis=0)
            left = 1.0 - (1.0 - share) * lever / divisor * own
            forms[m] = lever**2 * own / left + np.log(spread).sum(axis=0) + np.log(left)
            least = spread.min(axis=0) - (1.0 - share) * taken
            doubt[m] = self._unsure(least, spread, left) | ~(left > LEAST_LEFT)
        return forms, doubt

    def _taken_of_least(self, squares: Floats) -> Floats:
        """How much of the least sum of squares rows of these `squares`, (p, rows), take away at most, (rows,)."""
        least = self._squares.min()
        if not least > 0:
            return np.zeros(squares.shape[1])
        lever = self._n / (self._n - 1.0)
        return np.asarray(least * np.minimum(lever * (squares / self._squares[:, None]).sum(axis=0), 1.0))

    def _spreads(self, n: float) -> Floats:
        """Eigenvalues of every model, (models, p)."""
        owner, values = self._owner, self._squares / self._owner.divisor(n)
        target = values.mean() if owner.to_trace else 1.0
        return np.asarray((1.0 - owner.mixed[:, None]) * values + owner.mixed[:, None] * target)

    def _spread(self, model: int, n: float, left: Floats) -> Floats:
        """Eigenvalues of one model, (p, rows or 1)."""
        owner, values = self._owner, self._squares / self._owner.divisor(n)
        target = values.mean() * left if owner.to_trace else np.ones(1)
        return np.asarray((1.0 - owner.mixed[model]) * values[:, None] + owner.mixed[model] * target)
