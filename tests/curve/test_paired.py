"""Differences between two models, against other programs and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from outsample.curve.intervals import difference_of_folds, difference_of_rows, holm, widening
from outsample.data.stability import share_of_training


def test_rows_against_the_paired_t_test():
    """Without widening, and with differences that all tell about the same: the t statistic of scipy."""
    rng = np.random.default_rng(0)
    first, second = rng.random(400), rng.random(400)
    found, known = difference_of_rows(first, second, None, None, 1.0), stats.ttest_rel(first, second)
    assert found.value == pytest.approx((first - second).mean())
    assert found.value / found.error == pytest.approx(known.statistic)
    assert found.pvalue == pytest.approx(known.pvalue, rel=0.05)
    low, high = known.confidence_interval(0.95)
    assert found.interval() == pytest.approx((low, high), rel=0.05)


def test_folds_against_nadeau_and_bengio():
    """Their corrected resampled t statistic, written out."""
    rng = np.random.default_rng(1)
    first, second = rng.random(10), rng.random(10)
    apart = first - second
    statistic = apart.mean() / np.sqrt(apart.var(ddof=1) * (1 / 10 + 1 / 9))
    found = difference_of_folds(first, second, 1 / 9)
    assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(statistic), 9))


def test_widening_is_theirs_row_by_row():
    """n tested rows and m training rows: σ² (1/n + 1/m), which for ten folds is their (1/K + 1/9) of fold means."""
    assert widening(100, 90) ** 2 / 100 == pytest.approx((1 / 10 + 1 / 9) / 10)


def test_models_that_never_differ_and_one_row_that_does():
    same = difference_of_rows(np.ones(50), np.ones(50), None, None, 1.4)
    assert (same.value, same.pvalue, same.interval()) == (0.0, 1.0, (0.0, 0.0))
    one = np.ones(50)
    one[3] = 0.0
    found = difference_of_rows(np.ones(50), one, None, None, 1.4)
    assert found.pvalue > 0.2
    shifted = difference_of_rows(np.ones(50), np.zeros(50), None, None, 1.4)
    assert shifted.pvalue < 1e-3


def test_weights_and_groups():
    rng = np.random.default_rng(2)
    first, second = rng.random(60), rng.random(60)
    half = np.r_[np.ones(30), np.zeros(30)]
    weighted = difference_of_rows(first, second, half, None, 1.0)
    alone = difference_of_rows(first[:30], second[:30], None, None, 1.0)
    assert weighted.value == pytest.approx(alone.value)
    assert weighted.error == pytest.approx(alone.error)
    copies = difference_of_rows(np.repeat(first, 5), np.repeat(second, 5), None, np.repeat(np.arange(60), 5), 1.0)
    whole = difference_of_rows(first, second, None, None, 1.0)
    assert copies.error == pytest.approx(whole.error)


def test_holm_against_scipys_neighbours():
    """Written out for four p-values, in any order."""
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.9, 0.8])).max() == 1.0


def left_out_losses(n, second_noise, rng):
    """Losses of two linear models on the rows of ten folds, (2, n) squared and (2, n) zero-one.

    Each sees three columns of its own, of the same joint distribution with y, but for noise added to the second three.
    """
    X = rng.standard_normal((n, 6))
    y = X.sum(axis=1) + X[:, 1] * X[:, 2] + X[:, 4] * X[:, 5] + 2 * rng.standard_normal(n)
    X[:, 3:] += second_noise * rng.standard_normal((n, 3))
    squared, wrong = np.empty((2, n)), np.empty((2, n))
    fold = rng.permutation(np.arange(n) % 10)
    for k in range(10):
        train, test = fold != k, fold == k
        for i, columns in enumerate((slice(0, 3), slice(3, 6))):
            A = np.c_[np.ones(n), X[:, columns]]
            squared[i, test] = np.square(y[test] - A[test] @ np.linalg.lstsq(A[train], y[train], rcond=None)[0])
            side = np.linalg.lstsq(A[train], np.sign(y[train]), rcond=None)[0]
            wrong[i, test] = np.sign(A[test] @ side) != np.sign(y[test])
    return squared, wrong


def rejected(n, second_noise, data_sets, share):
    """(share of p-values below .05 by squared and by zero-one loss, mean differences)."""
    factor, found = widening(n, 0.9 * n, share), []
    for seed in range(data_sets):
        both = left_out_losses(n, second_noise, np.random.default_rng([n, seed]))
        apart = [difference_of_rows(*losses, None, None, factor) for losses in both]
        found.append([[each.pvalue < 0.05 for each in apart], [each.value for each in apart]])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("n", [50, 100, 300])
def test_equally_good_linear_models_are_told_apart_as_often_as_the_level_says(n):
    often, _ = rejected(n, 0.0, 300, share_of_training(LinearRegression()))
    assert (often > 0.005).all()
    assert (often < 0.08).all(), "three standard errors above .05 are .088"
    assert 0.02 < often.mean() < 0.065


def test_a_true_difference_is_found_more_often_than_with_the_whole_correction():
    share = share_of_training(LinearRegression())
    often, gaps = rejected(100, 1.0, 150, share)
    whole, _ = rejected(100, 1.0, 150, 1.0)
    assert -0.12 < gaps[1] < -0.04
    assert (often > 1.5 * whole).all()


def test_unstable_learners_need_more_of_the_correction():
    assert share_of_training(LinearRegression()) < share_of_training(DecisionTreeClassifier()) < 1
