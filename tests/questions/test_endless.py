"""Grids without a last value, also where iterators cannot be copied, as in Python 3.14."""

from __future__ import annotations

import copyreg
import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from outsample import CrossValidation, GridSearch
from outsample.questions.endless import CountFrom, restartable
from outsample.rules import FirstLocalMinimum

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


def few_rows(n=21, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)), rng.normal(size=n)


def left_out_losses(X, y, k):
    """Squared losses of k neighbours on every row left out, by scikit-learn."""
    predicted = cross_val_predict(KNeighborsRegressor(k), X, y, cv=LeaveOneOut())
    return (predicted - y) ** 2


def walked(X, y, values, patience):
    """V §3, written down: (values tried, the one at the first significant local minimum, None where there is none)."""
    best, least, above, tried = None, np.inf, 0, []
    for k in values:
        losses = left_out_losses(X, y, k)
        risk, error = losses.mean(), losses.std(ddof=1) / np.sqrt(len(y))
        tried.append(k)
        if risk < least:
            best, least, above = k, risk, 0
        else:
            above = above + 1 if risk > least + error else 0
        if above == patience:
            return tried, best
    return tried, None


@pytest.mark.parametrize("n", [10, 17, 21, 26, 34])
def test_the_walk_reaches_the_last_value_that_is_accepted(n):
    X, y = few_rows(n)
    found = GridSearch(
        KNeighborsRegressor(),
        {"n_neighbors": itertools.count(1)},
        criterion="loo",
        rule=FirstLocalMinimum(patience=1000),
    ).fit(X, y)
    risks = {k: left_out_losses(X, y, k).mean() for k in range(1, n)}
    assert [setting["n_neighbors"] for setting in found.cv_results_["params"]] == list(risks)
    assert found.best_params_["n_neighbors"] == min(risks, key=risks.get)
    assert any(f"The walk ended at n_neighbors={n}, which was rejected" in note for note in found.curve_.notes)


@pytest.mark.parametrize("values", [itertools.count(1), range(1, 60), itertools.count(40, -1), range(40, 0, -1)])
@pytest.mark.parametrize("patience", [1, 2, 5])
def test_the_walk_against_an_independent_one(values, patience):
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, (70, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=70)
    lazy = not hasattr(values, "__len__")
    in_order = list(itertools.islice(restartable(values), 40)) if lazy else list(values)
    tried, best = walked(X, y, in_order, patience)
    assert lazy or best is None or len(tried) < len(in_order) or values == range(40, 0, -1)
    search = GridSearch(
        KNeighborsRegressor(), {"n_neighbors": values}, criterion="loo", rule=FirstLocalMinimum(patience)
    ).fit(X, y)
    expected = best if best is not None else min(tried, key=lambda k: left_out_losses(X, y, k).mean())
    assert search.best_params_["n_neighbors"] == expected
    if best is not None:
        assert not any("The walk ended" in note for note in search.curve_.notes)


def test_a_list_is_walked_as_it_is_written():
    """The first of two minima depends on where the walk begins, whatever the parameter makes of models."""
    X, y = np.arange(40.0)[:, None] % 20, np.repeat([0.0, 1.0], 20)
    y[::4] += 3
    X = X + 100 * (np.arange(40) >= 20)[:, None]
    for values in (list(range(1, 39)), list(range(38, 0, -1)), [30, 1, 2, 3, 4, 5, 38]):
        tried, best = walked(X, y, values, 1)
        search = GridSearch(
            KNeighborsRegressor(), {"n_neighbors": values}, criterion="loo", rule=FirstLocalMinimum(1)
        ).fit(X, y)
        risks = {k: left_out_losses(X, y, k).mean() for k in tried}
        assert search.best_params_["n_neighbors"] == (min(risks, key=risks.get) if best is None else best)


def test_patience_is_a_whole_number():
    with pytest.raises(ValueError, match="patience must be a whole number of at least 1, got 0"):
        FirstLocalMinimum(0)
    assert clone(search(range(1, 9), rule=FirstLocalMinimum(7))).rule == FirstLocalMinimum(7)


def test_one_metric_ends_the_walk():
    with pytest.raises(ValueError, match="n_neighbors has no last value, and each metric would end the walk"):
        search(itertools.count(1), scoring=["accuracy", "neg_log_loss"], refit="accuracy").fit(X, Y)
