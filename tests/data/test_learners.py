"""Clones with seeds: the same fits as scikit-learn's own searches make, and nothing random but what the seed says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import PassiveAggressiveClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR

from outsample import CrossValidation, GridSearch, estimate
from outsample.data.learners import respond, seeded


@pytest.mark.filterwarnings("ignore:Class PassiveAggressiveClassifier is deprecated")
@pytest.mark.filterwarnings("ignore:Maximum number of iteration")
@pytest.mark.parametrize("nested", [False, True])
def test_folds_of_what_set_params_leaves_against_scikit_learn(nested):
    """`set_params(C=…)` of this learner does not change its step, a clone made after it would have another one."""
    X, y = load_iris(return_X_y=True)
    learner, grid = PassiveAggressiveClassifier(random_state=0), {"C": [0.01, 0.1, 1.0]}
    if nested:
        learner, grid = make_pipeline(MinMaxScaler(), learner), {"passiveaggressiveclassifier__C": grid["C"]}
    theirs = GridSearchCV(learner, grid, cv=5).fit(X, y).cv_results_["mean_test_score"]
    for given in ({"cv": 5}, {"criterion": CrossValidation(5)}):
        ours = GridSearch(learner, grid, random_state=0, **given).fit(X, y).cv_results_["mean_test_score"]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=str(given))


@pytest.mark.parametrize("criterion", ["holdout", "kfold", "permutation", "632+", "auto"])
@pytest.mark.parametrize("learner", [SVC(), make_pipeline(MinMaxScaler(), SVC()), SVR()])
def test_numpys_global_generator_is_left_alone(learner, criterion):
    X, y = load_iris(return_X_y=True)
    grid = {"svc__C" if hasattr(learner, "steps") else "C": [0.1, 1.0]}
    before = np.random.get_state()  # noqa: NPY002
    GridSearch(learner, grid, criterion=criterion, random_state=5).fit(X, y)
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(after[1], before[1])
    assert after[2] == before[2]


def test_answers_of_a_forest_do_not_depend_on_the_order_in_which_threads_end():
    X, y = make_classification(60, random_state=0)
    forest = RandomForestClassifier(20, n_jobs=4, random_state=0).fit(X, y)
    # Trees as slow as they are early: with threads, those that come late would be added first.
    for k, tree in enumerate(forest.estimators_):
        tree.predict_proba = _after(tree.predict_proba, 0.002 * (len(forest.estimators_) - k))
    alone = sum(tree.predict_proba(X) for tree in forest.estimators_) / len(forest.estimators_)
    np.testing.assert_array_equal(respond(forest, X, "predict_proba", forest.classes_), alone)


def _after(work, seconds):
    import time

    def slow(X, **options):
        time.sleep(seconds)
        return work(X, **options)

    return slow


def test_a_seeded_clone_shares_nothing_with_its_original():
    catboost = pytest.importorskip("catboost")
    original = catboost.CatBoostClassifier(depth=2)
    copy = seeded(original, 3)
    assert original.get_params() == {"depth": 2}
    assert copy.get_params()["depth"] == 2


def test_a_fitted_learner_is_cloned_unfitted():
    X, y = load_iris(return_X_y=True)
    plain = estimate(SVC(), X, y, criterion="kfold", random_state=0)
    assert estimate(SVC().fit(X, y), X, y, criterion="kfold", random_state=0).out_sample == plain.out_sample
