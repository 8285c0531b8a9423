"""The whole path fitted to some rows and asked about others: the unit of work of criteria that resample rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from outsample.learners import FitError
from outsample.problem import ROW_SPLITS, Problem
from outsample.running import child_integer
from outsample.tables import split_rows

Array = NDArray[Any]
Rows = NDArray[np.intp]
Floats = NDArray[np.float64]

# Addresses below ROW_SPLITS; 0 and 1 are those of folds and hold-outs.
BAGS, BAG_LEARNERS, NESTED_FOLDS, NESTED_LEARNERS = range(2, 6)


class FitsOnRows:
    """Fits every model of a problem's path to some rows; picklable, with no more than workers need."""

    def __init__(self, problem: Problem, address: int, unit: str, planned: int) -> None:
        self.path, self.X, self.y = problem.path, problem.X, problem.y
        self.classes, self.response, self.pairwise = problem.target.classes, problem.response, problem.path.pairwise
        self.seed, self.address, self.unit, self.planned = problem.seed, address, unit, planned

    def predictions(self, number: int, train: Rows, weight: Floats | None, test: Rows) -> Array:
        """Answers (models, test rows[, classes or outputs]) after unit `number` of the work was fitted to `train`."""
        seed = child_integer(self.seed, ROW_SPLITS, self.address, number)
        try:
            X_train, X_test = split_rows(self.X, train, test, pairwise=self.pairwise)
            design = self.path.bind(X_train, self.classes, weight)
            return design.predict(self.y[train], X_test, self.response, seed)
        except Exception as error:
            raise FitError(f"{self.unit} {number + 1} of {self.planned}: {error}") from error
