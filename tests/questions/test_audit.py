"""The audit: finds the classic leak, leaves an honest procedure alone, and watches its arguments."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline

from outsample import audit

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def noise(n=50, p=5000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.permutation(np.repeat([0, 1], n // 2))


def chosen_outside_the_folds(X, y):
    best = SelectKBest(f_classif, k=20).fit_transform(X, y)
    return 1 - cross_val_score(NearestCentroid(), best, y, cv=FOLDS).mean()


def chosen_inside_the_folds(X, y):
    return 1 - cross_val_score(make_pipeline(SelectKBest(f_classif, k=20), NearestCentroid()), X, y, cv=FOLDS).mean()


def test_finds_the_feature_selection_leak():
    X, y = noise()
    start = time.perf_counter()
    result = audit(chosen_outside_the_folds, X, y, n_draws=20, random_state=0)
    assert time.perf_counter() - start < 120
    assert result.reported < 0.1
    assert not result.honest
    assert result.optimism > 0.4
    assert result.corrected == pytest.approx(0.5, abs=0.06)
    assert result.pvalue > 0.05
    assert "optimistic by" in result.sentence
    assert "no better than" in result.sentence


def test_finds_nothing_in_an_honest_pipeline():
    X, y = noise(p=1000)
    result = audit(chosen_inside_the_folds, X, y, n_draws=20, random_state=0)
    assert result.honest
    assert result.optimism < 0.05
    assert result.reported > 0.3
    assert "no sign of a leak" in result.sentence


def test_honest_and_right_about_real_signal():
    X, y = noise(n=60, p=50, seed=1)
    X[:, 0] += 4 * y
    result = audit(chosen_inside_the_folds, X, y, n_draws=20, random_state=0)
    assert result.honest
    assert result.reported < 0.2
    assert result.pvalue == pytest.approx(1 / 21)
    assert "is better than" in result.sentence


def test_false_alarms_of_honest_procedures_are_rare():
    def honest(X, y):
        fitted, tested = slice(0, 20), slice(20, None)
        centres = np.array([X[fitted][y[fitted] == c].mean(axis=0) for c in (0, 1)])
        nearest = ((X[tested, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        return (nearest != y[tested]).mean()

    rng = np.random.default_rng(2)
    alarms = 0
    for k in range(60):
        X, y = rng.normal(size=(40, 3)), rng.permutation(np.repeat([0, 1], 20))
        alarms += not audit(honest, X, y, n_draws=20, random_state=k).honest
    assert alarms <= 4


def test_no_information_rates_against_definition():
    X, y = np.zeros((10, 1)), np.array([0] * 7 + [1] * 3)
    assert audit(lambda X, y: 0.0, X, y).no_information == pytest.approx(0.3)
    values = np.linspace(0, 1, 10) ** 2
    assert audit(lambda X, y: 0.0, X, values).no_information == pytest.approx(np.var(values))
    by_median = np.abs(values - np.median(values)).mean()
    assert audit(lambda X, y: 0.0, X, values, loss="absolute").no_information == pytest.approx(by_median)
    assert audit(lambda X, y: 0.0, X, values, no_information=0.7).corrected == pytest.approx(0.7)
    assert audit(lambda X, y: 2.0, X, values).optimism == 0


def test_regression_leak():
    """Tuning on the test set: the best of many random directions, judged where it was chosen."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 200))
    y = rng.normal(size=30)

    def best_column(X, y):
        return min(np.mean((y - LinearRegression().fit(X[:, [j]], y).predict(X[:, [j]])) ** 2) for j in range(40))

    assert not audit(best_column, X, y, n_draws=10).honest


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1]),
        (pd.DataFrame({"a": range(6)}), pd.Series(list("ababab"), index=range(10, 16), dtype="category")),
        (sparse.csr_matrix(np.eye(6)), np.array([0, 1, 0, 1, 0, 1])),
        ([[0], [1], [2], [3], [4], [5]], ("x", "y", "x", "y", "x", "y")),
    ],
)
def test_labels_arrive_as_the_users_own_kind(X, y):
    seen = []

    def procedure(X, y):
        seen.append(y)
        return 0.5

    audit(procedure, X, y, n_draws=5)
    expected = list if isinstance(y, tuple) else type(y)
    assert all(isinstance(labels, expected | type(y)) for labels in seen)
    assert all(sorted(labels) == sorted(y) for labels in seen)
    if isinstance(y, pd.Series):
        assert all(labels.index.equals(y.index) and labels.dtype == y.dtype for labels in seen)


def test_groups_keep_their_labels_together():
    groups = np.repeat(np.arange(6), 3)
    y = np.repeat([0, 1, 0, 1, 0, 1], 3)
    seen = []

    def procedure(X, y):
        seen.append(y)
        return 0.5

    audit(procedure, np.zeros((18, 1)), y, n_draws=5, groups=groups)
    assert all((labels.reshape(6, 3) == labels.reshape(6, 3)[:, :1]).all() for labels in seen)


def test_results_speak():
    result = audit(lambda X, y: 0.2, np.zeros((20, 1)), np.repeat([0, 1], 10))
    assert result.sentence in str(result)
    assert result.to_dict()["optimism"] == pytest.approx(0.3)
    assert "<p>" in result._repr_html_()


@pytest.mark.parametrize("answer", [None, "0.1", [0.1, 0.2], (0.1,), np.array([0.1]), True, {"error": 0.1}])
def test_a_procedure_must_return_a_number(answer):
    with pytest.raises(ValueError, match="must return one number"):
        audit(lambda X, y: answer, np.zeros((6, 1)), [0, 1] * 3)


def test_a_procedure_must_return_a_finite_number():
    with pytest.raises(ValueError, match="finite"):
        audit(lambda X, y: np.nan, np.zeros((6, 1)), [0, 1] * 3)


def scale_in_place(X, y):
    X *= 2
    return 0.5


def sort_in_place(X, y):
    y.sort()
    return 0.5


def drop_column(X, y):
    del X["a"]
    return 0.5


@pytest.mark.parametrize(
    ("procedure", "X", "y", "name"),
    [
        (scale_in_place, np.ones((6, 1)), np.array([1, 0] * 3), "X"),
        (sort_in_place, np.ones((6, 1)), np.array([1, 0] * 3), "y"),
        (sort_in_place, np.ones((6, 1)), [1, 0] * 3, "y"),
        (drop_column, pd.DataFrame({"a": range(6), "b": 1}), np.array([1, 0] * 3), "X"),
        (scale_in_place, sparse.csr_matrix(np.eye(6)), np.array([1, 0] * 3), "X"),
    ],
)
def test_a_procedure_must_not_modify_its_arguments(procedure, X, y, name):
    with pytest.raises(ValueError, match=f"procedure modified {name}"):
        audit(procedure, X, y)


def test_bad_input():
    X, y = np.zeros((6, 1)), [0, 1] * 3
    with pytest.raises(TypeError, match="function"):
        audit("my procedure", X, y)
    with pytest.raises(ValueError, match="n_draws"):
        audit(lambda X, y: 0.5, X, y, n_draws=1)
    with pytest.raises(ValueError, match="equally many"):
        audit(lambda X, y: 0.5, X, y[:4])
    with pytest.raises(ValueError, match="no_information"):
        audit(lambda X, y: 0.5, X, y, loss="log")
    with pytest.raises(ValueError, match="for numbers"):
        audit(lambda X, y: 0.5, X, list("ababab"), loss="squared")


def test_imbalance_hides_no_leak():
    """With 25 % positives one neighbour errs more than the best constant, which made up for a leak."""
    n_neighbors = 1

    def leaky(X, y):
        best = SelectKBest(f_classif, k=5).fit_transform(X, y)
        return 1 - cross_val_score(KNeighborsClassifier(n_neighbors), best, y, cv=FOLDS).mean()

    def without_the_leak(X, y):
        inside = make_pipeline(SelectKBest(f_classif, k=5), KNeighborsClassifier(n_neighbors))
        return 1 - cross_val_score(inside, X, y, cv=FOLDS).mean()

    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 40)), rng.permutation(np.repeat([0, 1], [45, 15]))
        leak, fair = (audit(each, X, y, n_draws=20, random_state=seed) for each in (leaky, without_the_leak))
        found.append([leak.honest, fair.honest])
        assert leak.optimism > 0
        assert "random labels of equal classes" in leak.sentence
    assert not np.array(found)[:, 0].any()
    assert np.array(found)[:, 1].all()


def test_equal_classes_numbers_and_groups_are_not_balanced():
    X, y = noise(n=20, p=3)
    assert audit(lambda X, y: 0.5, X, y).balanced_draws is None
    assert audit(lambda X, y: 1.0, X, np.linspace(0, 1, 20) ** 2).balanced_draws is None
    unequal = np.repeat([0, 1], [15, 5])
    assert audit(lambda X, y: 0.5, X, unequal, groups=np.arange(20) // 2).balanced_draws is None
    seen = []
    found = audit(lambda X, y: seen.append(y.mean()) or 0.5, X, unequal, n_draws=7)
    assert len(found.balanced_draws) == 7
    assert seen == [0.25] * 8 + [0.5] * 7
