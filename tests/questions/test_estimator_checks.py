"""scikit-learn's own estimator checks: no more failures than GridSearchCV over the same estimator."""

from __future__ import annotations

import warnings

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from outsample import GridSearch

EXPECTED = {
    "DecisionTreeClassifier": {
        # Trees take missing values, so a search over them cannot refuse NaN in X; GridSearchCV fails here as well.
        "check_estimators_nan_inf",
    },
}

CASES = [
    (LogisticRegression(), {"C": [0.1, 1.0]}),
    (DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}),
    (Ridge(), {"alpha": [0.1, 1.0]}),
    (KNeighborsRegressor(), {"n_neighbors": [1, 2]}),
]


def failures(search):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(search, on_fail=None, on_skip=None)
    return {result["check_name"] for result in results if result["status"] == "failed"}


@pytest.mark.parametrize(("estimator", "grid"), CASES, ids=lambda value: type(value).__name__)
def test_no_more_failures_than_grid_search_cv(estimator, grid):
    ours = failures(GridSearch(estimator, grid, random_state=0))
    assert ours == EXPECTED.get(type(estimator).__name__, set())
    assert ours <= failures(GridSearchCV(estimator, grid, cv=2))
