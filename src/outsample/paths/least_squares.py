"""Linear regression on a basis that does not look at y: polynomials, splines, components, leading columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_array

from outsample.columns import LeadingColumns

from .base import Array, Design, Floats, Path
from .bases import Basis, fitted_bases
from .heads import ignores_y
from .linear_design import LinearDesign, Part
from .order import complexity_of, simplest_first
from .projections import Columns
from .refit import RefitPath

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
    def recognise(cls, estimator: Any, parameter: str | None) -> str | None:
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

    def __init__(self, estimator: Any, parameter: str, values: Sequence[Any]) -> None:
        complexity, self.ordered = complexity_of(parameter, values)
        order = simplest_first(complexity)
        self.estimator, self.parameter = estimator, parameter
        self.params = tuple({parameter: values[i]} for i in order)
        self.complexity = complexity[order]

    def bind(self, X: Any, classes: Array | None = None, weight: Floats | None = None) -> Design:
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
