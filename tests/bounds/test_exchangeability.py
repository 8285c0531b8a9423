"""Empirical distribution and quantile functions, and the two inequalities of exchangeable values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from outsample import empirical_distribution, empirical_quantile

LEVELS = np.linspace(0, 1, 41)


def share_below(values, alpha):
    """P[S_N ≤ q(α)] over all orders of the values, which are equally likely."""
    orders = list(itertools.permutations(values))
    return np.mean([order[-1] <= empirical_quantile(order, alpha) for order in orders])


@pytest.mark.parametrize("values", [(0.3, 1.0, -2.0, 5.0, 5.5), (1.0, 1.0, 2.0, 2.0, 2.0), (0.0,)])
def test_first_inequality_against_enumeration(values):
    for alpha in LEVELS[1:]:
        assert share_below(values, alpha) >= alpha - 1e-12


def test_second_inequality_of_distinct_values_against_enumeration():
    values = (0.3, 1.0, -2.0, 5.0, 5.5)
    for alpha in LEVELS[1:]:
        assert share_below(values, alpha) <= alpha + 1 / 5 + 1e-12
    # Ties break it: all of four equal values are below any quantile.
    assert share_below((1.0,) * 4, 0.1) == 1.0 > 0.1 + 1 / 4


def test_quantile_is_the_inverse_of_the_distribution():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 10, 30).astype(float)
    for alpha in LEVELS[1:]:
        t = empirical_quantile(values, alpha)
        assert empirical_distribution(values, t) >= alpha - 1e-12
        assert empirical_distribution(values, t - 1e-9) < alpha
    ordered = np.sort(rng.normal(size=7))
    np.testing.assert_array_equal(empirical_quantile(ordered, np.arange(1, 8) / 7), ordered)


def test_distribution_against_counting():
    values, t = np.array([2.0, -1.0, 2.0]), np.linspace(-2, 3, 11)
    np.testing.assert_allclose(empirical_distribution(values, t), [(values <= x).mean() for x in t])
    assert empirical_quantile(values, 0.0) == -np.inf
    # Any level above 0, however small, is reached at the least value.
    np.testing.assert_array_equal(empirical_quantile(values, [1e-10, 1e-300]), [-1.0, -1.0])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        empirical_quantile([1.0], 1.2)
    with pytest.raises(ValueError, match="values must be one or more"):
        empirical_distribution([], 0.0)
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        empirical_quantile([1.0], [0.5, -0.1])
    with pytest.raises(ValueError, match="values must be one or more"):
        empirical_distribution([1.0, np.nan], 0.0)
