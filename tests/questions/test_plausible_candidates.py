"""`plausible_` of searches: which candidates may be the best."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, Race
from outsample.curve.plausible import plausible_models

GRID = {"max_leaf_nodes": [24, 2, 3, 4, 6, 12]}


@pytest.fixture(scope="module")
def table():
    return make_classification(300, 8, n_informative=4, flip_y=0.05, class_sep=1.5, random_state=0)


def fitted(table, estimator=None, grid=GRID, **options):
    estimator = DecisionTreeClassifier(random_state=0) if estimator is None else estimator
    return GridSearch(estimator, grid, random_state=0, **options).fit(*table)


def test_positions_are_those_of_cv_results(table):
    """The curve is ordered by complexity, `cv_results_` by the grid."""
    search = fitted(table, criterion="kfold")
    left_out = search.curve_.left_out
    by_setting = dict(
        zip((p["max_leaf_nodes"] for p in search.curve_.params), plausible_models(left_out.losses), strict=True)
    )
    expected = [i for i, value in enumerate(GRID["max_leaf_nodes"]) if by_setting[value]]
    assert search.plausible_.tolist() == expected
    assert 1 not in expected, "two leaves are too few for this table"


@pytest.mark.parametrize("scoring", [None, "roc_auc", "f1", "neg_log_loss"])
@pytest.mark.parametrize("criterion", ["kfold", "auto", "race", "bootstrap"])
def test_the_chosen_one_is_always_in_it(table, criterion, scoring):
    search = fitted(table, criterion=criterion, scoring=scoring)
    assert search.best_index_ in search.plausible_
    frame = search.results_frame()
    assert np.flatnonzero(frame["plausible"]).tolist() == search.plausible_.tolist()


def test_another_rule_may_choose_a_model_that_is_not_the_least(table):
    worst = fitted(table, criterion="kfold", rule=lambda curve: int(np.argmax(curve.out_sample)))
    assert worst.best_index_ in worst.plausible_


def test_a_race_leaves_out_only_what_the_rows_speak_against(table):
    search = fitted(table, SVC(), {"C": [1e-6, 1.0, 10.0], "gamma": [0.01, 0.1]}, criterion=Race(5))
    losses = search.curve_.left_out.losses
    assert np.isnan(losses).any(), "somebody left early"
    assert search.best_index_ in search.plausible_
    assert not {0, 1} & set(search.plausible_.tolist()), "C = 1e-6 guesses"


def test_criteria_without_losses_of_rows_say_why(table):
    search = fitted(table, criterion="permutation")
    assert not hasattr(search, "plausible_")
    with pytest.raises(AttributeError, match="leaves rows out"):
        search.plausible_
    assert "plausible" not in search.results_frame()


def test_scikit_learns_own_loop_has_folds_only(table):
    search = fitted(table, cv=KFold(10), return_train_score=True)
    assert search.curve_.left_out.losses is None
    assert search.best_index_ in search.plausible_
    assert len(search.plausible_) < 6


def test_rows_in_groups_count_once_each(table):
    X, y = table
    copies, groups = np.repeat(np.arange(40), 8), np.repeat(np.arange(40), 8)
    grid = {"n_neighbors": [1, 9, 31]}
    as_rows = GridSearch(KNeighborsClassifier(), grid, criterion="kfold", random_state=0).fit(X[copies], y[copies])
    whole = GridSearch(KNeighborsClassifier(), grid, criterion="kfold", random_state=0)
    whole.fit(X[copies], y[copies], groups=groups.astype(str))
    assert len(as_rows.plausible_) < 3
    assert len(whole.plausible_) == 3


def test_a_second_fit_and_a_copy_have_their_own(table):
    X, y = table
    search = fitted(table, criterion="kfold")
    first = search.plausible_
    again = pickle.loads(pickle.dumps(search))
    assert np.array_equal(again.plausible_, first)
    noise = np.random.default_rng(0).integers(0, 2, len(y))
    assert len(search.fit(X, noise).plausible_) == 6


def test_not_before_fit():
    assert not hasattr(GridSearch(SVC(), {"C": [1.0]}), "plausible_")
