"""The error of a whole search, on labels that carry no information: the plain score of the best model is too good."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, Permutation
from outsample.criteria.base import CRITERIA

CrossValidation = CRITERIA["kfold"]
MANY_RULES = {"n_neighbors": range(1, 30), "weights": ["uniform", "distance"], "p": [1, 2]}


@pytest.fixture(scope="module")
def noise():
    """Twenty data sets of pure noise: every honest error is one half."""
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(60, 3)), np.tile([0, 1], 30)) for _ in range(20)]


def scores(noise, method, criterion):
    plain, honest = [], []
    for i, (X, y) in enumerate(noise):
        search = GridSearch(
            KNeighborsClassifier(), MANY_RULES, criterion=criterion, honest=method, refit=False, random_state=i
        ).fit(X, y)
        plain.append(1 - search.best_score_)
        honest.append(search.honest_score_.out_sample)
    return np.array(plain), np.array(honest)


@pytest.mark.parametrize("method", ["tibshirani", "bootstrap"])
def test_corrections_of_cross_validation_on_noise(noise, method):
    plain, honest = scores(noise, method, CrossValidation(5))
    assert plain.mean() < 0.47
    assert honest.mean() > plain.mean() + 0.02
    assert honest.mean() == pytest.approx(0.5, abs=0.06)


def test_permutation_of_the_whole_search_on_noise(noise):
    plain, honest = scores(noise, "permutation", Permutation(20))
    assert honest.mean() > plain.mean()
    assert honest.mean() == pytest.approx(0.5, abs=0.05)


def test_nested_cross_validation_on_noise(noise):
    _, honest = scores(noise[:6], "nested", CrossValidation(3))
    assert honest.mean() == pytest.approx(0.5, abs=0.08)


def test_tibshirani_against_its_formula():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearch(
        DecisionTreeClassifier(random_state=0),
        {"max_leaf_nodes": range(2, 12)},
        criterion=CrossValidation(5),
        honest="tibshirani",
    ).fit(X, y)
    folds = np.stack([1 - search.cv_results_[f"split{k}_test_score"] for k in range(5)])
    chosen = folds[:, search.best_index_]
    assert search.honest_score_.out_sample == pytest.approx(chosen.mean() + np.mean(chosen - folds.min(axis=1)))
    assert "Tibshirani" in search.honest_score_.criterion
    low, high = search.honest_score_.interval()
    assert low < search.honest_score_.out_sample < high


def test_permutation_of_a_search_without_draws_reruns_it():
    X, y = load_diabetes(return_X_y=True)
    search = GridSearch(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, honest="permutation", random_state=0).fit(X, y)
    assert search.honest_score_.n_fits > 1
    assert search.honest_score_.out_sample > search.honest_score_.in_sample


def test_bad_requests():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"honest must be one of nested.*did you mean 'nested'"):
        GridSearch(Ridge(), {"alpha": [1.0]}, honest="nestd").fit(X, y)
    with pytest.raises(ValueError, match=r"honest='tibshirani' needs cross-validation, criterion 'permutation'"):
        GridSearch(Ridge(), {"alpha": [1.0]}, honest="tibshirani").fit(X, y)
