"""Confidence sets for the best model, from tables of losses whose truth is known."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from outsample.curve.plausible import plausible_by_folds, plausible_models

DATA_SETS = 60


def table(kind, gaps, n, rng, alike=0.9):
    """Losses of models whose risks grow with `gaps` (in standard deviations of the latent values)."""
    noise = np.sqrt(alike) * rng.standard_normal(n) + np.sqrt(1 - alike) * rng.standard_normal((len(gaps), n))
    if kind == "zero-one":
        return (noise + gaps[:, None] > stats.norm.ppf(0.8)).astype(float)
    return np.square(noise * np.exp(gaps / 2)[:, None])


SHAPES = {
    "ties": np.zeros(12),
    "near-ties": np.arange(12) * 0.03,
    "clear winner": np.r_[0.0, np.full(11, 0.6)],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["zero-one", "squared"])
def test_contains_the_best_as_often_as_it_says(kind, shape):
    """The level holds without widening, where rows are independent; four Monte-Carlo errors are allowed."""
    rng, gaps = np.random.default_rng(0), SHAPES[shape]
    found = np.array([plausible_models(table(kind, gaps, 150, rng), widening=1.0) for _ in range(DATA_SETS)])
    allowed = 4 * np.sqrt(0.95 * 0.05 / DATA_SETS)
    assert found[:, 0].mean() >= 0.95 - allowed
    if shape == "ties":
        assert abs(found.mean() - 0.95) < allowed
    if shape == "clear winner":
        assert found.sum(axis=1).mean() < 2


def test_a_clear_winner_is_alone_by_default():
    rng = np.random.default_rng(1)
    assert plausible_models(table("zero-one", SHAPES["clear winner"], 400, rng)).tolist() == [True] + [False] * 11


def test_few_rows_that_differ_prove_nothing_against_the_sign_test():
    """Two classifiers that differ on k rows, all in favour of one: a sign test has p = 2^-k."""
    for k, may_be_best in {3: True, 4: True, 5: False, 8: False}.items():
        losses = np.zeros((2, 200))
        losses[1, :k] = 1.0
        assert plausible_models(losses, widening=1.0).tolist() == [True, may_be_best]


def test_order_of_rows_and_models_and_copies_do_not_matter():
    rng = np.random.default_rng(2)
    losses = table("squared", np.arange(9) * 0.1, 120, rng)
    found = plausible_models(losses)
    models, rows = rng.permutation(9), rng.permutation(120)
    assert np.array_equal(plausible_models(losses[models][:, rows]), found[models])
    assert np.array_equal(plausible_models(losses[[*range(9), 3, 3]]), found[[*range(9), 3, 3]])
    assert np.array_equal(plausible_models(7 * losses + 100), found)


def test_models_are_compared_on_the_rows_that_both_have():
    rng = np.random.default_rng(3)
    losses = table("squared", np.r_[0.0, 0.0, 1.5, 1.5], 200, rng)
    losses[1:3, 100:] = np.nan
    assert plausible_models(losses).tolist() == [True, True, False, False]
    few = losses.copy()
    few[2, 4:] = np.nan
    assert plausible_models(few)[2], "four rows are no evidence"
    gone = losses.copy()
    gone[2] = np.nan
    assert not plausible_models(gone)[2], "nothing is known of it"


def test_rows_of_a_group_count_once():
    """A hundred copies of each of four rows are four rows."""
    losses = np.repeat(np.array([[0.0, 0, 0, 0], [1.0, 1, 1, 1]]), 100, axis=1)
    assert plausible_models(losses).tolist() == [True, False]
    assert plausible_models(losses, groups=np.repeat(list("abcd"), 100)).tolist() == [True, True]


def test_weights_of_zero_leave_rows_out():
    rng = np.random.default_rng(4)
    losses = table("squared", np.arange(6) * 0.2, 80, rng)
    weight = np.r_[np.ones(60), np.zeros(20)]
    assert np.array_equal(plausible_models(losses, weight), plausible_models(losses[:, :60]))


def test_many_models_with_holes_of_their_own():
    rng = np.random.default_rng(5)
    losses = table("squared", np.r_[np.zeros(3), np.full(37, 2.0)], 300, rng)
    losses[rng.random(losses.shape) < 0.01] = np.nan
    assert plausible_models(losses).tolist() == [True] * 3 + [False] * 37


def test_folds_as_units_against_students_test():
    """Two models: the test of Nadeau & Bengio, one-sided."""
    rng = np.random.default_rng(6)
    for shift in (0.0, 0.5, 1.0, 1.5, 3.0):
        risks = rng.standard_normal((10, 2)) + np.array([0.0, shift])
        apart = risks[:, 1] - risks[:, 0]
        step = apart.mean() / (apart.std(ddof=1) * np.sqrt(1 / 10 + 1 / 9))
        expected = [stats.t.sf(-step, 9) > 0.05, stats.t.sf(step, 9) > 0.05]
        assert plausible_by_folds(risks, 1 / 9).tolist() == expected


def test_one_model_and_failed_models():
    assert plausible_models(np.array([[0.1, 0.2]])).tolist() == [True]
    assert plausible_models(np.full((2, 3), np.nan)).tolist() == [False, False]
    assert plausible_by_folds(np.array([[0.1, np.nan], [0.2, np.nan]]), 1.0).tolist() == [True, False]


def test_the_work_grows_with_the_number_of_models_not_with_its_square():
    """Counted in memory, which every number that is computed takes: sixteen times as many models."""

    def peak(models):
        losses = np.add.outer(np.linspace(0, 1, models), np.zeros(60)) * np.random.default_rng(0).random(60)
        tracemalloc.start()
        plausible_models(losses)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(16_000) < 20 * peak(1000)


@pytest.mark.parametrize("kind", ["zero-one", "squared"])
def test_many_models_keep_the_level_and_leave_out_whom_they_should(kind):
    """Three hundred ties, more than are tested against each other: each stays in the set in 95 % of tables."""
    rng = np.random.default_rng(5)
    found = np.array([plausible_models(table(kind, np.zeros(300), 80, rng), widening=1.0) for _ in range(20)])
    assert found.mean() > 0.93
    gaps = np.r_[np.zeros(3), np.full(297, 0.3)]
    behind = np.array([plausible_models(table(kind, gaps, 400, rng), widening=1.0) for _ in range(5)])
    assert behind[:, :3].all()
    assert behind[:, 3:].mean() < 0.3


def test_a_path_of_many_models_has_the_set_of_all_its_pairs(monkeypatch):
    """Models side by side lose nearly alike: those that stand for them tell what all of them together would."""
    from outsample.curve import plausible

    rng = np.random.default_rng(2)
    x, noise = rng.standard_normal(150), rng.standard_normal(150)
    losses = np.square(noise + x - np.linspace(-1, 3, 400)[:, None] * x)
    some = plausible_models(losses)
    monkeypatch.setattr(plausible, "MOST_RIVALS", 400)
    assert np.mean(some != plausible_models(losses)) < 0.02
    assert 0.05 < some.mean() < 0.95
