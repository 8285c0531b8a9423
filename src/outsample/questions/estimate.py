"""How good will this model be on new data?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.criteria.base import CriterionLike, as_criterion
from outsample.curve.error_estimate import ErrorEstimate
from outsample.data.learners import encode, respond
from outsample.data.tables import Table
from outsample.losses.base import Loss
from outsample.losses.choice import LossLike
from outsample.problem import pose
from outsample.running.progress import Progress, TerminalProgress
from outsample.running.run import RandomState


def estimate(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    criterion: CriterionLike = "permutation",
    loss: LossLike = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    progress: Progress | None = None,
    fast: bool = True,
) -> ErrorEstimate:
    """Estimate the error of a model on new data.

    Parameters
    ----------
    estimator : any scikit-learn compatible classifier, regressor or pipeline; it is cloned, never changed.
    X, y : the data; numpy, pandas, polars or sparse.
    criterion : a criterion or its name, see `outsample.criteria`.
    loss : "zero-one", "squared", "absolute", "log", a loss matrix, a function of (y, prediction), or any
        scikit-learn scorer; by default zero-one for classifiers and squared for regressors.
    sample_weight : one weight per row, used in the fit and in the loss.
    groups : rows that belong together.
    n_jobs : joblib workers; the answer does not depend on it.
    random_state : seed of all draws, and of learners whose own random state is not set.
    progress : called with (fits done, fits planned); by default a bar on long runs in a terminal.
    fast : whether paths that know the estimator may serve; False refits everything.

    Returns
    -------
    ErrorEstimate
        In the scale of the loss (a scorer's own scale, if loss is a scorer).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> result = estimate(tree, X, y, random_state=0)
    >>> 0 < result.in_sample < result.out_sample < 0.2
    True
    >>> result.n_fits
    11
    """
    chosen = as_criterion(criterion)
    with TerminalProgress(chosen.name) as bar:
        problem = pose(
            estimator,
            X,
            y,
            loss=loss,
            sample_weight=sample_weight,
            groups=groups,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress or bar,
            fast=fast,
        )
        return chosen.curve(problem).estimate(0)


def risk_on(model: BaseEstimator, X: Table, y: ArrayLike, loss: Loss) -> float:
    """Risk of a fitted scikit-learn model on X, y."""
    classes = getattr(model, "classes_", None)
    labels = np.asarray(y)
    codes = labels if classes is None else encode(labels, np.asarray(classes))
    response = next(r for r in loss.responses if hasattr(model, r))
    return float(loss.risk(codes, respond(model, X, response, classes)))
