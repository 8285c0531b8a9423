"""The tables that a regression is fitted to behind the steps of a pipeline, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

from outsample.checks import is_integer
from outsample.data.learners import with_params
from outsample.data.steps import transformed
from outsample.data.tables import Table, n_columns, n_rows
from outsample.estimators import LeadingColumns

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
