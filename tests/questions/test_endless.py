"""Grids without a last value, also where iterators cannot be copied, as in Python 3.14."""

from __future__ import annotations

import copyreg
import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from outsample import CrossValidation, GridSearch
from outsample.questions.endless import CountFrom, restartable

X, Y = load_iris(return_X_y=True)


@pytest.fixture(params=["as it is", "uncopyable"])
def counter(request, monkeypatch):
    """itertools.count, as this version of Python has it and as Python 3.14 does."""

    def refuse(counter):
        raise TypeError("cannot pickle 'itertools.count' object")

    if request.param == "uncopyable":
        monkeypatch.setitem(copyreg.dispatch_table, itertools.count, refuse)
    return itertools.count(1)


def search(values, **options):
    options = {"rule": "first-local-minimum", "random_state": 0} | options
    return GridSearch(KNeighborsClassifier(), {"n_neighbors": values}, **options)


def expected():
    return search(CountFrom(1)).fit(X, Y)


def scores(found):
    return found.cv_results_["mean_test_score"]


def test_a_second_fit_and_a_clone_begin_at_the_first_value(counter):
    first = search(counter).fit(X, Y)
    found = scores(first).copy()
    assert first.best_params_ == expected().best_params_
    for again in (first.fit(X, Y), clone(first).fit(X, Y), clone(clone(first)).fit(X, Y)):
        np.testing.assert_array_equal(scores(again), found)
    assert next(counter) == 1


def test_a_search_over_a_counter_can_be_pickled(counter):
    first = search(counter).fit(X, Y)
    found = scores(first)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(scores(again), found)
    np.testing.assert_array_equal(scores(again.fit(X, Y)), found)


def test_a_search_over_a_counter_is_judged_as_a_whole(counter):
    found = search(counter, honest="nested", n_jobs=2, criterion=CrossValidation(3)).fit(X, Y)
    assert 0 < found.honest_score_.out_sample < 0.2


def test_a_search_over_a_counter_keeps_its_work(counter, tmp_path):
    store = tmp_path / "runs.db"
    first, second = (search(counter, store=store).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(scores(first), scores(second))


@pytest.mark.parametrize("counter", [itertools.count(3), itertools.count(0.5, 0.25), itertools.count(-2, -3)])
def test_counters_begin_again_where_they_stand(counter):
    next(counter)
    values = restartable(counter)
    assert isinstance(values, CountFrom)
    first = list(itertools.islice(values, 4))
    assert first == list(itertools.islice(values, 4)) == list(itertools.islice(counter, 4))


def test_values_that_can_be_read_once_are_read_once():
    values = (k for k in itertools.count(1))
    found = search(values).fit(X, Y)
    assert found.best_params_ == expected().best_params_
    for again in (found, clone(found)):
        with pytest.raises(ValueError, match="n_neighbors were read by an earlier fit and cannot be read again"):
            again.fit(X, Y)


def test_a_single_value_is_no_list_of_values():
    with pytest.raises(ValueError, match=r"param_grid: n_neighbors needs a list of values, got 3"):
        search(3).fit(X, Y)
