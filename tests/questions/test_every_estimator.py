"""Every classifier and regressor of scikit-learn: our search with `cv=` against GridSearchCV."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import all_estimators
from threadpoolctl import threadpool_limits

from outsample import GridSearch

TINY = {
    "n_neighbors": [1, 3],
    "n_estimators": [2, 4],
    "max_leaf_nodes": [2, 5],
    "C": [0.1, 1.0],
    "alpha": [0.1, 1.0],
    "max_iter": [2, 4],
    "n_components": [1, 2],
    "var_smoothing": [1e-9, 1e-2],
    "reg_param": [0.0, 0.5],
    "shrinkage": [0.1, 0.5],
    "quantile": [0.4, 0.6],
    "nu": [0.3, 0.5],
    "eps": [0.01, 0.1],
    "shrink_threshold": [None, 0.1],
    "radius": [1.0, 2.0],
    "strategy": ["mean", "median"],
    "estimator__C": [0.1, 1.0],
    "estimator__alpha": [0.1, 1.0],
    "first__max_depth": [1, 2],
    "fit_intercept": [True, False],
}
"""The first of these parameters that an estimator has is searched."""


def inner(kind):
    return (
        (LogisticRegression(), DecisionTreeClassifier(random_state=0))
        if kind == "classifier"
        else (Ridge(), DecisionTreeRegressor(random_state=0))
    )


def built(Estimator, kind):
    """An instance, meta-estimators around small learners; random states and iterations set."""
    learner, tree = inner(kind)
    needed = {
        "estimator": learner,
        "base_estimator": learner,
        "estimators": [("first", tree), ("second", learner)],
        "param_grid": {"fit_intercept": [True, False]},
        "param_distributions": {"fit_intercept": [True, False]},
    }
    required = [
        name
        for name, parameter in inspect.signature(Estimator).parameters.items()
        if parameter.default is inspect.Parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    model = Estimator(**{name: needed[name] for name in required})
    known = model.get_params()
    if known.get("estimator", 0) is None and known.get("n_estimators") is None:
        model.set_params(estimator=learner)
    if "strategy" in known and kind == "classifier":
        model.set_params(strategy="stratified")
    small = {"random_state": 0, "n_estimators": 3, "max_iter": 4, "n_iter": 2, "cv": 2, "n_quantiles": 5}
    return model.set_params(**{name: value for name, value in small.items() if name in known})


def grid_of(model, kind):
    known = model.get_params()
    for name, values in TINY.items():
        if name in known and not (name == "strategy" and kind == "classifier"):
            return {name: values}
    return {}


SEVERAL_COLUMNS = ("Multi", "Chain", "CCA", "PLSCanonical")


def data_of(kind, name):
    rng = np.random.default_rng(3)
    X = np.abs(rng.normal(size=(48, 4))) + 0.1
    signal = X[:, 0] + 0.5 * X[:, 1]
    columns = 2 if any(word in name for word in SEVERAL_COLUMNS) and name != "MultinomialNB" else 1
    noise = rng.normal(size=(48, columns))
    if kind == "classifier":
        codes = (signal[:, None] + 0.3 * noise > np.median(signal)).astype(int)
        return X, codes if columns > 1 else np.array(["no", "yes"])[codes[:, 0]]
    y = signal[:, None] + 0.1 * np.abs(noise) + 0.1
    return X, y if columns > 1 else y[:, 0]


def found(Search, model, grid, X, y):
    """The fitted search, or the kind of error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Search(clone(model), grid, cv=3).fit(X, y)
        except Exception as error:
            return type(error)


CASES = [(kind, name, Estimator) for kind in ("classifier", "regressor") for name, Estimator in all_estimators(kind)]


@pytest.mark.parametrize(("kind", "name", "Estimator"), CASES, ids=[name for _, name, _ in CASES])
def test_scores_and_choice_against_scikit_learn(kind, name, Estimator):
    X, y = data_of(kind, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of classes that are to be removed
        model = built(Estimator, kind)
    grid = grid_of(model, kind)
    with threadpool_limits(1):
        ours, theirs = (found(Search, model, grid, X, y) for Search in (GridSearch, GridSearchCV))
    if isinstance(theirs, type):
        assert ours is theirs
        return
    for column in ("mean_test_score", "std_test_score", "split1_test_score"):
        np.testing.assert_allclose(ours.cv_results_[column], theirs.cv_results_[column], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert ours.best_params_ == theirs.best_params_
    assert type(ours.best_estimator_) is Estimator
