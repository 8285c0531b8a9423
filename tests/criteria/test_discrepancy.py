"""Discrepancy criteria against the complexities they add, and what they refuse."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import ExpectedDiscrepancy, MaximalDiscrepancy
from outsample.criteria.base import as_criterion


def data(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def test_maximal_discrepancy_against_its_complexity():
    X, y = data()
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    estimate = outsample.estimate(tree, X, y, criterion="discrepancy", random_state=3)
    assert estimate.optimism == pytest.approx(outsample.maximal_discrepancy(tree, X, y, random_state=3).value)
    assert estimate.monte_carlo_error is None
    assert estimate.n_fits == 2
    assert "upper estimate" in str(estimate)


def test_expected_discrepancy_against_its_complexity():
    X, y = data()
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    estimate = outsample.estimate(tree, X, y, criterion=ExpectedDiscrepancy(7), random_state=3)
    complexity = outsample.expected_discrepancy(tree, X, y, n_draws=7, random_state=3)
    assert estimate.optimism == pytest.approx(complexity.value)
    assert estimate.monte_carlo_error == pytest.approx(complexity.monte_carlo_error)
    assert estimate.n_fits == 8


def test_maximal_discrepancy_against_the_error_it_limits():
    """Its mean over data sets is at least the mean error of the risk minimiser on new data."""
    rng = np.random.default_rng(1)
    slack = []
    for seed in range(60):
        x = rng.random(30)
        y = np.where(x > 0.5, 1, -1) * np.where(rng.random(30) < 0.2, -1, 1)
        rule = outsample.StumpClassifier().fit(x[:, None], y)
        grid = np.linspace(0.0005, 0.9995, 1000)
        truth = 0.2 + 0.6 * (rule.predict(grid[:, None]) != np.where(grid > 0.5, 1, -1)).mean()
        estimate = outsample.estimate(
            outsample.StumpClassifier(), x[:, None], y, criterion="discrepancy", random_state=seed
        )
        slack.append(estimate.out_sample - truth)
    assert np.mean(slack) > 0


@pytest.mark.parametrize("name", ["discrepancy", "expected-discrepancy"])
def test_selection_over_a_path(name):
    X, y = data(80)
    tree = DecisionTreeClassifier(random_state=0)
    search = outsample.GridSearch(tree, {"max_leaf_nodes": [2, 4, 8, 40]}, criterion=name, random_state=0).fit(X, y)
    assert search.best_params_["max_leaf_nodes"] <= 8
    assert search.curve_.out_sample[-1] >= 0.9


@pytest.mark.parametrize("criterion", [MaximalDiscrepancy(), ExpectedDiscrepancy()])
def test_bad_input(criterion):
    X, y = data()
    tree = DecisionTreeClassifier(max_leaf_nodes=3)
    with pytest.raises(ValueError, match="two classes, y has 3 classes; use"):
        outsample.estimate(tree, X, np.arange(40) % 3, criterion=criterion)
    with pytest.raises(ValueError, match="two classes, y has real values"):
        outsample.estimate(LinearRegression(), X, X[:, 0], criterion=criterion)
    with pytest.raises(ValueError, match="zero-one loss"):
        outsample.estimate(tree, X, y, criterion=criterion, loss="log")
    with pytest.raises(ValueError, match="groups"):
        outsample.estimate(tree, X, y, criterion=criterion, groups=np.arange(40) // 2)


def test_bad_number_of_draws():
    with pytest.raises(ValueError, match="n_draws"):
        ExpectedDiscrepancy(0)


def test_names():
    assert as_criterion("discrepancy") == MaximalDiscrepancy()
    assert as_criterion("expected-discrepancy") == ExpectedDiscrepancy(10)
