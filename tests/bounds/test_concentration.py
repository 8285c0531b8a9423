"""The three concentration inequalities against simulations of functions they are for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from outsample import bounds


def test_mcdiarmid_against_the_binomial_distribution():
    n = 40
    for t in (0.05, 0.1, 0.2, 0.4):
        truth = stats.binom.sf(math.ceil(n * (0.3 + t) - 1e-9) - 1, n, 0.3)
        assert truth <= bounds.mcdiarmid_tail(t, np.full(n, 1 / n))


def test_mcdiarmid_deviation_is_the_inverse_of_the_tail():
    c = np.array([0.1, 0.2, 0.05])
    t = bounds.mcdiarmid_deviation(c, 0.07)
    assert bounds.mcdiarmid_tail(t, c) == pytest.approx(0.07)
    # Hoeffding's inequality for a mean of m losses in [0, 1], as in `holdout_bound`.
    assert bounds.mcdiarmid_deviation(np.full(50, 1 / 50), 0.05) == pytest.approx(math.sqrt(math.log(20) / 100))


def distinct_values(rng, n, kinds, reps):
    """The number of different values among n draws: self-bounding, monotone and subadditive."""
    return np.array([len(np.unique(rng.integers(0, kinds, n))) for _ in range(reps)])


@pytest.mark.parametrize("t", [1.0, 2.0, 4.0])
def test_self_bounding_tails_by_simulation(t):
    found = distinct_values(np.random.default_rng(0), 20, 30, 4000)
    mean = 30 * (1 - (1 - 1 / 30) ** 20)
    error = 3 * math.sqrt(0.25 / 4000)
    assert np.mean(found >= mean + t) <= bounds.self_bounding_upper_tail(t, mean) + error
    assert np.mean(found <= mean - t) <= bounds.self_bounding_lower_tail(t, mean) + error


def test_self_bounding_tails_hold_for_poisson_like_sums():
    # A sum of n rare events is self-bounding and nearly Poisson, for which the upper tail is nearly sharp.
    n, p = 500, 0.01
    for t in (2, 5, 10):
        assert stats.binom.sf(n * p + t - 1, n, p) <= bounds.self_bounding_upper_tail(t, n * p)
        assert stats.binom.cdf(n * p - t, n, p) <= bounds.self_bounding_lower_tail(t, n * p)


def test_subadditive_tail_against_the_binomial_distribution():
    # The sum of n events of probability p: symmetric, monotone, subadditive, with values in [0, n].
    n, p = 200, 0.005
    for t in (13, 20, 40):
        assert stats.binom.sf(t, n, p) <= bounds.subadditive_tail(t, n * p)
    assert bounds.subadditive_tail(5, n * p) == 1.0


def test_tails_against_their_formulas():
    assert bounds.self_bounding_upper_tail(6.0, 10.0) == pytest.approx(math.exp(-36 / 24))
    assert bounds.self_bounding_lower_tail(6.0, 10.0) == pytest.approx(math.exp(-36 / 20))
    assert bounds.subadditive_tail(40.0, 2.0) == pytest.approx(math.exp(-20 * math.log(2)))


def test_a_function_that_is_not_negative_is_never_farther_below_its_mean():
    assert bounds.self_bounding_lower_tail(10.5, 10.0) == 0.0
    assert bounds.self_bounding_lower_tail(0.2, 0.0) == 0.0
    assert bounds.self_bounding_lower_tail(10.0, 10.0) == pytest.approx(math.exp(-5))


def test_variables_that_change_nothing_do_not_count():
    assert bounds.mcdiarmid_deviation([0.0, 0.5], 0.1) == bounds.mcdiarmid_deviation([0.5], 0.1)
    for differences in ([-0.5, 1.0], [math.inf], [math.nan, 1.0]):
        with pytest.raises(ValueError, match="differences must be"):
            bounds.mcdiarmid_deviation(differences)


def test_bad_input_is_named():
    for tail in (bounds.self_bounding_upper_tail, bounds.self_bounding_lower_tail, bounds.subadditive_tail):
        with pytest.raises(ValueError, match="t must be positive and finite"):
            tail([1.0, 0.0], 1.0)
        with pytest.raises(ValueError, match="mean must be finite and not negative"):
            tail(1.0, [1.0, -1.0])
        assert np.isfinite(tail(1.0, [0.0, 0.5])).all()
    for t in (0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="t must be positive and finite"):
            bounds.self_bounding_upper_tail(t, 1.0)
    with pytest.raises(ValueError, match="differences must be"):
        bounds.mcdiarmid_deviation([0.0])
    with pytest.raises(ValueError, match="mean must be finite and not negative"):
        bounds.self_bounding_upper_tail(1.0, -1.0)
