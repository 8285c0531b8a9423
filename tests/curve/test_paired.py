"""Differences between two models, against other programs and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from outsample.curve.paired import difference_of_folds, difference_of_rows, holm, widening


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
