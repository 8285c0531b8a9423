"""Values of a grid that are learners: as in scikit-learn's own search, and the user's objects stay as they were."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample import ApproximateLeaveOneOut, CrossValidation, GridSearch, compare
from outsample.criteria.base import CRITERIA
from outsample.questions.candidates import candidates_of

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[::3], Y[::3]
TREE, NEIGHBORS, LOGISTIC = DecisionTreeClassifier(random_state=0), KNeighborsClassifier(), LogisticRegression()
LEARNERS = [
    {"clf": [TREE], "clf__max_depth": [1, 2, 5]},
    {"clf": [TREE], "clf__max_leaf_nodes": [2, 4], "scale": [StandardScaler(), "passthrough", MinMaxScaler()]},
    {"clf": [NEIGHBORS], "clf__n_neighbors": [1, 5]},
    {"clf": [LOGISTIC, SVC(), TREE]},
]
STEPS = [
    {"scale": [StandardScaler(), None], "reduce": [PCA(random_state=0)], "reduce__n_components": [1, 3]},
    {"reduce": [PCA(2, random_state=0)], "clf__n_neighbors": [1, 3]},
    {"scale": ["passthrough"], "clf__n_neighbors": [1, 3]},
]


def pipeline(clf, scale=None, reduce=None):
    first = [] if reduce is None else [("reduce", reduce)]
    return Pipeline([("scale", StandardScaler() if scale is None else scale), *first, ("clf", clf)])


CASES = {
    "inside bags": (
        BaggingClassifier(n_estimators=5, random_state=0),
        {"estimator": [TREE], "estimator__max_depth": [1, 2, 8]},
    ),
    "boosted": (
        AdaBoostClassifier(n_estimators=3, random_state=0),
        {"estimator": [TREE], "estimator__max_depth": [1, 2], "n_estimators": [2, 4]},
    ),
    "voting": (VotingClassifier([("a", TREE), ("b", NEIGHBORS)]), {"a": ["drop", TREE], "b__n_neighbors": [1, 9]}),
    "stacked": (
        StackingClassifier([("a", TREE)], final_estimator=NEIGHBORS, cv=2),
        {"final_estimator": [NEIGHBORS], "final_estimator__n_neighbors": [1, 9], "a__max_depth": [1, 3]},
    ),
    "one of several learners": (pipeline(TREE), LEARNERS),
    "filling None": (pipeline(None), LEARNERS),
    "filling passthrough": (pipeline("passthrough"), LEARNERS),
    "filling middle steps": (pipeline(NEIGHBORS, scale="passthrough", reduce="passthrough"), STEPS),
}


def their_scores(estimator, grid, scoring):
    return GridSearchCV(estimator, grid, cv=3, scoring=scoring).fit(X, Y).cv_results_["mean_test_score"]


def our_scores(estimator, grid, loss, **options):
    search = GridSearch(estimator, grid, criterion=CrossValidation(3), loss=loss, random_state=0, **options)
    return search.fit(X, Y).cv_results_["mean_test_score"]


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_grid_search_cv(case):
    estimator, grid = CASES[case]
    expected = their_scores(estimator, grid, "accuracy")
    np.testing.assert_array_equal(our_scores(estimator, grid, "accuracy"), expected)
    np.testing.assert_array_equal(our_scores(estimator, grid, "accuracy", fast=False), expected)


@pytest.mark.parametrize("first", [TREE, LOGISTIC, SVC()])
def test_learners_with_different_responses_score_as_in_grid_search_cv(first):
    """The area under the curve reads decision values, or probabilities of learners that have none."""
    estimator = pipeline(first)
    expected = their_scores(estimator, LEARNERS, "roc_auc")
    np.testing.assert_allclose(our_scores(estimator, LEARNERS, "roc_auc"), expected, rtol=1e-12)


def test_a_search_scores_new_data_by_the_response_its_choice_has():
    grid = {"clf": [SVC(C=1e-9), NEIGHBORS]}
    search = GridSearch(pipeline(SVC()), grid, criterion=CrossValidation(3), loss="roc_auc").fit(X, Y)
    theirs = GridSearchCV(pipeline(SVC()), grid, cv=3, scoring="roc_auc").fit(X, Y)
    assert search.best_params_ == theirs.best_params_ == {"clf": NEIGHBORS}
    assert search.score(X, Y) == theirs.score(X, Y)


def test_a_learner_without_the_response_gets_the_error_score():
    grid = {"clf": [NEIGHBORS, LinearRegression()]}
    with pytest.warns(FitFailedWarning, match="LinearRegression"):
        scores = our_scores(pipeline(NEIGHBORS), grid, "neg_log_loss")
    assert np.isfinite(scores[0])
    assert np.isnan(scores[1])


@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c not in ("vc-bound", "discrepancy-bound")])
def test_objects_of_the_user_stay_as_they_were(criterion):
    estimator = pipeline(TREE)
    grid = [{"clf": [clone(TREE)], "clf__max_depth": [1, 2]}, {"clf": [clone(LOGISTIC)], "clf__C": [0.1, 1.0]}]
    before = [repr(params) for params in candidates_of(grid)], repr(estimator)
    with contextlib.suppress(ValueError):
        GridSearch(estimator, grid, criterion=criterion, random_state=0, error_score="raise").fit(X[::3], Y[::3])
    assert ([repr(params) for params in candidates_of(grid)], repr(estimator)) == before


@pytest.mark.parametrize("criterion", ["permutation", "632+", "two-stage", "rows-and-labels"])
def test_a_learner_as_value_is_worth_what_it_is_worth_alone(criterion):
    bags = BaggingClassifier(n_estimators=3, random_state=0)
    grid = {"estimator": [TREE], "estimator__max_depth": [1, 8]}
    found = GridSearch(bags, grid, criterion=criterion, random_state=0).fit(X, Y).cv_results_
    for depth, score in zip([1, 8], found["in_sample"], strict=True):
        alone = BaggingClassifier(DecisionTreeClassifier(max_depth=depth, random_state=0), 3, random_state=0)
        expected = compare(alone, X, Y, criteria=["resubstitution"]).estimates["resubstitution"].in_sample
        assert score == pytest.approx(expected, abs=1e-12)


def shrunk(table, by):
    return table * by[700]


def test_heads_of_approximate_leave_one_out_are_told_apart_by_their_numbers():
    """Long arrays are printed with dots in place of what differs here."""
    factors = [{"by": np.where(np.arange(1500) == 700, factor, 1.0)} for factor in (1.0, 0.01)]
    estimator = Pipeline([("shrink", FunctionTransformer(shrunk)), ("clf", LogisticRegression(C=0.01, max_iter=10**4))])
    grid = {"shrink__kw_args": factors, "clf__tol": [1e-6]}
    both = GridSearch(estimator, grid, criterion=ApproximateLeaveOneOut(), loss="log").fit(X[:, :3] / 100, Y)
    assert len(set(both.cv_results_["out_sample"])) == 2


def test_a_pipeline_to_be_filled_can_be_judged_as_a_whole_search():
    grid = [{"clf": [TREE], "clf__max_depth": [1, 2]}, {"clf": [NEIGHBORS]}]
    options = {"criterion": CrossValidation(3), "honest": "nested", "random_state": 0}
    unfilled = GridSearch(pipeline(None), grid, **options).fit(X, Y)
    assert 0 < unfilled.honest_score_.out_sample < 0.3
    compared = compare(pipeline(None), X, Y, param_grid=grid, criteria=["permutation"], random_state=0)
    assert len(compared.curves["permutation"]) == 3
