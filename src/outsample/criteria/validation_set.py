"""Models fitted to the data and judged on a validation set of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from outsample.criteria.base import Criterion, held_out_certificates
from outsample.curve.intervals import effective_number, error_of_mean
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import encode
from outsample.data.samples import as_weight
from outsample.data.tables import Table, as_table, n_columns, n_rows
from outsample.problem import Problem
from outsample.running.arrays import Array, Floats


@dataclass(frozen=True, eq=False)
class ValidationSet(Criterion):
    """The risk on a given validation set of the models fitted to all of the data.

    A search with it is the validation procedure of textbooks: every candidate is fitted to the training set T and
    judged on V, and the chosen one, fitted to T alone, is the search's `best_estimator_`. `validate` also gives the fit
    to T and V together. For a validation set within the data, `CrossValidation(PredefinedSplit(…))`.

    Estimates the error of these very models; `in_sample` is their risk on T. `standard_error` is the standard deviation
    of the losses on V over the square root of their number. For losses in [0, 1] `interval(level, method="hoeffding")`
    covers the error of a model that was not chosen on V with probability at least `level` at any sample size.

    Parameters
    ----------
    X, y : the validation set, with the columns and the kind of labels of the data.
    sample_weight : one weight per row of it.

    Examples
    --------
    >>> import outsample
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> judged = outsample.ValidationSet(X[400:], y[400:])
    >>> round(outsample.estimate(tree, X[:400], y[:400], criterion=judged).out_sample, 3)
    0.112
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    sample_weight: Any = field(default=None, repr=False)
    name: ClassVar[str] = "validation"

    def check(self, problem: Problem) -> None:
        self._labels(problem)
        self._weight()
        if problem.path.pairwise:
            raise ValueError("ValidationSet: X of pairs of rows has no column for the rows of a validation set")
        self._check_columns(problem.X)

    def _check_columns(self, X: Table) -> None:
        """Not every path asks: one that multiplies by coefficients would take a single column for all of them."""
        given, fitted = n_columns(as_table(self.X)), n_columns(X)
        if given != fitted:
            raise ValueError(f"ValidationSet: X has {given} columns, the data have {fitted}")
        names, fitted_names = (list(getattr(table, "columns", ())) for table in (self.X, X))
        if names and fitted_names and names != fitted_names:
            raise ValueError(
                f"ValidationSet: X has columns {names[:9]}, the data have {fitted_names[:9]}, in this order"
            )

    def _labels(self, problem: Problem) -> Array:
        labels, n = np.asarray(self.y), n_rows(as_table(self.X))
        if len(labels) != n or n == 0:
            raise ValueError(f"ValidationSet: X has {n} rows and y has {len(labels)} labels; they must be equally many")
        classes = problem.target.classes
        try:
            return labels.astype(np.float64) if classes is None else encode(labels, classes)
        except (TypeError, ValueError) as error:
            raise ValueError(f"ValidationSet: y is not of the kind of the labels of the data: {error}") from error

    def _weight(self) -> Floats | None:
        return as_weight(self.sample_weight, n_rows(as_table(self.X)))

    def _curve(self, problem: Problem) -> RiskCurve:
        y, weight, loss = self._labels(problem), self._weight(), problem.loss
        predicted = problem.design.predict(problem.y, as_table(self.X), problem.response, problem.real_seed)
        m, cost = effective_number(len(y), weight), 2 * problem.design.fits_per_draw
        problem.progress(cost, cost)
        risk = np.asarray(loss.risk(y, predicted, weight), dtype=np.float64)
        fit = f"the model fitted to the {problem.n_samples} rows"
        return problem.curve(
            out_sample=risk,
            criterion=self.name,
            estimand=f"{loss.on_new_data}, of {fit}",
            standard_error=error_of_mean(loss.pointwise(y, predicted), weight) if loss.per_row else None,
            freedom=max(1, round(m) - 1),
            held_out=m if loss.unit_interval else None,
            variance_factor=None,
            certificates=held_out_certificates(problem, risk, m, fit, of_all_rows=True) if loss.unit_interval else (),
            n_groups=None,
        )
