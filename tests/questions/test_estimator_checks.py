"""scikit-learn's own estimator checks: no more failures than GridSearchCV over the same estimator."""

from __future__ import annotations

import warnings

import pytest
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from outsample import GridSearch

NEWTON = LogisticRegression(solver="newton-cholesky", max_iter=20)

CASES = [
    (NEWTON, {"C": [0.1, 1.0]}),
    (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 4]}),
    (KNeighborsClassifier(), {"n_neighbors": [1, 2]}),
    (GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}),
    (BernoulliNB(), {"alpha": [0.1, 1.0]}),
    (SVC(), {"C": [0.1, 1.0]}),
    (make_pipeline(StandardScaler(), NEWTON), {"logisticregression__C": [0.1, 1.0]}),
    (Ridge(), {"alpha": [0.1, 1.0]}),
    (LinearRegression(), {"fit_intercept": [True, False]}),
    (Lasso(), {"alpha": [0.1, 1.0]}),
    (KNeighborsRegressor(), {"n_neighbors": [1, 2]}),
    (DecisionTreeRegressor(random_state=0), {"max_leaf_nodes": [2, 4]}),
    (SVR(), {"C": [0.1, 1.0]}),
    (KernelDensity(), {"bandwidth": [0.5, 1.0]}),
]

# Trees take missing values, so a search over them cannot refuse NaN in X; GridSearchCV fails here as well.
EXPECTED = {DecisionTreeClassifier: {"check_estimators_nan_inf"}, DecisionTreeRegressor: {"check_estimators_nan_inf"}}


def failures(search):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(search, on_fail=None, on_skip=None)
    return {result["check_name"] for result in results if result["status"] == "failed"}


@pytest.mark.parametrize(("estimator", "grid"), CASES, ids=lambda value: type(value).__name__)
def test_no_more_failures_than_grid_search_cv(estimator, grid):
    by_default = failures(GridSearch(estimator, grid, random_state=0))
    theirs = failures(GridSearchCV(estimator, grid, cv=2))
    assert by_default == EXPECTED.get(type(estimator), set())
    assert by_default <= theirs
    assert failures(GridSearch(estimator, grid, cv=2)) <= theirs
