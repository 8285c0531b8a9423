"""Linear regression on a basis that does not look at y: polynomials, splines, components, leading columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_array

from outsample.data.learners import fit
from outsample.data.steps import ignores_y
from outsample.data.tables import Table
from outsample.estimators import LeadingColumns
from outsample.paths.base import Design, Path
from outsample.paths.linear.bases import Basis, fitted_bases
from outsample.paths.linear.design import LinearDesign, Part
from outsample.paths.linear.fits import LinearFits, centred, limit_of, scaled_rows, with_constant
from outsample.paths.order import complexity_of, simplest_first
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats

# Steps that learn nothing from the rows.
_STATELESS = (PolynomialFeatures, LeadingColumns)


class LeastSquaresPath(Path):
    """`LinearRegression`, alone or behind steps that ignore y, along any parameter of those steps.

    Every fit is linear in y, so closed forms apply to all of them. One QR decomposition serves nested
    columns: `PolynomialFeatures` along `degree`, `LeadingColumns` along `n_columns`, `PCA` along `n_components`,
    also with scalers after them. Other parameters, such as the `n_knots` of splines, take one decomposition per
    model.

    Left-out predictions exist for steps that learn nothing from the rows (polynomials, leading columns).
    Columns so ill-conditioned that scikit-learn's own solver drops directions are fitted on the same
    directions; where its cutoff falls within a few digits of a singular value, the last digits differ.
    Computed in double precision. Refitted instead: sparse columns, and steps such as sampled components that
    transform the rows they were fitted to into something else than what they gave the regression.
    """

    @classmethod
    def recognise(cls, estimator: BaseEstimator, parameter: str | None) -> str | None:
        if type(estimator) is LinearRegression:
            return "fit_intercept" if parameter is None and not estimator.positive else None
        if type(estimator) is not Pipeline or len(estimator.steps) < 2:
            return None
        name, last = estimator.steps[-1]
        if type(last) is not LinearRegression or last.positive or estimator.memory is not None:
            return None
        if not all(type(step) is LeadingColumns or ignores_y(step) for _, step in estimator.steps[:-1]):
            return None
        if parameter is None:
            return f"{name}__fit_intercept"
        step, _, inner = parameter.partition("__")
        return parameter if inner and step in dict(estimator.steps[:-1]) else None

    def __init__(self, estimator: BaseEstimator, parameter: str, values: Sequence[Any]) -> None:
        complexity, self.ordered = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.estimator, self.parameter = estimator, parameter
        self.params = tuple({parameter: values[i]} for i in order)
        self.complexity = complexity[order]

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        alone = type(self.estimator) is LinearRegression
        steps = [] if alone else self.estimator.steps[:-1]
        regression = self.estimator if alone else self.estimator.steps[-1][1]
        values = [params[self.parameter] for params in self.params]
        bases = [] if sparse.issparse(X) else fitted_bases(steps, self.parameter, values, X)
        if not bases or not all(basis.is_dense and basis.reproduces(X) for basis in bases):
            return RefitPath.over(self.estimator, self.params).bind(X, classes, weight)
        parts = [part for basis in bases for part in _parts(basis, regression, weight)]
        places = {m: (basis.table, count) for basis in bases for m, count in basis.counts.items()}

        def refitted(model: int) -> tuple[Any, Any]:
            table, count = places[model]
            return regression, np.asarray(table)[:, :count]

        stateless = all(type(step) in _STATELESS or step in (None, "passthrough") for _, step in steps)
        return LinearDesign(parts, refitted if stateless else None, classes, weight)


def _parts(basis: Basis, regression: Any, weight: Floats | None) -> list[Part]:
    """The fits on one basis, evaluated at new X through its own steps."""
    table = check_array(basis.table, dtype=np.float64)
    models = np.array(list(basis.counts), dtype=np.intp)
    parts = Columns(table, regression, weight).parts(list(basis.counts.values()), models)
    return [replace(part, evaluated=_through(basis, part.evaluated)) for part in parts]


def _through(basis: Basis, evaluated: Callable[[Any], Floats]) -> Callable[[Any], Floats]:
    return lambda X_new: evaluated(check_array(basis.at(X_new), dtype=np.float64))


# Smallest over largest singular value from which on no version of scikit-learn drops a direction, with room.
_WELL_CONDITIONED = 1e-5
# The share below which the version of scikit-learn with the widest cutoff drops directions.
_WIDEST_CUTOFF = 1e-6
# Singular values of directions dropped for certain: nothing but rounding.
_ROUNDING = 1e-12


class Columns:
    """A table whose leading columns are the models: centred, weighted, decomposed once.

    Parameters
    ----------
    table : (n, p), the columns of the largest model.
    estimator : the LinearRegression that fits each model.
    """

    def __init__(self, table: Floats, estimator: BaseEstimator, weight: Floats | None) -> None:
        self.table, self.estimator, self.weight = table, estimator, weight
        self.intercept = bool(estimator.fit_intercept)
        shifted, means = centred(table, weight, self.intercept)
        # A constant column beside an intercept, such as the bias of polynomials, adds nothing but rounding.
        spread = np.abs(shifted).max(axis=0)
        self._varying = np.flatnonzero(spread > _ROUNDING * np.abs(table).max(axis=0))
        self._centred, self._means = shifted[:, self._varying], means[self._varying]
        self._counted = len(table) if weight is None else int(np.count_nonzero(weight))

    def parts(self, counts: Sequence[int], models: NDArray[np.intp]) -> list[Part]:
        """The models with `counts` leading columns, at positions `models` of the path."""
        widths = np.searchsorted(self._varying, np.asarray(counts))
        most = min(int(widths.max()), self._counted - self.intercept)
        Q, R = np.linalg.qr(scaled_rows(self._centred[:, :most], self.weight))
        shared = widths <= _soundest_width(R)
        parts = [
            self._truncated(int(counts[i]), int(widths[i]), models[i : i + 1]) for i in np.flatnonzero(~shared).tolist()
        ]
        if shared.any():
            parts.append(self._nested(Q, R, widths[shared], models[shared]))
        return parts

    def _nested(self, Q: Floats, R: Floats, widths: NDArray[np.intp], models: NDArray[np.intp]) -> Part:
        """Models that share the QR decomposition: prefixes of its columns."""
        width = int(widths.max())
        Q, R = Q[:, :width], R[:width, :width]
        kept = (np.arange(width) < widths[:, None]).astype(np.float64)
        condition = np.array([_condition(R[:w, :w]) for w in widths])
        inverse = solve_triangular(R, np.eye(width))
        return self._part(Q, inverse, kept, models, (4.0 * _WIDEST_CUTOFF / condition) ** 2)

    def _truncated(self, count: int, width: int, models: NDArray[np.intp]) -> Part:
        """A model of its own, on the directions scikit-learn keeps."""
        Q, singular, axes = np.linalg.svd(scaled_rows(self._centred[:, :width], self.weight), full_matrices=False)
        labels = np.zeros(len(self.table))
        rank = int(fit(clone(self.estimator), self.table[:, :count], labels, self.weight).rank_)
        # Centred rows have a direction less than there are rows, whatever rounding makes of it.
        rank = min(rank, self._counted - self.intercept)
        ratios = singular / singular[0]
        clear = bool((ratios[rank:] < _ROUNDING).all()) and rank > 0
        least = (4.0 * _WIDEST_CUTOFF / ratios[rank - 1]) ** 2 if clear else np.inf
        inverse = axes[:rank].T / singular[:rank]
        return self._part(Q[:, :rank], inverse, np.ones((1, rank)), models, np.array([least]))

    def _part(self, Q: Floats, inverse: Floats, kept: Floats, models: NDArray[np.intp], least_slack: Floats) -> Part:
        """`inverse` (columns, r) takes centred columns to the basis."""
        varying = self._varying[: len(inverse)]
        basis = Q
        if self._counted < len(Q):
            basis = self._centred[:, : len(inverse)] @ inverse
        elif self.weight is not None:
            basis = Q / np.sqrt(self.weight)[:, None]
        n, weight, means, intercept = len(Q), self.weight, self._means[: len(inverse)], self.intercept
        if intercept:
            basis = with_constant(basis, weight, n)
            kept = np.column_stack([np.ones(len(kept)), kept])

        def evaluated(table: Floats) -> Floats:
            new = (table[:, varying] - means) @ inverse
            return with_constant(new, weight, n) if intercept else new

        def limit() -> Floats:
            scaled = inverse / np.abs(inverse).max(initial=0.0)
            return limit_of(scaled.T @ scaled, intercept)

        fits = LinearFits(basis, kept, 1.0 - kept, weight, intercept, limit)
        return Part(models, fits, evaluated, kept, least_slack)


def _condition(triangle: Floats) -> float:
    """Smallest over largest singular value; 1 when there are no columns."""
    if not len(triangle):
        return 1.0
    singular = np.linalg.svd(triangle, compute_uv=False)
    return float(singular[-1] / singular[0]) if singular[0] > 0 else 0.0


def _soundest_width(R: Floats) -> int:
    """The largest number of leading columns that are well conditioned.

    By interlacing, more columns are never better conditioned, so bisection finds it.
    """
    low, high = 0, R.shape[1]
    while low < high:
        middle = (low + high + 1) // 2
        if _condition(R[:middle, :middle]) >= _WELL_CONDITIONED:
            low = middle
        else:
            high = middle - 1
    return low
