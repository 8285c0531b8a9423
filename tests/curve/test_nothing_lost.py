"""Where no row lost anything there is an interval by the rule of three, or a refusal in one sentence: never a point."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

import outsample

rng = np.random.default_rng(0)
APART = np.r_[rng.normal(size=(30, 2)) - 30, rng.normal(size=(30, 2)) + 30]
TWO, THREE = np.repeat([0, 1], 30), np.r_[np.repeat([0, 1], 15), np.full(30, 2)]
LINE = rng.normal(size=(60, 2))
EXACT = LINE @ [1.0, -2.0]


def twice_as_far(y, prediction):
    return 2 * np.abs(y - prediction)


@pytest.mark.parametrize("groups", [None, np.arange(60) // 3])
@pytest.mark.parametrize(("loss", "y", "worst"), [("zero-one", TWO, 1), ("neg_brier_score", TWO, 1)])
def test_rule_of_three_where_a_row_can_lose_so_much_at_most(loss, y, worst, groups):
    model, units = GaussianNB(), 60 if groups is None else 20
    found = outsample.estimate(model, APART, y, loss=loss, groups=groups, random_state=0)
    evaluated = outsample.evaluate(model.fit(APART, y), APART, y, loss=loss, groups=groups)
    search = outsample.GridSearch(model, {"var_smoothing": [1e-9, 1e-8]}, loss=loss, random_state=0)
    honest = search.fit(APART, y, **({} if groups is None else {"groups": groups})).honest_score_
    for estimate in (found, evaluated, honest):
        low, high = estimate.interval(0.95)
        assert high - low >= 3 / units * worst
        assert high - low <= 11 / units * worst
    exact = worst * (1 - 0.025 ** (1 / units))
    assert np.ptp(evaluated.interval(0.95)) == pytest.approx(exact, abs=1e-5)


def test_a_row_of_three_classes_can_lose_two_by_the_brier_score():
    spread = APART + np.outer(THREE == 1, [0, 300])
    found = outsample.evaluate(GaussianNB().fit(spread, THREE), spread, THREE, loss="neg_brier_score")
    assert found.interval(0.95) == pytest.approx((-2 * (1 - 0.025 ** (1 / 60)), 0), abs=1e-5)


@pytest.mark.parametrize("loss", ["squared", "absolute", "r2", "neg_root_mean_squared_error", twice_as_far])
def test_refusal_where_nothing_limits_what_a_row_of_numbers_may_lose(loss):
    found = outsample.estimate(LinearRegression(), LINE, EXACT, loss=loss, random_state=0)
    with pytest.raises(ValueError, match=r"no row lost anything|all rows lost the same"):
        found.interval()
    if loss is not twice_as_far:
        evaluated = outsample.evaluate(LinearRegression().fit(LINE, EXACT), LINE, EXACT, loss=loss)
        with pytest.raises(ValueError, match="no row lost anything"):
            evaluated.interval()


@pytest.mark.parametrize("loss", ["log", "neg_log_loss", "d2_brier_score", "d2_log_loss_score"])
def test_refusal_where_nothing_limits_what_a_row_of_classes_may_lose(loss):
    for found in (
        outsample.estimate(GaussianNB(), APART, TWO, loss=loss, random_state=0),
        outsample.evaluate(GaussianNB().fit(APART, TWO), APART, TWO, loss=loss),
    ):
        with pytest.raises(ValueError, match="no row lost anything"):
            found.interval()


def test_small_losses_in_small_units_are_losses():
    """What is nothing is told by the labels' own size."""
    y = 1e-9 * (EXACT + rng.normal(size=60))
    found = outsample.estimate(LinearRegression(), LINE, y, loss="squared", random_state=0)
    low, high = found.interval()
    assert 0 < low < found.out_sample < high
