"""Tests of many columns against enumeration and against their level."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.tree import DecisionTreeClassifier

from outsample import permutation_test, permutation_test_columns


def test_against_enumeration():
    """Step-down max-T by its definition, over all arrangements of seven labels."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7, 3)), np.array([0, 0, 0, 1, 1, 1, 1])

    def statistics(labels):
        return np.array([np.corrcoef(X[:, j], labels)[0, 1] ** 2 for j in range(3)])

    null = np.array([statistics(y[list(order)]) for order in itertools.permutations(range(7))])
    observed = statistics(y)
    result = permutation_test_columns(None, X, y)
    assert result.exact
    assert result.statistic == pytest.approx(observed)
    assert result.pvalue == pytest.approx((null >= observed - 1e-12).mean(axis=0))
    expected, running = np.empty(3), 0.0
    order = np.argsort(-observed)
    for rank, j in enumerate(order):
        running = max(running, (null[:, order[rank:]].max(axis=1) >= observed[j] - 1e-12).mean())
        expected[j] = running
    assert result.adjusted == pytest.approx(expected)


def test_real_labels_against_scipy():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4))
    y = X[:, 2] + rng.normal(size=50)
    result = permutation_test_columns(None, X, y, n_draws=999, random_state=0)
    assert result.statistic == pytest.approx([stats.pearsonr(X[:, j], y)[0] ** 2 for j in range(4)])
    expected = np.array([stats.pearsonr(X[:, j], y)[1] for j in range(4)])
    assert np.abs(result.pvalue - expected).max() < 0.06
    assert result.significant()[0] == 2


def test_three_classes_against_anova():
    rng = np.random.default_rng(2)
    y = np.repeat(["a", "b", "c"], 10)
    X = rng.normal(size=(30, 3))
    X[:, 1] += np.repeat([0.0, 1.0, 2.0], 10)
    result = permutation_test_columns(None, X, y, n_draws=199, random_state=0)
    F = np.array([stats.f_oneway(*(X[y == c, j] for c in "abc"))[0] for j in range(3)])
    assert result.statistic == pytest.approx(F * 2 / (F * 2 + 27))
    assert result.significant() == (1,)


def test_familywise_level_against_binomial_range():
    rng = np.random.default_rng(3)
    alarms = 0
    for k in range(200):
        X = rng.normal(size=(20, 10))
        y = rng.permutation(np.repeat([0, 1], 10))
        alarms += permutation_test_columns(None, X, y, n_draws=99, random_state=k).adjusted.min() <= 0.1
    low, high = stats.binom.interval(0.999, 200, 0.1)
    assert low <= alarms <= high


def test_copies_of_a_column_cost_nothing():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(30, 1)), rng.permutation(np.repeat([0, 1], 15))
    alone = permutation_test_columns(None, x, y, n_draws=99, random_state=0)
    copied = permutation_test_columns(None, np.tile(x, 50), y, n_draws=99, random_state=0)
    assert copied.adjusted == pytest.approx(np.repeat(alone.pvalue, 50))


def test_learner_per_column():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["p", "q", "r"])
    y = (X["q"].abs() > 0.7).to_numpy()
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    result = permutation_test_columns(tree, X, y, n_draws=49, random_state=0)
    assert result.significant() == ("q",)
    assert result.to_frame().index[0] == "q"
    assert "1 of 3 columns" in str(result)
    assert "<table" in result._repr_html_()
    assert result.to_dict()["columns"] == ["p", "q", "r"]


def test_a_rich_learner_per_column_is_judged_on_left_out_rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    y = X[:, 1] > 0
    tree = DecisionTreeClassifier(random_state=0)
    found = permutation_test_columns(tree, X, y, n_draws=39, random_state=0)
    assert found.significant() == (1,)
    assert found.notes == ()
    alone = permutation_test(tree, X[:, [1]], y, n_draws=39, random_state=0)
    assert (found.statistic[1], found.pvalue[1]) == (alone.statistic, alone.pvalue)
    blind = permutation_test_columns(tree, X, y, cv="in-sample", n_draws=39, random_state=0)
    assert blind.significant() == ()
    assert "3 of 3 columns the learner fits permuted labels nearly perfectly" in str(blind)
    assert blind.to_dict()["notes"] == list(blind.notes)


def test_columns_do_not_depend_on_the_number_of_jobs():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.tile([0, 1], 10)
    tree = DecisionTreeClassifier(random_state=0)
    one, two = (permutation_test_columns(tree, X, y, n_draws=9, random_state=0, n_jobs=n) for n in (1, 2))
    assert one.adjusted.tolist() == two.adjusted.tolist()


def test_sparse_constant_columns_and_groups():
    rng = np.random.default_rng(6)
    X = np.column_stack([rng.normal(size=20), np.full(20, 3.0)])
    y = np.tile([0, 1], 10)
    result = permutation_test_columns(
        None, sparse.csr_matrix(X), y, groups=np.arange(20) // 2, n_draws=99, random_state=0
    )
    assert result.statistic[1] == 0
    assert result.adjusted[1] == 1


def test_bad_input():
    X, y = np.random.default_rng(0).normal(size=(10, 2)), np.arange(10) % 2
    with pytest.raises(ValueError, match="table of numbers"):
        permutation_test_columns(None, [["a"], ["b"]], [0, 1])
    with pytest.raises(ValueError, match="missing"):
        permutation_test_columns(None, np.full((10, 2), np.nan), y)
    with pytest.raises(ValueError, match="one label per row"):
        permutation_test_columns(None, X, y[:4])
    with pytest.raises(ValueError, match="constant"):
        permutation_test_columns(None, X, np.zeros(10))
    with pytest.raises(ValueError, match="n_draws"):
        permutation_test_columns(None, X, y, n_draws=0)
