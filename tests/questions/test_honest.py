"""The error of a whole search, on labels that carry no information: the plain score of the best model is too good."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, Permutation, RiskCurve
from outsample.criteria.base import CRITERIA
from outsample.curve.left_out import LeftOut
from outsample.losses.pointwise import SquaredLoss, ZeroOneLoss
from outsample.questions.honest import corrected_for_choice

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
    with pytest.raises(ValueError, match=r'no interval that can be vouched for: .*use honest="bootstrap"'):
        search.honest_score_.interval()


def test_permutation_of_a_search_without_draws_reruns_it():
    X, y = load_diabetes(return_X_y=True)
    search = GridSearch(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, loss="squared", honest="permutation", random_state=0).fit(
        X, y
    )
    assert search.honest_score_.n_fits > 1
    assert search.honest_score_.out_sample > search.honest_score_.in_sample


def test_bad_requests():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"honest must be one of nested.*did you mean 'nested'"):
        GridSearch(Ridge(), {"alpha": [1.0]}, honest="nestd").fit(X, y)
    with pytest.raises(ValueError, match=r"honest='tibshirani' needs cross-validation, criterion 'loo'"):
        GridSearch(Ridge(), {"alpha": [1.0]}, honest="tibshirani").fit(X, y)


GRIDS = {
    "rows-and-labels": (DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": range(2, 20)}),
    "loo": (KNeighborsClassifier(), {"n_neighbors": range(1, 30)}),
    "race": (SVC(), {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.1, 1.0]}),
}


@pytest.mark.parametrize("taken", GRIDS)
def test_the_default_corrects_for_the_choice_without_further_fits(noise, taken):
    learner, grid = GRIDS[taken]
    searches = [GridSearch(learner, grid, random_state=i, refit=False).fit(X, y) for i, (X, y) in enumerate(noise[:8])]
    assert {search.curve_.criterion for search in searches} == {taken}
    plain = [search.estimate_.out_sample for search in searches]
    honest = [search.honest_score_.out_sample for search in searches]
    assert np.mean(honest) > np.mean(plain)
    assert np.mean(honest) == pytest.approx(0.5, abs=0.08)
    covered = [low <= 0.5 <= high for low, high in (search.honest_score_.interval(0.95) for search in searches)]
    assert np.mean(covered) > 0.8
    assert searches[0].honest_score_.out_sample == searches[0].honest_score_.out_sample


def curve_of(losses, loss):
    """A curve of models with these left-out losses."""
    table = LeftOut(losses)
    return RiskCurve(
        complexity=np.arange(float(len(losses))),
        params=[{"k": k} for k in range(len(losses))],
        in_sample=np.zeros(len(losses)),
        optimism=losses.mean(axis=1),
        out_sample=losses.mean(axis=1),
        loss=loss,
        criterion="loo",
        estimand="",
        n_fits=1,
        n_samples=losses.shape[1],
        standard_error=table.standard_error,
        left_out=table,
    )


def test_bias_correction_of_two_models_against_enumeration():
    """Three rows, two models that lose on one row each: all 27 bags, those without rows outside left away."""
    losses = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    outside = []
    for bag in itertools.product(range(3), repeat=3):
        left = [row for row in range(3) if row not in bag]
        if left:
            chosen = int(np.argmin(losses[:, list(bag)].sum(axis=1)))
            outside.append(losses[chosen, left].mean())
    curve = curve_of(losses, ZeroOneLoss())
    drawn = [corrected_for_choice(curve, 0, np.random.default_rng(seed)).out_sample for seed in range(40)]
    assert np.mean(drawn) == pytest.approx(np.mean(outside), abs=0.02)


def test_the_interval_knows_what_other_choices_would_lose():
    """Two models that are equally good, and one of them loses everything on a few rows: the search may choose it."""
    rng = np.random.default_rng(0)
    even = rng.normal(1.0, 0.1, size=200)
    losses = np.stack([even, np.where(np.arange(200) < 4, 60.0, 0.0) + rng.normal(0, 0.01, size=200)])
    curve = curve_of(losses, SquaredLoss())
    found = corrected_for_choice(curve, 0, np.random.default_rng(0))
    alone = corrected_for_choice(curve_of(losses[:1], SquaredLoss()), 0, np.random.default_rng(0))
    assert alone.standard_error == pytest.approx(curve.standard_error[0])
    assert found.standard_error > 5 * alone.standard_error
    assert found.telling_rows < 20 < alone.telling_rows


def test_label_criteria_have_no_rows_to_correct_with(noise):
    search = GridSearch(KNeighborsClassifier(), {"n_neighbors": [3, 5]}, criterion="permutation").fit(*noise[0])
    assert not hasattr(search, "honest_score_")
    with pytest.raises(AttributeError, match="honest_score_ needs losses of rows left out"):
        search.honest_score_


def test_one_candidate_is_not_corrected():
    losses = np.random.default_rng(0).exponential(size=(1, 50))
    for table in (losses, np.repeat(losses, 3, axis=0)):
        found = corrected_for_choice(curve_of(table, SquaredLoss()), 0, np.random.default_rng(0))
        assert found.out_sample == pytest.approx(losses.mean(), rel=1e-12)


def test_a_candidate_that_a_race_dropped_is_no_better_than_the_chosen_one():
    """On the only fold it met it lost less than the winner, but more than another one that lost to the winner later."""
    rng = np.random.default_rng(0)
    winner = rng.exponential(size=100)
    dropped = np.where(np.arange(100) < 10, winner - 0.1, np.nan)
    curve = curve_of(np.stack([winner, dropped]), SquaredLoss())
    curve = replace(curve, out_sample=np.nanmean([winner, dropped], axis=1))
    found = corrected_for_choice(curve, 0, np.random.default_rng(0))
    assert found.out_sample == pytest.approx(winner.mean(), rel=1e-3)


def test_rows_of_a_group_are_in_a_bag_together():
    """Repeating every row five times and naming the copies a group changes the correction by chance of bags only."""
    losses = (np.random.default_rng(0).random((20, 40)) < 0.5).astype(float)
    best = int(losses.mean(axis=1).argmin())

    def correction(table, groups):
        drawn = [np.random.default_rng(seed) for seed in range(5)]
        found = [corrected_for_choice(curve_of(table, ZeroOneLoss()), best, rng, groups).out_sample for rng in drawn]
        return np.mean(found) - losses[best].mean()

    alone, copies = correction(losses, None), np.repeat(losses, 5, axis=1)
    assert correction(copies, np.repeat(np.arange(40), 5)) == pytest.approx(alone, rel=0.1)
    assert correction(copies, None) < 0.7 * alone
