"""Every public function × a wrong argument: one sentence that names the parameter, before any fit."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

import outsample

X, y = load_iris(return_X_y=True)
X, y = X[:100], y[:100]
GRID = {"max_depth": [1, 2]}


class Tree(DecisionTreeClassifier):
    """Says so when it is fitted: what is wrong must be found before."""

    def fit(self, *arguments, **more):
        raise AssertionError("fitted")


FITTED = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)


def searched(make):
    return lambda E, X=X, y=y, groups=None, **more: make(E, **more).fit(X, y, groups=groups)


# name → function of (estimator, X, y, further arguments)
PUBLIC = {
    "estimate": outsample.estimate,
    "GridSearch": searched(lambda E, **more: outsample.GridSearch(E, GRID, **more)),
    "RandomizedSearch": searched(lambda E, **more: outsample.RandomizedSearch(E, GRID, n_iter=2, **more)),
    "compare": outsample.compare,
    "compare_models": lambda E, X, y, **more: outsample.compare_models({"a": E, "b": Tree()}, X, y, **more),
    "regret_study": lambda E, X, y, **more: outsample.regret_study(
        {"a": (E, GRID)}, {"d": (X, y)}, ["kfold"], n_splits=1, **more
    ),
    "validate": lambda E, X, y, **more: outsample.validate(E, GRID, X, y, X, y, **more),
    "learning_curve": outsample.learning_curve,
    "permutation_test": outsample.permutation_test,
    "permutation_test_columns": outsample.permutation_test_columns,
    "permutation_complexity": outsample.permutation_complexity,
    "rademacher_complexity": outsample.rademacher_complexity,
    "gaussian_complexity": outsample.gaussian_complexity,
    "multiplier_complexity": outsample.multiplier_complexity,
    "label_bootstrap_complexity": outsample.label_bootstrap_complexity,
    "maximal_discrepancy": outsample.maximal_discrepancy,
    "expected_discrepancy": outsample.expected_discrepancy,
    "effective_vc_dimension": lambda E, X, y, **more: outsample.effective_vc_dimension(E, X, **more),
    "generalized_degrees_of_freedom": outsample.generalized_degrees_of_freedom,
    "effective_parameters": outsample.effective_parameters,
    "optuna_objective": lambda E, X, y, **more: outsample.optuna_objective(E, X, y, lambda trial: {}, **more),
    "evaluate": outsample.evaluate,
    "audit": lambda E, X, y, **more: outsample.audit(E, X, y, n_draws=2, **more),
    "sealed test": lambda E, X, y, **more: outsample.split(X, y).test.evaluate(E, **more),
}
NO_ESTIMATORS = {
    "a class": DecisionTreeClassifier,
    "text": "tree",
    "None": None,
    "a function": lambda X, y: 0.0,
    "a module": np,
    "a number": 3,
    "a dict": {},
    "an object": object(),
}
# A function is what an audit takes; without an estimator columns are tested by what labels explain.
RIGHT = {("audit", "a function"), ("permutation_test_columns", "None")}
NAMES = r"estimator|model|procedure|learners|statistic"
NOT_OURS = r"__sklearn_tags__|has no attribute|unexpected keyword|positional argument|NoneType"


def refusal(call, *arguments, **more):
    """The sentence with which a call is refused."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call(*arguments, **more)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert not re.search(NOT_OURS, sentence), sentence
    assert "AssertionError" not in sentence, "fitted before it was refused"
    return sentence


@pytest.mark.parametrize("what", NO_ESTIMATORS)
@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_no_estimator_is_refused_by_name(name, what):
    if (name, what) not in RIGHT:
        assert re.search(NAMES, refusal(PUBLIC[name], NO_ESTIMATORS[what], X, y))


TAKE_X = [name for name in PUBLIC if name != "audit"]


def _given(name):
    """An estimator that a function of this name takes."""
    if name in ("evaluate", "sealed test"):
        return FITTED
    return Ridge() if name in ("generalized_degrees_of_freedom", "effective_parameters") else Tree()


@pytest.mark.parametrize("name", TAKE_X)
def test_a_table_without_columns_is_refused(name):
    assert "0 feature(s)" in refusal(PUBLIC[name], _given(name), np.empty((100, 0)), y * 1.0)


@pytest.mark.parametrize("name", TAKE_X)
def test_complex_numbers_are_refused(name):
    assert "Complex data not supported: X" in refusal(PUBLIC[name], _given(name), X + 1j, y * 1.0)


PART = np.where(np.arange(100) < 20, np.nan, np.arange(100) % 10)
GROUPS = {
    "mixed": (
        np.resize(np.array([1, "a"], dtype=object), 100),
        "groups mixes entries that have no common order: int, str",
    ),
    "a mixed list": ([1, "a"] * 50, "groups mixes entries that have no common order: int, str"),
    "None among them": ([None, "a"] * 50, "groups has 50 missing entries, the first in row 0"),
    "nan among texts": (["a", np.nan] * 50, "groups has 50 missing entries, the first in row 1"),
    "partly nan": (PART, "groups has 20 missing entries, the first in row 0"),
    "all nan": (np.full(100, np.nan), "groups has 100 missing entries"),
    "another length": ([1, 2], "groups must have one entry per row"),
}
TAKE_GROUPS = [
    *("estimate", "GridSearch", "RandomizedSearch", "compare", "compare_models", "learning_curve", "evaluate"),
    *("permutation_test", "permutation_test_columns", "optuna_objective"),
]


@pytest.mark.parametrize("what", GROUPS)
@pytest.mark.parametrize("name", TAKE_GROUPS)
def test_groups_that_are_none_are_refused(name, what):
    groups, sentence = GROUPS[what]
    assert sentence in refusal(PUBLIC[name], _given(name), X, y, groups=groups)


@pytest.mark.parametrize("name", [*TAKE_GROUPS, "audit", "columns of no estimator"])
def test_a_single_group_is_refused_as_such(name):
    given = {"audit": lambda X, y: 0.1, "columns of no estimator": None}
    call = PUBLIC.get(name, outsample.permutation_test_columns)
    sentence = refusal(call, given[name] if name in given else _given(name), X, y, groups=np.zeros(100))
    assert sentence.startswith("groups has one group only, 0.0")


@pytest.mark.parametrize("further", [{}, {"return_train_score": True}, {"scoring": ["accuracy", "f1"], "refit": "f1"}])
@pytest.mark.parametrize("bad", [np.empty((100, 0)), X + 1j], ids=["no columns", "complex"])
def test_searches_with_cv_refuse_tables_before_any_fit(bad, further):
    search = outsample.GridSearch(Tree(), GRID, cv=3, **further)
    assert re.search("X has 0 feature|Complex data not supported: X", refusal(search.fit, bad, y))


@pytest.mark.parametrize("name", ["GridSearch", "compare"])
def test_more_candidates_than_can_be_tried_are_refused(name):
    grid = {"max_depth": range(1, 10**5), "min_samples_leaf": range(1, 10**5)}
    calls = {
        "GridSearch": lambda: outsample.GridSearch(Tree(), grid).fit(X, y),
        "compare": lambda: outsample.compare(Tree(), X, y, param_grid=grid),
    }
    assert refusal(calls[name]) == "param_grid has 9999800001 candidates in all; at most 1000000 are tried"


def test_many_trees_of_more_leaves_than_rows_are_refused():
    grid = {"tree__max_leaf_nodes": range(2, 100_000)}
    search = outsample.GridSearch(Pipeline([("tree", Tree())]), grid)
    assert refusal(search.fit, X, y) == (
        "99899 candidates have tree__max_leaf_nodes above 100, the number of rows, and no tree has more leaves than "
        "rows; leave them out"
    )


TAKE_JOBS = [
    *("estimate", "GridSearch", "RandomizedSearch", "compare", "compare_models", "regret_study", "validate"),
    *("learning_curve", "permutation_test", "permutation_test_columns", "permutation_complexity"),
    *("rademacher_complexity", "gaussian_complexity", "effective_vc_dimension"),
]


@pytest.mark.parametrize("jobs", [10**30, -(10**30), 0, 1.5, "two"])
@pytest.mark.parametrize("name", TAKE_JOBS)
def test_numbers_of_jobs_that_are_none_are_refused(name, jobs):
    assert re.search(r"n_jobs.*" + re.escape(repr(jobs)), refusal(PUBLIC[name], _given(name), X, y, n_jobs=jobs))


@pytest.mark.parametrize("fast", ["no", None, 2])
@pytest.mark.parametrize(
    "name", ["estimate", "GridSearch", "compare", "permutation_complexity", "effective_vc_dimension", "validate"]
)
def test_fast_is_true_or_false(name, fast):
    assert re.search(r"fast.*" + repr(fast), refusal(PUBLIC[name], _given(name), X, y, fast=fast))


def test_more_folds_than_rows_are_refused_by_compare_models():
    assert "cv=1000 asks for more folds than X has rows" in refusal(PUBLIC["compare_models"], Tree(), X, y, cv=1000)


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), "half", True])
def test_the_error_without_information_is_a_finite_number(rate):
    sentence = refusal(outsample.audit, lambda X, y: 0.1, X, y, no_information=rate)
    assert sentence == f"no_information must be a finite number, got {rate!r}"


@pytest.mark.parametrize("stratify", [y, list(y), "y", 1])
def test_split_takes_classes_from_y_only(stratify):
    assert refusal(outsample.split, X, y, stratify=stratify).startswith("stratify must be True, False or None, got ")


@pytest.mark.parametrize("loss", ["squared", None, 3, DecisionTreeClassifier])
def test_the_loss_of_quadratic_leave_one_out_is_a_function(loss):
    assert refusal(outsample.quadratic_leave_one_out, loss, X, y).startswith(
        "loss must be a function of (y, predictions)"
    )


@pytest.mark.parametrize("as_given", [lambda X: tuple(map(tuple, X)), tuple], ids=["tuples", "a tuple of arrays"])
def test_tuples_of_rows_are_tables(as_given):
    tree = DecisionTreeClassifier(random_state=0)
    for call in (
        lambda X: outsample.estimate(tree, X, y, random_state=0).out_sample,
        lambda X: outsample.GridSearch(tree, GRID, random_state=0).fit(X, y).curve_.out_sample.tolist(),
        lambda X: outsample.effective_vc_dimension(tree, X, n_draws=2, random_state=0).value,
    ):
        assert call(as_given(X)) == call(X)


def test_tables_of_pyarrow_are_tables():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({f"c{i}": X[:, i] for i in range(4)})
    tree = DecisionTreeClassifier(random_state=0)
    assert (
        outsample.estimate(tree, table, y, random_state=0).out_sample
        == outsample.estimate(tree, X, y, random_state=0).out_sample
    )
    found = outsample.GridSearch(tree, GRID, random_state=0).fit(table, y)
    assert found.best_params_ == outsample.GridSearch(tree, GRID, random_state=0).fit(X, y).best_params_
