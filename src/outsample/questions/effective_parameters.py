"""How many parameters is a linear fit worth?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.data.tables import Table
from outsample.problem import pose
from outsample.running.arrays import Floats


def effective_parameters(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    param: str | None = None,
    values: Sequence[Any] | None = None,
) -> Floats:
    """tr S + 1 − 1ᵀS1/n of a linear smoother ŷ = S y, for each model of a path (Magdon-Ismail & Mertsalov, §2.2.1).

    The constant counts as one parameter however much a penalty shrinks it: the permutation estimate adds
    (2σ̂²_y/n)(this − 1). For least squares with an intercept it is the number of columns plus one; for smoothers that
    reproduce constants, S1 = 1, it is tr S. `generalized_degrees_of_freedom` serves learners that are not linear in y.

    Parameters
    ----------
    estimator : least squares, ridge, kernel ridge, splines, nearest neighbours, … for regression.
    X, y : the data; y only says how many outputs there are.
    param, values : a parameter of the estimator and its values, simplest first in the result.

    Returns
    -------
    (models,)
        One number per model, simplest first.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> import numpy as np
    >>> X = np.eye(6)[:, :2]
    >>> effective_parameters(Ridge(), X, np.arange(6.0), param="alpha", values=[1e9, 1e-9]).round(3)
    array([1., 3.])
    """
    problem = pose(estimator, X, y, parameter=param, values=values, loss="squared", random_state=0)
    smoother = problem.design.smoother if problem.design.abilities.smoother else None
    if smoother is None:
        raise ValueError(
            f"estimator: {type(estimator).__name__} is not known to be linear in y; use generalized_degrees_of_freedom"
        )
    return np.asarray(smoother.trace + 1 - smoother.total / problem.n_samples)
