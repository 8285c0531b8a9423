"""Linear regression on a basis that does not look at y: polynomials, splines, components, leading columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.utils import check_array

from outsample.checks import is_integer
from outsample.data.learners import fit, last_step, with_params
from outsample.data.steps import ignores_y, transformed
from outsample.data.tables import Table, n_columns, n_rows
from outsample.estimators import LeadingColumns
from outsample.paths.base import Design, GridPath
from outsample.paths.linear.design import LinearDesign, ModelBlock
from outsample.paths.linear.fits import LinearFits, centred, limit_of, scaled_rows, with_constant
from outsample.paths.refit import RefitPath
from outsample.running.arrays import Array, Floats
from outsample.running.fits import uncounted_fits

# Steps that learn nothing from the rows.
_STATELESS = (PolynomialFeatures, LeadingColumns)


class LeastSquaresPath(GridPath):
    """`LinearRegression`, alone or behind steps that ignore y, along any parameter of those steps.

    Every fit is linear in y, so closed forms apply to all of them. One QR decomposition serves nested
    columns: `PolynomialFeatures` along `degree`, `LeadingColumns` along `n_columns`, `PCA` along `n_components`,
    also with scalers after them. Other parameters, such as the `n_knots` of splines, take one decomposition per
    model.

    Left-out predictions exist for steps that learn nothing from the rows (polynomials, leading columns), also with
    scalers after them where an intercept is fitted: least squares does not change with the units of its columns.
    On ill-conditioned columns scikit-learn's solver drops directions of small singular values, and the same ones are
    dropped here; where its cutoff is close to a singular value, the last digits differ. Computed in double precision.
    Refitted instead: sparse columns, and steps such as a randomised PCA, whose `transform` of the rows it was fitted
    to differs from what its `fit_transform` gave the regression.
    """

    @classmethod
    def serves(cls, estimator: BaseEstimator, alone: bool) -> bool:
        if type(estimator) is LinearRegression:
            return alone and not estimator.positive
        if estimator.steps[-1][1].positive or estimator.memory is not None:
            return False
        return all(type(step) is LeadingColumns or ignores_y(step) for _, step in estimator.steps[:-1])

    def bind(self, X: Table, classes: Array | None = None, weight: Floats | None = None) -> Design:
        piped = type(self.estimator) is Pipeline
        steps = self.estimator.steps[:-1] if piped else []
        regression = last_step(self.estimator)
        bases = [] if sparse.issparse(X) else fitted_bases(steps, self.parameter, self.values, X)
        if not bases or not all(basis.is_dense and basis.reproduces(X) for basis in bases):
            return RefitPath.of(self).bind(X, classes, weight)
        blocks = [block for basis in bases for block in _blocks(basis, regression, weight)]
        places = {m: (basis.table, count) for basis in bases for m, count in basis.counts.items()}

        def refitted(model: int) -> tuple[Any, Any]:
            table, count = places[model]
            return regression, np.asarray(table)[:, :count]

        known = [step for _, step in steps if step not in (None, "passthrough")]
        if all(type(step) in _STATELESS for step in known):
            return LinearDesign(blocks, refitted, classes, weight)
        if not regression.fit_intercept or not self._changes_units_only(known, blocks):
            return LinearDesign(blocks, None, classes, weight)
        # A fold without which the columns are linearly dependent is refitted with the scalers, because then the fit of
        # minimum norm is taken, and norms have units.
        return LinearDesign(blocks, lambda m: (with_params(self.estimator, self.params[m]), X), classes, weight)

    def _changes_units_only(self, steps: Sequence[Any], blocks: Sequence[ModelBlock]) -> bool:
        """Whether all that the steps learn from the rows is a unit and an origin for each column.

        Fits that reproduce every label are none of these: without any row they are of minimum norm.
        """
        while steps and type(steps[-1]) in _COLUMN_BY_COLUMN and not getattr(steps[-1], "clip", False):
            steps = steps[:-1]
        fixed = all(type(step) in _STATELESS for step in steps) and not self.parameter.endswith("__clip")
        return fixed and not any(block.fits.reproduced.any() for block in blocks)


def _blocks(basis: Basis, regression: Any, weight: Floats | None) -> list[ModelBlock]:
    """The models on one table, evaluated at new X through the steps that make the table."""
    table = check_array(basis.table, dtype=np.float64)
    models = np.array(list(basis.counts), dtype=np.intp)
    blocks = NestedColumns(table, regression, weight).blocks(list(basis.counts.values()), models)
    return [replace(block, evaluated=_through(basis, block.evaluated)) for block in blocks]


def _through(basis: Basis, evaluated: Callable[[Any], Floats]) -> Callable[[Any], Floats]:
    """`evaluated` of a table made of new X by the steps of the basis."""
    return lambda X_new: evaluated(check_array(basis.at(X_new), dtype=np.float64))


# Ratio of the smallest to the largest singular value above which no version of scikit-learn drops a direction; ten
# times the largest cutoff of any version, to be safe.
_WELL_CONDITIONED = 1e-5
# The largest cutoff of any version of scikit-learn: directions with a smaller ratio are dropped.
_WIDEST_CUTOFF = 1e-6
# Below this ratio a singular value is nothing but rounding, and every version drops its direction.
_ROUNDING = 1e-12


class NestedColumns:
    """A table whose leading columns are the columns of the models: centred, weighted, decomposed once.

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
        deviation = np.abs(shifted).max(axis=0)
        self._varying = np.flatnonzero(deviation > _ROUNDING * np.abs(table).max(axis=0))
        self._centred, self._means = shifted[:, self._varying], means[self._varying]
        self._counted = len(table) if weight is None else int(np.count_nonzero(weight))

    def blocks(self, counts: Sequence[int], models: NDArray[np.intp]) -> list[ModelBlock]:
        """The models with `counts` leading columns, at positions `models` of the path."""
        widths = np.searchsorted(self._varying, np.asarray(counts))
        most = min(int(widths.max()), self._counted - self.intercept)
        Q, R = np.linalg.qr(scaled_rows(self._centred[:, :most], self.weight))
        shared = widths <= _soundest_width(R)
        blocks = [
            self._truncated(int(counts[i]), int(widths[i]), models[i : i + 1]) for i in np.flatnonzero(~shared).tolist()
        ]
        if shared.any():
            blocks.append(self._nested(Q, R, widths[shared], models[shared]))
        return blocks

    def _nested(self, Q: Floats, R: Floats, widths: NDArray[np.intp], models: NDArray[np.intp]) -> ModelBlock:
        """Models that share the QR decomposition, each on its first columns."""
        width = int(widths.max())
        Q, R = Q[:, :width], R[:width, :width]
        kept = (np.arange(width) < widths[:, None]).astype(np.float64)
        condition = np.array([_condition(R[:w, :w]) for w in widths])
        inverse = solve_triangular(R, np.eye(width))
        return self._block(Q, inverse, kept, models, (4.0 * _WIDEST_CUTOFF / condition) ** 2)

    def _truncated(self, count: int, width: int, models: NDArray[np.intp]) -> ModelBlock:
        """One model with a decomposition of its own, on the directions that scikit-learn keeps."""
        Q, singular, axes = np.linalg.svd(scaled_rows(self._centred[:, :width], self.weight), full_matrices=False)
        labels = np.zeros(len(self.table))
        with uncounted_fits():
            rank = int(fit(clone(self.estimator), self.table[:, :count], labels, self.weight).rank_)
        # Centring takes one direction away; what is left of it is rounding.
        rank = min(rank, self._counted - self.intercept)
        ratios = singular / singular[0]
        clear = bool((ratios[rank:] < _ROUNDING).all()) and rank > 0
        least = (4.0 * _WIDEST_CUTOFF / ratios[rank - 1]) ** 2 if clear else np.inf
        inverse = axes[:rank].T / singular[:rank]
        return self._block(Q[:, :rank], inverse, np.ones((1, rank)), models, np.array([least]))

    def _block(
        self, Q: Floats, inverse: Floats, kept: Floats, models: NDArray[np.intp], least_slack: Floats
    ) -> ModelBlock:
        """The models that keep the shares `kept` (models, r) of the directions Q (n, r).

        Centred columns times `inverse` (columns, r) give Q, at new rows too.
        """
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
        return ModelBlock(models, fits, evaluated, kept, least_slack)


def _condition(triangle: Floats) -> float:
    """Ratio of the smallest to the largest singular value; 1 when there are no columns."""
    if not len(triangle):
        return 1.0
    singular = np.linalg.svd(triangle, compute_uv=False)
    return float(singular[-1] / singular[0]) if singular[0] > 0 else 0.0


def _soundest_width(R: Floats) -> int:
    """The largest number of leading columns that are well conditioned, from the triangle of their QR decomposition.

    Singular values interlace, so more columns are never better conditioned, and bisection finds it.
    """
    low, high = 0, R.shape[1]
    while low < high:
        middle = (low + high + 1) // 2
        if _condition(R[:middle, :middle]) >= _WELL_CONDITIONED:
            low = middle
        else:
            high = middle - 1
    return low


# Transformers whose columns for a smaller value are the first columns for a larger one.
_NESTED = frozenset({(PolynomialFeatures, "degree"), (LeadingColumns, "n_columns"), (PCA, "n_components")})
_COLUMN_BY_COLUMN = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


@dataclass(frozen=True)
class Basis:
    """One table and the models that use its leading columns.

    Attributes
    ----------
    steps : the fitted steps that make the table from X, one after the other.
    table : (n, p)
    counts : position of each model in the path → number of its columns.
    """

    steps: tuple[Any, ...]
    table: Any
    counts: dict[int, int]

    @property
    def is_dense(self) -> bool:
        """Whether the table is not sparse."""
        return not sparse.issparse(self.table)

    def reproduces(self, X: Table) -> bool:
        """Whether transforming the fitted rows again gives the table the regression was fitted to."""
        table = np.asarray(self.table, dtype=np.float64)
        again = table if not self.steps else np.asarray(self.at(X), dtype=np.float64)
        return bool(np.abs(again - table).max(initial=0.0) <= 1e-9 * np.abs(table).max(initial=0.0))

    def at(self, X_new: Table) -> Any:
        """The table at new rows."""
        for step in self.steps:
            X_new = transformed(step, X_new)
        return X_new


def fitted_bases(steps: Sequence[tuple[str, Any]], parameter: str, values: Sequence[Any], X: Table) -> list[Basis]:
    """The tables of the models with these `values` of `parameter`: a single one when their columns are nested.

    Steps before the one that has the parameter are fitted once.
    """
    name, _, inner = parameter.partition("__")
    cut = next((i for i, step in enumerate(steps) if step[0] == name), len(steps))
    before, table = _fitted(steps[:cut], {}, X)
    if cut == len(steps):
        return [Basis(before, table, dict.fromkeys(range(len(values)), _width(table)))]
    if _is_nested(steps[cut:], inner, values, table):
        others, largest = _fitted(steps[cut:], {parameter: max(values)}, table)
        counts = {m: _column_count(steps[cut][1], inner, value, table) for m, value in enumerate(values)}
        return [Basis(before + others, largest, counts)]
    bases = []
    for m, value in enumerate(values):
        others, columns = _fitted(steps[cut:], {parameter: value}, table)
        bases.append(Basis(before + others, columns, {m: _width(columns)}))
    return bases


def _fitted(steps: Sequence[tuple[str, Any]], params: dict[str, Any], X: Table) -> tuple[tuple[Any, ...], Any]:
    """(fitted steps, transformed X)."""
    if not steps:
        return (), X
    pipeline = with_params(Pipeline(list(steps)), params)
    return (pipeline,), transformed(pipeline, X, "fit_transform")


def _is_nested(steps: Sequence[tuple[str, Any]], inner: str, values: Sequence[Any], X: Table) -> bool:
    """Whether the columns of a smaller value are the first columns of a larger one, also after all later steps."""
    varying = steps[0][1]
    if (type(varying), inner) not in _NESTED:
        return False
    if not all(is_integer(v, 0 if type(varying) is PolynomialFeatures else 1) for v in values):
        return False
    if not all(type(s) in _COLUMN_BY_COLUMN or s in (None, "passthrough") for _, s in steps[1:]):
        return False
    return type(varying) is not PCA or _is_deterministic(varying, values, X)


def _is_deterministic(pca: PCA, values: Sequence[int], X: Table) -> bool:
    """Whether PCA computes the same components for all these numbers of them; "auto" may choose a randomised solver.

    The conditions are those by which scikit-learn chooses the solver.
    """
    if pca.svd_solver != "auto":
        return pca.svd_solver in ("full", "covariance_eigh")
    n, p = n_rows(X), n_columns(X)
    tall = p <= 1000 and n >= 10 * p
    return bool(tall or max(n, p) <= 500 or min(values) >= 0.8 * min(n, p))


def _column_count(varying: Any, inner: str, value: int, X: Any) -> int:
    """Number of columns with `inner` = value."""
    if type(varying) is PCA:
        return int(value)
    if type(varying) is LeadingColumns:
        return min(int(value), _width(X))
    first_row = np.asarray(X[:1]) if not hasattr(X, "iloc") else X.iloc[:1]
    return int(with_params(varying, {inner: value}).fit(first_row).n_output_features_)


def _width(table: Any) -> int:
    return int(np.shape(table)[1])
