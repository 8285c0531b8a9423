"""Without a random state rows and labels are drawn as they were before; learners keep their own randomness."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import ParameterSampler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import outsample

X, Y = load_breast_cancer(return_X_y=True)
X, Y = X[::3], Y[::3]
FEW = make_classification(120, 6, flip_y=0.2, random_state=1)


def _table(search):
    return np.nan_to_num(search.cv_results_["mean_test_score"], nan=-1.0)


@pytest.mark.parametrize(
    "criterion",
    ["auto", "race", "kfold", "permutation", "rows-and-labels", "632+", "rademacher", "two-stage"],
)
def test_searches_without_a_random_state_are_the_same_from_run_to_run(criterion):
    tree, grid = DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 3, 4, 6, 8, 12]}
    found = [outsample.GridSearch(tree, grid, criterion=criterion).fit(X, Y) for _ in range(2)]
    np.testing.assert_array_equal(_table(found[0]), _table(found[1]))
    assert len({search.best_params_["max_leaf_nodes"] for search in found}) == 1


def test_folds_of_no_random_state_are_those_of_zero():
    grid = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}
    one, other = (outsample.GridSearch(SVC(), grid, random_state=seed).fit(*FEW) for seed in (None, 0))
    np.testing.assert_array_equal(_table(one), _table(other))


def test_shuffled_folds_of_several_metrics_are_the_same_from_run_to_run():
    options = {"scoring": ["accuracy", "roc_auc"], "refit": "accuracy", "criterion": "kfold"}
    found = [outsample.GridSearch(SVC(), {"C": [0.1, 1]}, **options).fit(*FEW) for _ in range(2)]
    np.testing.assert_array_equal(*(search.cv_results_["mean_test_roc_auc"] for search in found))


def test_learners_without_a_random_state_stay_random():
    forests = [RandomForestClassifier(5), RandomForestClassifier(5)]
    said = [outsample.estimate(forest, *FEW, criterion="kfold").out_sample for forest in forests]
    assert said[0] != said[1]
    fitted = [outsample.GridSearch(RandomForestClassifier(5), {"max_depth": [2, 9]}).fit(*FEW) for _ in range(2)]
    states = [search.best_estimator_.estimators_[0].random_state for search in fitted]
    assert states[0] != states[1]


def test_tests_by_drawn_labels_are_the_same_from_run_to_run():
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    nulls = [outsample.permutation_test(tree, *FEW, n_draws=20).null for _ in range(2)]
    np.testing.assert_array_equal(*nulls)


def test_settings_are_sampled_as_by_scikit_learn_without_a_random_state():
    grid = {"max_leaf_nodes": list(range(2, 200))}
    np.random.seed(7)  # noqa: NPY002 — the generator that scikit-learn draws from
    expected = list(ParameterSampler(grid, 4))
    np.random.seed(7)  # noqa: NPY002 — the generator that scikit-learn draws from
    search = outsample.RandomizedSearch(DecisionTreeClassifier(random_state=0), grid, n_iter=4).fit(*FEW)
    assert search.cv_results_["params"] == expected


def test_a_random_seed_sequence_of_the_user_is_a_choice():
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)
    seeds = [np.random.SeedSequence() for _ in range(3)]
    assert len({outsample.estimate(tree, X, Y, criterion="kfold", random_state=s).out_sample for s in seeds}) > 1
