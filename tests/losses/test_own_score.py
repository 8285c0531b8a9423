"""Without a loss, cross-validation in a search scores as GridSearchCV does: by the estimator's own `score`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import (
    GammaRegressor,
    PoissonRegressor,
    RANSACRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import CrossValidation, GridSearch, RandomizedSearch

X, y = (part[:120] for part in load_diabetes(return_X_y=True))
A, b = (part[::2] for part in load_iris(return_X_y=True))
FOLDS = KFold(4, shuffle=True, random_state=0)


class BalancedTree(DecisionTreeClassifier):
    """Scored by its worst class."""

    def score(self, X, y, sample_weight=None):
        return min(float(np.mean(self.predict(X)[y == c] == c)) for c in np.unique(y))


class DepthScored(DecisionTreeRegressor):
    """Scored by what no prediction tells."""

    def score(self, X, y):
        return -float(self.get_depth() + len(X))


class HalfPipeline(Pipeline):
    def score(self, X, y=None, sample_weight=None):
        return 0.5 * super().score(X, y)


CASES = {
    "gamma": (GammaRegressor(), {"alpha": [0.1, 1.0]}, X, y),
    "poisson": (PoissonRegressor(), {"alpha": [0.1, 1.0]}, X, y),
    "tweedie": (TweedieRegressor(), {"power": [0, 1.5, 2], "alpha": [0.1, 1.0]}, X, y),
    "behind a scaler": (
        make_pipeline(StandardScaler(), PoissonRegressor()),
        {"poissonregressor__alpha": [0.1, 1]},
        X,
        y,
    ),
    "subclass": (BalancedTree(random_state=0), {"max_leaf_nodes": [2, 3, 5]}, A, b),
    "model, not predictions": (DepthScored(random_state=0), {"max_leaf_nodes": [2, 3, 5]}, X, y),
    "pipeline of its own": (HalfPipeline([("s", StandardScaler()), ("r", Ridge())]), {"r__alpha": [0.1, 1.0]}, X, y),
    "a search": (GridSearchCV(SVC(), {"C": [1, 9]}, scoring="f1_macro", cv=2), {"estimator__gamma": [0.1, 1]}, A, b),
    "consensus": (RANSACRegressor(Ridge(), min_samples=20, random_state=0), {"max_trials": [5, 20]}, X, y),
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 5]}, A, b),
    "dummy": (DummyClassifier(random_state=0), {"strategy": ["stratified", "prior"]}, A, b),
    "learners with scores of their own": (
        Pipeline([("s", StandardScaler()), ("r", Ridge())]),
        {"r": [Ridge(), PoissonRegressor(), DecisionTreeRegressor(max_depth=2, random_state=0)]},
        X,
        y,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_estimators_own_score_is_that_of_grid_search_cv(case):
    estimator, grid, table, labels = CASES[case]
    ours = GridSearch(estimator, grid, criterion=CrossValidation(FOLDS)).fit(table, labels)
    theirs = GridSearchCV(estimator, grid, cv=FOLDS).fit(table, labels)
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-9, atol=1e-12)
    assert ours.best_index_ == theirs.best_index_
    assert ours.score(table, labels) == pytest.approx(theirs.score(table, labels))


def test_a_randomized_search_scores_so_too():
    settings = {"alpha": [0.1, 0.5, 1.0]}
    ours = RandomizedSearch(PoissonRegressor(), settings, n_iter=2, criterion=CrossValidation(FOLDS), random_state=0)
    theirs = RandomizedSearchCV(PoissonRegressor(), settings, n_iter=2, cv=FOLDS, random_state=0)
    assert ours.fit(X, y).best_score_ == pytest.approx(theirs.fit(X, y).best_score_)


@pytest.mark.parametrize(
    ("estimator", "grid", "table", "labels", "path", "loss"),
    [
        (DecisionTreeClassifier(), {"max_leaf_nodes": [2, 5]}, A, b, "TreePath", "zero-one"),
        (KNeighborsClassifier(), {"n_neighbors": [1, 5]}, X, y > 150, "NeighborsPath", "zero-one"),
        (make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}, X, y, "RidgePath", "r2"),
    ],
)
def test_plain_accuracy_and_r2_keep_the_fast_paths(estimator, grid, table, labels, path, loss):
    search = GridSearch(estimator, grid, criterion=CrossValidation(3)).fit(table, labels)
    assert (search.path_, search.loss_.name) == (path, loss)


def test_the_in_sample_score_is_the_models_own():
    search = GridSearch(PoissonRegressor(), {"alpha": [0.1, 1.0]}, criterion=CrossValidation(FOLDS)).fit(X, y)
    theirs = [PoissonRegressor(alpha=alpha).fit(X, y).score(X, y) for alpha in (1.0, 0.1)]
    np.testing.assert_allclose(search.loss_.reported(search.curve_.in_sample), theirs)


def test_weights_reach_the_score():
    weight = np.arange(1.0, 121)
    search = GridSearch(PoissonRegressor(), {"alpha": [0.5]}, criterion=CrossValidation(FOLDS))
    by_hand = []
    for train, test in FOLDS.split(X):
        model = PoissonRegressor(alpha=0.5).fit(X[train], y[train], sample_weight=weight[train])
        by_hand.append(model.score(X[test], y[test], sample_weight=weight[test]))
    assert search.fit(X, y, sample_weight=weight).best_score_ == pytest.approx(np.mean(by_hand))


def test_weights_for_a_score_without_are_refused():
    search = GridSearch(DepthScored(), {"max_depth": [2, 3]}, criterion=CrossValidation(3))
    with pytest.raises(ValueError, match="sample_weight: the score of DepthScored takes no weights; name a loss"):
        search.fit(X, y, sample_weight=np.ones(120))


def test_models_without_an_order_are_ordered_by_the_usual_loss():
    grid = {"alpha": [0.1, 10.0], "fit_intercept": [True, False]}
    search = GridSearch(PoissonRegressor(), grid, criterion=CrossValidation(FOLDS), rule="one-standard-error")
    assert search.set_params(random_state=0).fit(X, y).loss_.name == "score"


@pytest.mark.parametrize("honest", ["nested", "tibshirani"])
def test_the_whole_search_is_scored_by_its_own_score(honest):
    search = GridSearch(PoissonRegressor(), {"alpha": [0.1, 1.0]}, criterion=CrossValidation(3), honest=honest)
    assert search.set_params(random_state=0).fit(X, y).honest_score_.out_sample < search.score(X, y)


@pytest.mark.parametrize("honest", ["bootstrap", "permutation"])
def test_what_needs_predictions_says_so(honest):
    search = GridSearch(PoissonRegressor(), {"alpha": [0.1]}, criterion=CrossValidation(3), honest=honest)
    with pytest.raises(ValueError, match="the estimator's own score"):
        search.fit(X, y)
