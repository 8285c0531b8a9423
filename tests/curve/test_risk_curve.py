from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from statsmodels.stats.proportion import proportion_confint

from outsample import CrossValidation, ErrorEstimate, GridSearch, Permutation, RiskCurve, estimate
from outsample.curve.intervals import shaped_interval
from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import PER_MODEL
from outsample.losses.pointwise import SquaredLoss, ZeroOneLoss
from outsample.losses.whole_set import ScorerLoss


def curve(**changes):
    fields = {
        "complexity": np.array([1.0, 2.0, 3.0]),
        "params": ({"k": 1}, {"k": 2}, {"k": 3}),
        "in_sample": np.array([0.4, 0.2, 0.0]),
        "optimism": np.array([0.02, 0.1, 0.3]),
        "out_sample": np.array([0.42, 0.3, 0.3]),
        "standard_error": np.array([0.03, 0.04, np.nan]),
        "monte_carlo_error": np.array([0.01, 0.0, 0.02]),
        "draws": np.array([[0.0, 0.1, 0.3], [0.04, 0.1, 0.3]]),
        "loss": ZeroOneLoss(),
        "criterion": "permutation",
        "estimand": "the expected zero-one loss on a new sample",
        "n_fits": 11,
        "n_samples": 50,
        "seconds": 0.25,
        "path": "TreePath",
    }
    return RiskCurve(**(fields | changes))


def test_estimate_of_one_model():
    result = curve().estimate(1)
    assert (result.in_sample, result.optimism, result.out_sample) == (0.2, 0.1, 0.3)
    assert (result.standard_error, result.monte_carlo_error) == (0.04, 0.0)
    assert (result.n_fits, result.seconds, result.loss, result.criterion) == (11, 0.25, "zero-one", "permutation")
    np.testing.assert_array_equal(result.draws, [0.1, 0.1])
    assert len(curve()) == 3


def test_printed_rows_do_not_look_alike():
    steps = [{"standardscaler__with_mean": True, "randomforestregressor__min_samples_leaf": k} for k in (1, 2, 3)]
    rows = str(curve(params=tuple(steps))).split("\n")[2:5]
    assert [row.split("  ")[0] for row in rows] == [f"with_mean=True, min_samples_leaf={k}" for k in (1, 2, 3)]
    both = [{"a__depth": 1, "b__depth": k} for k in (1, 2, 3)]
    assert "a__depth=1, b__depth=3" in str(curve(params=tuple(both)))
    assert "…" in str(curve(params=tuple({"k": k, "text": 100 * "x"} for k in (1, 2, 3))))


def test_the_two_error_bars_are_not_mixed():
    first = curve().estimate(0)
    assert first.standard_error == 0.03
    assert first.monte_carlo_error == 0.01
    assert curve().estimate(2).standard_error is None
    assert curve(monte_carlo_error=None).estimate(0).monte_carlo_error is None


def test_scores_come_back_in_their_own_scale():
    scores = curve(loss=ScorerLoss(None, "r2"), in_sample=np.array([-0.9]), optimism=np.array([0.2]))
    scores = dataclasses.replace(scores, out_sample=np.array([-0.7]), draws=np.array([[0.1], [0.3]]))
    result = scores.estimate(0)
    assert (result.in_sample, result.optimism, result.out_sample) == (0.9, -0.2, 0.7)
    assert result.monte_carlo_error == 0.01
    np.testing.assert_array_equal(result.draws, [-0.1, -0.3])
    assert "= in-sample 0.9 − optimism 0.2" in str(result)


def test_interval_takes_both_errors_together():
    low, high = curve().estimate(0).interval(0.9, method="normal")
    half = stats.norm.ppf(0.95) * math.hypot(0.03, 0.01)
    assert (low, high) == pytest.approx((0.42 - half, 0.42 + half))


def test_interval_with_few_degrees_of_freedom_is_students():
    low, high = curve(freedom=4).estimate(1).interval(method="normal")
    half = stats.t.ppf(0.975, 4) * 0.04
    assert (low, high) == pytest.approx((0.3 - half, 0.3 + half))


def test_intervals_of_shares_against_wilsons():
    """At a binomial standard error and no factor it is Wilson's interval, as statsmodels has it."""
    share, n = 0.12, 50
    error = np.full(3, math.sqrt(share * (1 - share) / n))
    plain = curve(out_sample=np.full(3, share), standard_error=error, monte_carlo_error=None, draws=None)
    ours = plain.estimate(0).interval(0.9)
    assert ours == pytest.approx(proportion_confint(share * n, n, alpha=0.1, method="wilson"))
    wider = dataclasses.replace(plain, variance_factor=np.full(3, 2.0)).estimate(0).interval(0.9)
    assert wider == pytest.approx(proportion_confint(share * n / 2, n / 2, alpha=0.1, method="wilson"))


def test_a_share_is_known_as_well_as_one_of_twice_the_rows_at_best():
    lucky = curve(out_sample=np.full(3, 0.01), standard_error=np.full(3, 1e-5), monte_carlo_error=None, draws=None)
    assert lucky.estimate(0).interval() == pytest.approx(proportion_confint(1.0, 100, method="wilson"))


def test_no_error_at_all_has_an_interval_of_its_rows():
    perfect = curve(out_sample=np.zeros(3), standard_error=np.zeros(3), monte_carlo_error=None, draws=None)
    ours = dataclasses.replace(perfect, rows_behind=40.0).estimate(0).interval()
    assert ours == pytest.approx(proportion_confint(0, 40, method="wilson"))
    assert [shaped_interval(0.0, 0.0, 1.96, (0.0, 1.0), n)[0] for n in (40, 569, 891)] == [0.0] * 3
    assert [shaped_interval(1.0, 0.0, 1.96, (0.0, 1.0), n)[1] for n in (40, 569, 891)] == [1.0] * 3


def test_intervals_of_positive_losses_are_symmetric_in_the_logarithm():
    losses = curve(loss=SquaredLoss(), out_sample=np.full(3, 4.0), monte_carlo_error=None, draws=None)
    low, high = losses.estimate(0).interval(0.9)
    assert low * high == pytest.approx(16.0)
    assert math.log(high / 4) == pytest.approx(stats.norm.ppf(0.95) * 0.03 / 4)


def test_errors_far_larger_than_a_loss_have_no_ends_beyond_all_measure():
    """exp(q·se/x) would be 10⁴³ times the estimate."""
    low, high = shaped_interval(0.004, 0.2, 2.0, (0.0, math.inf), 100)
    assert 0 < low < 0.004
    assert 0.4 < high < 10 * 0.4
    before, after = (shaped_interval(1.0, error, 1.0, (0.0, math.inf), 100)[1] for error in (2 - 1e-7, 2 + 1e-7))
    assert after - before == pytest.approx(2e-7 * math.exp(2), rel=1e-3)
    score = shaped_interval(0.99, 0.5, 2.0, (-math.inf, 1.0), 100)
    np.testing.assert_allclose(1 - np.array(score)[::-1], shaped_interval(0.01, 0.5, 2.0, (0.0, math.inf), 100))


@pytest.mark.parametrize("loss", ["log", "neg_log_loss"])
def test_where_no_row_lost_anything_log_loss_has_no_interval(loss):
    X = np.repeat([0.0, 1.0], 50)[:, None]
    found = estimate(DecisionTreeClassifier(), X, X[:, 0].astype(int), loss=loss, criterion="kfold", random_state=0)
    with pytest.raises(ValueError, match="a single new one may lose any amount"):
        found.interval()


def test_where_no_row_lost_anything_brier_scores_have_an_interval():
    """One new row may lose two at most."""
    X = np.repeat([0.0, 1.0], 50)[:, None]
    tree, y = DecisionTreeClassifier(), X[:, 0].astype(int)
    found = estimate(tree, X, y, loss="neg_brier_score", criterion="kfold", random_state=0)
    assert found.no_interval is None


def test_few_rows_that_lose_much_widen_the_interval():
    """Student's t with (Σd²)²/Σd⁴ − 1 degrees of freedom; shares have Wilson's interval, whose rows are alike."""
    losses = np.r_[np.ones(90), np.full(10, 9.0)]
    apart = losses - losses.mean()
    freedom = np.sum(apart**2) ** 2 / np.sum(apart**4) - 1
    table = LeftOut(np.tile(losses, (3, 1)))
    heavy = curve(
        loss=SquaredLoss(), out_sample=np.full(3, 4.0), monte_carlo_error=None, draws=None, left_out=table
    ).estimate(0)
    assert 4 < freedom < 20
    assert math.log(heavy.interval(0.9)[1] / 4) == pytest.approx(stats.t.ppf(0.95, freedom) * 0.03 / 4)
    one = LeftOut(np.tile(np.r_[np.zeros(99), 50.0], (3, 1)))
    single = dataclasses.replace(heavy, telling_rows=one.rows_that_tell(0))
    assert math.log(single.interval(0.9)[1] / 4) == pytest.approx(stats.t.ppf(0.95, 4) * 0.03 / 4)
    assert curve(left_out=LeftOut(np.tile(losses > 1, (3, 1)).astype(float))).estimate(0).telling_rows is None
    assert LeftOut(np.ones((1, 5))).rows_that_tell(0) is None


def test_rows_that_tell_count_by_their_weights():
    losses, weight = np.array([[1.0, 2.0, 4.0]]), np.array([1.0, 2.0, 1.0])
    apart = (losses[0] - 2.25) * weight
    assert LeftOut(losses, weight).rows_that_tell(0) == pytest.approx(np.sum(apart**2) ** 2 / np.sum(apart**4))


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, math.nan])
def test_interval_level_must_be_a_probability(level):
    with pytest.raises(ValueError, match=f"level must be strictly between 0 and 1, got {level}"):
        curve().estimate(0).interval(level)


@pytest.mark.parametrize("draws", [None, np.array([0.01, 0.0, 0.02])])
def test_no_standard_error_no_interval(draws):
    bare = curve(standard_error=None, monte_carlo_error=draws).estimate(0)
    with pytest.raises(ValueError, match=r"no interval: criterion 'permutation' gives no standard error .*'zero-one'"):
        bare.interval()
    assert curve(standard_error=None, held_out=50).estimate(0).interval(method="hoeffding")[0] < 0.42


def test_a_standard_error_alone_makes_an_interval():
    low, high = curve(monte_carlo_error=None, draws=None).estimate(0).interval(0.9, method="normal")
    assert high - low == pytest.approx(2 * 0.03 * stats.norm.ppf(0.95))


def test_print_is_three_lines():
    lines = str(curve().estimate(0)).split("\n")
    assert lines == [
        "out-sample zero-one: 0.42 ± 0.03 (standard error) ± 0.01 (Monte Carlo)",
        "= in-sample 0.4 + optimism 0.02, by permutation: 11 fits, 0.25 s",
        "estimates the expected zero-one loss on a new sample",
    ]
    assert str(curve(n_fits=1, notes=("Mind the gap.",)).estimate(0)).endswith("Mind the gap.")
    assert "1 fit," in str(curve(n_fits=1).estimate(0))


def test_notebooks_get_a_table():
    page = curve(estimand="a < b & c", notes=("<script>",)).estimate(0)._repr_html_()
    assert page.startswith("<table>")
    assert "a &lt; b &amp; c" in page
    assert "<script>" not in page
    assert "Monte-Carlo error" in page


def test_to_dict_is_plain():
    record = curve(notes=("note",)).estimate(0).to_dict()
    assert json.loads(json.dumps(record)) == record
    assert record["out_sample"] == 0.42
    assert record["notes"] == ["note"]


@pytest.mark.parametrize("record", [curve(), curve().estimate(0)], ids=["curve", "estimate"])
def test_records_are_frozen(record):
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.out_sample = 0.0


def test_fields_of_the_public_face():
    names = {field.name for field in dataclasses.fields(ErrorEstimate)}
    assert names >= {
        "in_sample",
        "optimism",
        "out_sample",
        "monte_carlo_error",
        "standard_error",
        "n_fits",
        "seconds",
        "loss",
        "criterion",
    }
    names = {field.name for field in dataclasses.fields(RiskCurve)}
    assert names >= {
        "complexity",
        "params",
        "in_sample",
        "optimism",
        "out_sample",
        "standard_error",
        "monte_carlo_error",
    }


def test_squared_loss_is_reported_as_it_is():
    assert curve(loss=SquaredLoss()).estimate(0).in_sample == 0.4


@pytest.mark.parametrize("criterion", [Permutation(4), CrossValidation(3, keep_predictions=True)])
def test_every_array_with_an_entry_per_model_is_declared(criterion):
    """Seven models, and seven of nothing else: what is not declared would be lost when curves are cut or joined."""
    X, y = load_diabetes(return_X_y=True)
    grid = {"max_depth": range(1, 8)}
    found = GridSearch(DecisionTreeRegressor(), grid, criterion=criterion, random_state=0).fit(X[:99], y[:99]).curve_
    arrays = {f.name: getattr(found, f.name) for f in dataclasses.fields(found)}
    arrays = {name: values for name, values in arrays.items() if isinstance(values, np.ndarray)}
    with_models = {name for name, values in arrays.items() if 7 in values.shape}
    assert with_models == set(PER_MODEL) & set(arrays)
    assert all(arrays[name].shape[-1] == 7 for name in with_models)
