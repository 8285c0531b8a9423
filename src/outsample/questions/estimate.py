"""How good will this model be on new data?"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.criteria.base import Criterion, CriterionLike, as_criterion
from outsample.curve.error_estimate import ErrorEstimate
from outsample.data.lazy import as_lazy, in_memory_only, is_lazy
from outsample.data.tables import Table
from outsample.losses.choice import LossLike
from outsample.problem import pose
from outsample.rules import minimum
from outsample.running.progress import Progress, TerminalProgress
from outsample.running.run import RandomState


def estimate(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    *,
    criterion: CriterionLike = "auto",
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
    X, y : the data; numpy, pandas, polars or sparse. Dask arrays and data frames, and Parquet data sets or their paths,
        are read a block of rows at a time for linear regression, ridge, naive Bayes and linear discriminant analysis; y
        may then name a column.
    criterion : a criterion or its name; "auto", see `Auto`, takes the one that fits the learner.
    loss : "zero-one", "squared", "absolute", "log", a loss matrix, a function of (y, prediction), or any
        scikit-learn scorer; by default zero-one for classifiers and squared for regressors.
    sample_weight : one weight per row, used in the fit and in the loss.
    groups : rows that belong together.
    n_jobs : joblib workers; the answer does not depend on it.
    random_state : seed of all draws, and of learners whose own random state is not set. None: rows and labels are drawn
        as by 0, and these learners stay random, as in scikit-learn.
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
    >>> low, high = result.interval(0.95)
    >>> low < result.out_sample < high
    True
    >>> result.criterion, result.n_fits
    ('kfold', 6)
    """
    chosen = as_criterion(criterion)
    if is_lazy(X):
        return _beyond_memory(estimator, X, y, chosen, loss, {"sample_weight": sample_weight, "groups": groups})
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


def _beyond_memory(
    estimator: BaseEstimator, X: Any, y: Any, criterion: Criterion, loss: LossLike, others: dict[str, Any]
) -> ErrorEstimate:
    """The estimate where X is read a block of rows at a time."""
    from outsample.questions.beyond_memory import lazy_search

    for name, value in others.items():
        if value is not None:
            raise ValueError(in_memory_only(name))
    judged = lazy_search(estimator, [{}], as_lazy(X, y), criterion.for_learner(estimator), loss)
    return judged.outcome(minimum).curve.estimate(0)
