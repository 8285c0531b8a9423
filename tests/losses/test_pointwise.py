"""Both verbs of every loss: on numbers computed by hand, and against the double loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from outsample.losses import base, pointwise
from outsample.losses.pointwise import AbsoluteLoss, CallableLoss, LogLoss, MatrixLoss, SquaredLoss, ZeroOneLoss

COST = [[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [5.0, 3.0, -1.0]]


def pinball(y, prediction):
    return np.where(y > prediction, 0.9, 0.1) * np.abs(y - prediction)


def disagreement(y, prediction):
    return (y != prediction).astype(float)


def shares(rng, *shape):
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def cases():
    """name → (loss, labels of n rows, predictions with two leading axes)."""
    rng = np.random.default_rng(0)
    n, lead = 9, (2, 3)
    codes, guesses = rng.integers(0, 3, n), rng.integers(0, 3, (*lead, n))
    real, values = rng.normal(size=n).round(1), rng.normal(size=(*lead, n)).round(1)
    several, tables = rng.normal(size=(n, 2)), rng.normal(size=(*lead, n, 2))
    names = np.array(["ant", "bee", "cat"])
    return {
        "squared": (SquaredLoss(), real, values),
        "squared, two outputs": (SquaredLoss().for_labels(None, 2), several, tables),
        "absolute": (AbsoluteLoss(), real, values),
        "absolute, two outputs": (AbsoluteLoss().for_labels(None, 2), several, tables),
        "zero-one": (ZeroOneLoss(), codes, guesses),
        "matrix": (MatrixLoss(COST), codes, guesses),
        "log": (LogLoss(), codes, shares(rng, *lead, n, 3)),
        "function": (CallableLoss(pinball), real, values),
        "function of names": (CallableLoss(disagreement).for_labels(names, 1), codes, guesses),
    }


def double_loop(loss, pool, prediction, weight):
    """The definition: every label against every prediction, one pair at a time."""
    n = prediction.shape[0]
    weight = np.ones(n) if weight is None else weight
    pairs = [[loss.pointwise(label[None], prediction[[i]])[0] for label in pool] for i in range(n)]
    return float(weight @ np.mean(pairs, axis=1) / weight.sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pool_size", [9, 4])
@pytest.mark.parametrize("name", cases())
def test_crossed_mean_against_double_loop(name, pool_size, weighted):
    loss, y, prediction = cases()[name]
    weight = np.random.default_rng(1).uniform(0.1, 3, len(y)) if weighted else None
    pool = y[:pool_size]
    crossed = loss.crossed_mean(pool, prediction, weight)
    assert crossed.shape == (2, 3)
    for index in np.ndindex(2, 3):
        assert crossed[index] == pytest.approx(double_loop(loss, pool, prediction[index], weight), abs=1e-13)


@pytest.mark.parametrize("name", cases())
def test_leading_axes_give_the_bits_of_single_predictions(name):
    loss, y, prediction = cases()[name]
    weight = np.random.default_rng(2).uniform(0.1, 3, len(y))
    pointwise, risk = loss.pointwise(y, prediction), loss.risk(y, prediction, weight)
    crossed = loss.crossed_mean(y, prediction, weight)
    assert pointwise.shape == (2, 3, 9)
    for index in np.ndindex(2, 3):
        np.testing.assert_array_equal(pointwise[index], loss.pointwise(y, prediction[index]))
        assert risk[index] == loss.risk(y, prediction[index], weight)
        assert crossed[index] == loss.crossed_mean(y, prediction[index], weight)


@pytest.mark.parametrize("name", cases())
def test_risk_is_the_weighted_mean_of_pointwise(name):
    loss, y, prediction = cases()[name]
    weight = np.arange(1.0, 10.0)
    expected = np.average(loss.pointwise(y, prediction), axis=-1, weights=weight)
    np.testing.assert_allclose(loss.risk(y, prediction, weight), expected, atol=1e-14)
    np.testing.assert_allclose(loss.risk(y, prediction), loss.pointwise(y, prediction).mean(axis=-1), atol=1e-14)


def test_squared_by_hand():
    y, guess = np.array([0.0, 2.0, 4.0]), np.array([1.0, 1.0, 1.0])
    np.testing.assert_array_equal(SquaredLoss().pointwise(y, guess), [1, 1, 9])
    assert SquaredLoss().risk(y, guess, np.array([1.0, 2.0, 1.0])) == 3.0
    assert SquaredLoss().crossed_mean(y, guess) == pytest.approx(11 / 3)
    both = SquaredLoss().for_labels(None, 2)
    assert both.pointwise(np.array([[1.0, 2.0]]), np.array([[3.0, 2.0]])).tolist() == [2.0]


def test_absolute_by_hand():
    y, guess = np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.0, 3.0])
    assert AbsoluteLoss().pointwise(y, guess).tolist() == [1, 0, 2]
    assert AbsoluteLoss().crossed_mean(y, guess) == pytest.approx((5 / 3 + 5 / 3 + 7 / 3) / 3)


def test_zero_one_by_hand():
    y, guess = np.array(["a", "a", "b", "c"]), np.array(["a", "b", "b", "b"])
    assert ZeroOneLoss().pointwise(y, guess).tolist() == [0, 1, 0, 1]
    assert ZeroOneLoss().crossed_mean(y, guess) == pytest.approx(1 - (2 / 4 * 1 / 4 + 1 / 4 * 3 / 4))


def test_matrix_by_hand():
    loss = MatrixLoss(COST)
    assert loss.pointwise(np.array([0, 2, 2]), np.array([2, 0, 2])).tolist() == [4, 5, -1]
    assert loss.crossed_mean(np.array([0, 1]), np.array([2])) == pytest.approx((4 + 1) / 2)


def test_log_by_hand():
    probability = np.array([[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_allclose(LogLoss().pointwise(np.array([0, 0]), probability), -np.log([0.5, 0.1]))
    assert LogLoss().crossed_mean(np.array([0, 1, 1]), probability[1:]) == pytest.approx(
        -(np.log(0.1) + 2 * np.log(0.9)) / 3
    )


def test_log_of_a_certain_mistake_is_finite():
    worst = LogLoss().pointwise(np.array([0]), np.array([[0.0, 1.0]]))
    assert 30 < worst[0] < 40
    assert np.isfinite(LogLoss().crossed_mean(np.array([0, 1]), np.array([[0.0, 1.0]])))


@pytest.mark.parametrize("name", ["zero-one", "matrix"])
def test_confusion_shares_hold_all_these_losses_need(name):
    from outsample.paths.base import confusion_shares

    loss, _, prediction = cases()[name]
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.1, 2, 9)
    Y, pool = rng.integers(0, 3, (2, 9)), rng.integers(0, 3, 5)
    in_sample, crossed = loss.risk_and_crossed_mean(confusion_shares(Y, prediction, 3, weight), pool)
    np.testing.assert_allclose(in_sample, loss.risk(Y[:, None], prediction, weight), atol=1e-14)
    np.testing.assert_allclose(crossed, loss.crossed_mean(pool, prediction, weight), atol=1e-14)


def test_moments_hold_all_that_squared_loss_needs():
    loss, pool, prediction = cases()["squared"]
    Y = np.random.default_rng(4).normal(size=(2, 9))
    moments = np.stack(
        [((Y[:, None] - prediction) ** 2).mean(axis=-1), ((prediction - pool.mean()) ** 2).mean(axis=-1)], axis=-1
    )
    in_sample, crossed = loss.risk_and_crossed_mean(moments, pool)
    np.testing.assert_allclose(in_sample, loss.risk(Y[:, None], prediction), atol=1e-14)
    np.testing.assert_allclose(crossed, loss.crossed_mean(pool, prediction), atol=1e-14)


@pytest.mark.parametrize("name", ["absolute", "squared, two outputs", "log"])
def test_losses_without_a_summary_say_so(name):
    loss, y, _ = cases()[name]
    if name.startswith("squared"):
        assert loss.statistic == "moments"
    else:
        with pytest.raises(TypeError, match="no sufficient summary"):
            loss.risk_and_crossed_mean(np.zeros((1, 1, 2)), y)


def grid_of_constants(loss, y):
    """Least risk over constant predictions, by search."""
    n, k = len(y), 3
    if isinstance(loss, LogLoss):
        steps = np.linspace(0.01, 0.98, 98)
        return min(loss.risk(y, np.tile([a, b, 1 - a - b], (n, 1))) for a in steps for b in steps if a + b < 0.995)
    if loss.task == "classification":
        return min(loss.risk(y, np.full(n, c)) for c in range(k))
    return min(loss.risk(y, np.full(n, c)) for c in np.linspace(y.min(), y.max(), 2001))


@pytest.mark.parametrize("name", ["squared", "absolute", "zero-one", "matrix", "log"])
def test_scale_is_the_least_risk_of_a_constant(name):
    loss, y, _ = cases()[name]
    best = grid_of_constants(loss, y)
    assert loss.scale(y) == pytest.approx(best, rel=1e-2)
    assert loss.scale(y) <= best + 1e-12


@pytest.mark.parametrize("loss", [SquaredLoss(), AbsoluteLoss()])
def test_best_constant_beats_its_neighbours(loss):
    y = np.random.default_rng(5).normal(size=11)
    best = float(loss.best_constant(y))
    for other in (best - 0.01, best + 0.01):
        assert loss.risk(y, np.full(11, best)) <= loss.risk(y, np.full(11, other))


def test_blocks_of_pairs_change_nothing(monkeypatch):
    loss, y, prediction = cases()["function"]
    whole = loss.crossed_mean(y, prediction)
    monkeypatch.setattr(pointwise, "PAIRS_AT_ONCE", 20)
    np.testing.assert_allclose(loss.crossed_mean(y, prediction), whole, atol=1e-14)


def test_a_part_of_very_many_pairs_is_the_same_part_every_time(monkeypatch):
    rng = np.random.default_rng(6)
    y, prediction = rng.normal(size=400), rng.normal(size=400)
    exact = CallableLoss(pinball).crossed_mean(y, prediction)
    monkeypatch.setattr(base, "PAIRS_AT_MOST", 40_000)
    part = CallableLoss(pinball).crossed_mean(y, prediction)
    assert part == CallableLoss(pinball).crossed_mean(y, prediction)
    assert part != exact
    assert part == pytest.approx(exact, rel=0.15)


@pytest.mark.parametrize("matrix", [[[0, 1, 2], [1, 0, 2]], [0, 1], [[0, np.inf], [1, 0]]])
def test_matrix_must_be_square_and_finite(matrix):
    with pytest.raises(ValueError, match="square and finite"):
        MatrixLoss(matrix)


def test_function_must_return_one_number_per_sample():
    with pytest.raises(ValueError, match="one number per sample"):
        CallableLoss(lambda y, g: np.zeros(3)).pointwise(np.zeros(5), np.zeros(5))


def test_mean_distances_of_labels_far_from_zero_keep_their_digits():
    """In units of 2⁻¹², so that the labels themselves lose nothing when they are moved."""
    rng = np.random.default_rng(7)
    y, prediction = np.rint(2.0**12 * rng.normal(size=(2, 999))) / 2.0**12
    far = AbsoluteLoss().crossed_mean(y + 2.0**40, prediction + 2.0**40)
    assert far == pytest.approx(AbsoluteLoss().crossed_mean(y, prediction), rel=1e-12)
