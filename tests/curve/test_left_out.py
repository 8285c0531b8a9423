"""The table of left-out losses: filled by every criterion that leaves rows out, and read the same way from each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, TimeSeriesSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from outsample import Bootstrap, CrossValidation, GridSearch, HoldOut, LeaveOneOut, NestedCrossValidation
from outsample.criteria.base import as_criterion
from outsample.curve.left_out import LeftOut
from outsample.problem import pose

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:120], Y[:120]


def table(criterion, estimator=None, **options):
    problem = pose(estimator or Ridge(), X, Y, random_state=0, **options)
    curve = as_criterion(criterion).curve(problem)
    return curve, curve.left_out


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2, 120)])
def test_losses_of_folds_against_cross_val_predict(fast, weight):
    params = {} if weight is None else {"sample_weight": weight}
    _, found = table(CrossValidation(KFold(5)), sample_weight=weight, fast=fast)
    expected = np.square(Y - cross_val_predict(Ridge(), X, Y, cv=KFold(5), params=params))
    np.testing.assert_allclose(found.losses[0], expected, rtol=1e-8)
    np.testing.assert_array_equal(found.fold, np.repeat(np.arange(5), 24))
    assert found.weight is weight or (found.weight == weight).all()


@pytest.mark.parametrize(
    "criterion", ["loo", LeaveOneOut(30), "alo", "bootstrap", "holdout", HoldOut(0.3), CrossValidation(KFold(4))]
)
def test_the_mean_of_the_table_is_the_estimate(criterion):
    curve, found = table(criterion)
    np.testing.assert_allclose(found.risk, curve.out_sample, rtol=1e-12)


@pytest.mark.parametrize("criterion", ["loo", "alo", "holdout"])
def test_the_spread_of_the_table_is_the_standard_error(criterion):
    curve, found = table(criterion)
    np.testing.assert_allclose(found.standard_error, curve.standard_error, rtol=1e-12)


@pytest.mark.parametrize(
    "criterion", ["kfold", "632", "632+", "nested-kfold", "rows-and-labels", NestedCrossValidation(4, 2), Bootstrap(20)]
)
@pytest.mark.parametrize("learner", [DecisionTreeClassifier(random_state=0), LogisticRegression(max_iter=5000)])
def test_every_criterion_that_leaves_rows_out_fills_it(criterion, learner):
    features, labels = load_breast_cancer(return_X_y=True)
    problem = pose(make_pipeline(StandardScaler(), learner), features[:150], labels[:150], random_state=0)
    found = as_criterion(criterion).curve(problem).left_out
    assert found.losses.shape == (1, 150)
    assert ((found.losses >= 0) & (found.losses <= 1)).all()


def test_rows_that_were_never_left_out_are_holes():
    _, found = table(CrossValidation(TimeSeriesSplit(3)))
    assert np.isnan(found.losses[0, :30]).all()
    assert np.isfinite(found.losses[0, 30:]).all()
    np.testing.assert_array_equal(np.unique(found.fold), [-1, 0, 1, 2])


def test_rows_that_were_left_out_often_have_their_mean_loss():
    splits = RepeatedKFold(n_splits=4, n_repeats=3, random_state=0)
    _, found = table(CrossValidation(splits))
    total = np.zeros(len(Y))
    for train, test in splits.split(X):
        total[test] += np.square(Y[test] - Ridge().fit(X[train], Y[train]).predict(X[test]))
    np.testing.assert_allclose(found.losses[0], total / 3, rtol=1e-10)
    assert found.fold is None
    assert table(CrossValidation(ShuffleSplit(3, random_state=0)))[1].fold is None


def test_rows_of_scorers_of_whole_sets_have_the_risks_of_their_folds_in_the_mean():
    _, found = table(CrossValidation(4), loss="r2")
    means = [found.losses[0, found.fold == k].mean() for k in range(4)]
    np.testing.assert_allclose(found.fold_risks[:, 0], means, rtol=1e-9)


def test_labels_that_are_drawn_leave_no_row_out():
    assert table("permutation")[0].left_out is None


def test_the_difference_of_two_models_against_the_paired_t_test():
    rng = np.random.default_rng(0)
    losses = rng.standard_normal((3, 50))
    losses[1, 40:] = np.nan
    mean, error = LeftOut(losses).difference(0, 1)
    expected = stats.ttest_rel(losses[0, :40], losses[1, :40])
    assert mean / error == pytest.approx(expected.statistic, rel=1e-12)


def test_joined_and_taken_apart_again():
    first, second = LeftOut(np.ones((2, 5))), LeftOut(np.zeros((1, 5)))
    whole = LeftOut.joined([first, second])
    np.testing.assert_array_equal(whole.take(np.array([2, 0])).losses, [[0] * 5, [1] * 5])
    assert LeftOut.joined([first, None]) is None
    assert np.isnan(whole.unknown(2).losses).all()


def test_a_table_that_is_too_large_is_not_kept(monkeypatch):
    monkeypatch.setattr("outsample.curve.left_out.LARGEST_TABLE", 14)
    assert LeftOut.joined([LeftOut(np.ones((2, 5))), LeftOut(np.zeros((1, 5)))]).losses is None
    monkeypatch.setattr("outsample.evidence.rows.LARGEST_TABLE", 100)
    curve, found = table(CrossValidation(KFold(4)))
    assert found.losses is None
    np.testing.assert_allclose(found.fold_risks.mean(axis=0), curve.out_sample, rtol=1e-12)


@pytest.mark.parametrize("criterion", ["alo", "loo", "bootstrap", "rows-and-labels"])
def test_estimates_and_error_bars_do_not_need_a_table_that_is_kept(criterion, monkeypatch):
    usual, _ = table(criterion)
    monkeypatch.setattr("outsample.curve.left_out.LARGEST_TABLE", 100)
    curve, found = table(criterion)
    assert found.losses is None
    np.testing.assert_array_equal(curve.out_sample, usual.out_sample)
    np.testing.assert_array_equal(curve.standard_error, usual.standard_error)


def test_a_search_keeps_the_table_of_all_its_candidates():
    grid = {"alpha": [0.1, 1.0, 10.0], "positive": [False, True]}
    search = GridSearch(Ridge(), grid, criterion=CrossValidation(3), loss="squared")
    curve = search.fit(X, Y).curve_
    assert curve.left_out.losses.shape == (6, 120)
    by_fold = [curve.left_out.losses[:, curve.left_out.fold == k].mean(axis=1) for k in range(3)]
    np.testing.assert_allclose(curve.fold_risks, by_fold, rtol=1e-12)
