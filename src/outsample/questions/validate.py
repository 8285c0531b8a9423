"""Which model is best on a validation set? Training, validation and the two predictors that come of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from outsample.criteria.validation_set import ValidationSet
from outsample.curve.error_estimate import ErrorEstimate, numeral
from outsample.curve.risk_curve import RiskCurve
from outsample.data.learners import fit, seeded, with_params
from outsample.data.tables import Table, stacked
from outsample.losses.choice import LossLike
from outsample.questions.candidates import ParamGrid
from outsample.rules import RuleLike
from outsample.running.run import REAL_FIT, RandomState, child_integer, seed_sequence


def validate(
    estimator: BaseEstimator,
    param_grid: ParamGrid,
    X: Table,
    y: ArrayLike,
    X_validation: Table,
    y_validation: ArrayLike,
    *,
    loss: LossLike = None,
    rule: RuleLike = "minimum",
    refit: bool = True,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    fast: bool = True,
) -> Validation:
    """Fit every candidate to a training set, judge it on a validation set, and choose.

    Parameters
    ----------
    estimator, param_grid : as in `GridSearch`.
    X, y : the training set T.
    X_validation, y_validation : the validation set V.
    loss, rule, n_jobs, fast : as in `GridSearch`; the loss is zero-one for classifiers and squared for regressors.
    refit : whether to fit the chosen candidate to T and V together, too.
    random_state : seed of learners whose own random state is not set.

    Returns
    -------
    Validation
        The chosen parameters, their predictor fitted to T alone, its risk on V, and the predictor fitted to T and V.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from outsample import split
    >>> parts = split(*load_breast_cancer(return_X_y=True))
    >>> sets = parts.X_train, parts.y_train, parts.X_validation, parts.y_validation
    >>> found = validate(KNeighborsClassifier(), {"n_neighbors": range(1, 30, 2)}, *sets)
    >>> predicted = found.predictor.predict(parts.X_validation)
    >>> bool(found.risk == (predicted != parts.y_validation).mean())
    True
    """
    seed = seed_sequence(random_state)
    from outsample.questions.search import GridSearch

    search = GridSearch(
        estimator,
        param_grid,
        criterion=ValidationSet(X_validation, y_validation),
        rule=rule,
        loss=loss,
        n_jobs=n_jobs,
        random_state=seed,
        fast=fast,
    ).fit(X, y)
    refitted = None
    if refit:
        chosen = seeded(with_params(estimator, search.best_params_), child_integer(seed, REAL_FIT))
        refitted = fit(chosen, stacked(X, X_validation), stacked(y, y_validation))
    return Validation(search.best_params_, search.best_estimator_, refitted, search.estimate_, search.curve_)


@dataclass(frozen=True, eq=False)
class Validation:
    """What validation chose.

    Attributes
    ----------
    best_params : the chosen parameters.
    predictor : their model, fitted to the training set alone; `risk` is its risk on the validation set.
    refitted : their model, fitted to training and validation set together; None where it was not asked for.
    estimate : the risk on the validation set with its error bars. Having been chosen on it makes it optimistic.
    curve : risks of all candidates, simplest first: `in_sample` on the training set, `out_sample` on the other.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from outsample import split, validate
    >>> parts = split(*load_iris(return_X_y=True))
    >>> sets = parts.X_train, parts.y_train, parts.X_validation, parts.y_validation
    >>> found = validate(KNeighborsClassifier(), {"n_neighbors": [1, 5, 9]}, *sets)
    >>> found.predictor.n_samples_fit_, found.refitted.n_samples_fit_
    (90, 120)
    """

    best_params: dict[str, Any]
    predictor: Any
    refitted: Any
    estimate: ErrorEstimate
    curve: RiskCurve

    @property
    def risk(self) -> float:
        """Risk of `predictor` on the validation set."""
        return self.estimate.out_sample

    def plot(self, ax: Any = None) -> Any:
        """Training and validation risk of all candidates; returns the matplotlib Axes."""
        return self.curve.plot(ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """The numbers and words as plain Python values."""
        return {"best_params": self.best_params, "estimate": self.estimate.to_dict()}

    def __str__(self) -> str:
        chosen = ", ".join(f"{name}={value}" for name, value in self.best_params.items()) or "the estimator as it is"
        risk = f"{self.estimate.loss} {numeral(self.risk)} on the validation set"
        return f"{chosen}: {risk}, best of {len(self.curve)} candidates"
