"""Rules on hand-made curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from outsample.curve.left_out import LeftOut
from outsample.curve.risk_curve import RiskCurve
from outsample.losses.pointwise import SquaredLoss
from outsample.rules import (
    as_rule,
    first_local_minimum,
    minimum,
    one_standard_error,
    one_standard_error_literal,
    penalized,
    penalized_fast,
    percentile,
    significant_minimum,
)


def curve(out_sample, standard_error=None, monte_carlo_error=None):
    out_sample = np.asarray(out_sample, dtype=float)
    return RiskCurve(
        complexity=np.arange(len(out_sample), dtype=float),
        params=[{"k": i} for i in range(len(out_sample))],
        in_sample=np.zeros(len(out_sample)),
        optimism=out_sample,
        out_sample=out_sample,
        loss=SquaredLoss(),
        criterion="made up",
        estimand="nothing",
        n_fits=0,
        n_samples=10,
        standard_error=None if standard_error is None else np.broadcast_to(standard_error, out_sample.shape),
        monte_carlo_error=None if monte_carlo_error is None else np.broadcast_to(monte_carlo_error, out_sample.shape),
    )


def test_minimum_gives_ties_to_the_simplest():
    assert minimum(curve([3.0, 1.0, 1.0, 2.0])) == 1
    assert minimum(curve([3.0, 1.0 + 1e-15, 1.0, 2.0])) == 1
    assert minimum(curve([np.nan, 2.0, 1.0])) == 2


@pytest.mark.parametrize("factor", [1e-24, 1e-6, 1.0, 1e24])
def test_what_counts_as_rounding_depends_neither_on_the_unit_nor_on_other_models(factor):
    risks = factor * np.array([3.0, 1.0, 1.0 - 1e-6, 1e30])
    assert minimum(curve(risks)) == 2
    assert minimum(curve(-risks[::-1] / 1e30)) == 0
    assert significant_minimum(curve(factor * np.array([3.0, 1.0, 1.0 - 1e-6, 2, 2, 2, 1e30]))) == 2


def test_risks_that_are_rounding_are_tied():
    nothing_but_rounding = replace(curve([1.0, 3e-30, 1e-31]), rounding=1e-24)
    assert minimum(nothing_but_rounding) == first_local_minimum(nothing_but_rounding) == 1


def test_one_standard_error_is_an_error_not_a_deviation():
    """Ten folds with deviation 0.3: the standard error is 0.095, and only the second model is within it."""
    deviation = 0.3
    risks = [1.28, 1.08, 1.0]
    assert one_standard_error(curve(risks, standard_error=deviation / np.sqrt(10))) == 1
    assert one_standard_error(curve(risks, standard_error=deviation)) == 0


def test_one_standard_error_takes_the_error_at_the_minimum():
    assert one_standard_error(curve([1.15, 1.05, 1.0], standard_error=[9.0, 9.0, 0.1])) == 1


def test_one_standard_error_without_an_error_says_what_to_use():
    with pytest.raises(ValueError, match=r'"one-standard-error" needs a standard error.*made up'):
        one_standard_error(curve([1.0, 2.0]))


def test_first_local_minimum_waits_for_a_significant_rise():
    wiggle = [5.0, 3.0, 3.05, 3.02, 2.0, 2.5, 2.6, 2.7, 0.1]
    assert significant_minimum(curve(wiggle, standard_error=0.1), patience=3) == 4
    assert first_local_minimum(curve(wiggle, standard_error=0.1)) == 4
    assert first_local_minimum(curve(wiggle, standard_error=10.0)) == 8
    assert significant_minimum(curve(wiggle, standard_error=10.0)) is None


def test_first_local_minimum_takes_the_monte_carlo_error_where_labels_are_drawn():
    risks = [2.0, 1.0, 1.3, 1.3, 1.3, 0.5]
    assert first_local_minimum(curve(risks, monte_carlo_error=0.1, standard_error=9.0)) == 1
    assert first_local_minimum(curve(risks, monte_carlo_error=0.5)) == 5


def test_patience_counts_steps_in_a_row():
    risks = [2.0, 1.0, 1.5, 1.5, 1.0, 1.5, 1.5, 0.2]
    assert first_local_minimum(curve(risks, standard_error=0.1)) == 7


def test_rules_by_name_or_function():
    assert as_rule("minimum") is minimum
    assert as_rule(lambda c: 1)(curve([1.0, 2.0])) == 1
    with pytest.raises(ValueError, match="did you mean 'minimum'"):
        as_rule("minimun")


def test_penalized_adds_the_price_of_choosing():
    """Three models on ten rows, m = n/2 for want of a theorem: R_k alone would take the last, √(ln k/m) the first."""
    risks = [0.30, 0.29, 0.285]
    chosen = as_rule("penalized")(replace(curve(risks), criterion="resubstitution"))
    priced = np.array(risks) + np.sqrt(np.log([1, 2, 3]) / (10 / 2))
    assert minimum(curve(risks)) == 2
    assert chosen == int(np.argmin(priced)) == 0


def test_literal_rule_asks_all_richer_models_to_be_within_the_bar():
    falling = curve([3.0, 2.0, 1.5, 1.45, 1.42, 1.40], standard_error=0.12)
    assert one_standard_error_literal(falling) == one_standard_error(falling) == 2
    # The richest model is far worse: the usual rule looks at the minimum, the literal one at all that is richer.
    risen = curve([1.05, 1.0, 1.02, 4.0], standard_error=0.1)
    assert one_standard_error(risen) == 0
    assert one_standard_error_literal(risen) == 3
    with pytest.raises(ValueError, match="one-standard-error-literal"):
        one_standard_error_literal(curve([1.0, 2.0]))


def test_literal_rule_against_two_loops():
    rng = np.random.default_rng(0)
    for _ in range(200):
        risks, errors = rng.random(6), 0.4 * rng.random(6)
        apart = [max((abs(risks[j] - risks[k]) for j in range(k + 1, 6)), default=0.0) for k in range(6)]
        first = next(k for k in range(6) if apart[k] <= errors[k])
        assert one_standard_error_literal(curve(risks, standard_error=errors)) == first


def test_ties_without_any_rounding_are_ties():
    assert minimum(curve([1.0, 0.0, 0.0])) == 1
    assert one_standard_error(curve([1.0, 0.5, 0.5], standard_error=0.0)) == 1
    assert one_standard_error_literal(curve([0.0, 0.0, 0.0], standard_error=0.0)) == 0
    assert one_standard_error_literal(curve([1.0, 1.0 - 1e-15], standard_error=0.0)) == 0


def test_models_without_a_risk_or_an_error_are_passed_over():
    assert minimum(curve([np.nan, np.nan])) == 0
    assert one_standard_error(curve([2.0, 1.05, 1.0], standard_error=[np.nan, 0.1, 0.1])) == 1
    assert one_standard_error_literal(curve([np.nan, np.nan], standard_error=0.1)) == 0
    assert one_standard_error_literal(curve([1.0, 2.0, np.nan], standard_error=0.1)) == 1
    assert first_local_minimum(curve([np.nan, np.nan])) == 0


def test_three_in_a_row_above_the_first_of_equals_end_the_walk():
    assert significant_minimum(curve([1.0, 2.0, 2.0, 2.0], standard_error=0.1)) == 0
    assert significant_minimum(curve([1.0, 2.0, 2.0], standard_error=0.1)) is None
    assert significant_minimum(curve([0.0, 0.0, 1.0, 1.0, 1.0])) == 0
    assert significant_minimum(curve([1.0, 1.0 + 1e-15, 2.0, 2.0, 2.0])) == 0
    assert significant_minimum(curve([0.0, 1.0, 1.0, 1.0], standard_error=1.0)) is None


def test_the_fast_form_charges_less_for_many_models():
    """2 ln 2/100 = .014 and √(ln 2/100) = .083, between which the second model is better by .05."""
    risks = replace(curve([0.30, 0.25]), criterion="kfold")
    assert penalized_fast(risks, m=100) == 1
    assert penalized(risks, m=100) == 0


def naive_percentile(losses):
    """Ng's rule in two loops."""
    models, n = losses.shape
    at_rank = np.zeros(models)
    for i in range(n):
        rest = np.delete(losses, i, axis=1).sum(axis=1)
        order = sorted(range(models), key=lambda j: (round(rest[j], 9), j))
        at_rank += losses[order, i]
    final = losses.sum(axis=1)
    return sorted(range(models), key=lambda j: (round(final[j], 9), j))[int(np.argmin(np.round(at_rank, 9)))]


def with_losses(losses):
    return replace(curve(losses.mean(axis=1)), left_out=LeftOut(losses))


def test_percentile_rule_against_two_loops():
    rng = np.random.default_rng(0)
    chosen = []
    for _ in range(40):
        losses = (rng.random((12, 15)) < rng.uniform(0.2, 0.6, 12)[:, None]).astype(float)
        chosen.append(percentile(with_losses(losses)))
        assert chosen[-1] == naive_percentile(losses)
    assert len(set(chosen)) > 3


def test_percentile_rule_with_weights_repeats_rows():
    rng = np.random.default_rng(1)
    losses, weight = rng.random((6, 10)), np.full(10, 3.0)
    table = LeftOut(losses, weight)
    assert percentile(replace(curve(losses.mean(axis=1)), left_out=table)) == percentile(with_losses(losses))


def weighted_percentile(losses, weight):
    """Ng's rule where a row counts as often as its weight, and is left out as a whole."""
    models, n = losses.shape
    at_rank = np.zeros(models)
    for i in range(n):
        kept = np.arange(n) != i
        at_rank += weight[i] * losses[np.argsort(losses[:, kept] @ weight[kept]), i]
    return int(np.argsort(losses @ weight)[np.argmin(at_rank)])


def test_percentile_rule_with_unequal_weights_in_any_unit_against_two_loops():
    rng = np.random.default_rng(2)
    for _ in range(40):
        losses, weight = rng.random((8, 12)), rng.integers(1, 6, 12).astype(float)
        for unit in (1e-9, 1.0, 1e9):
            found = replace(curve(losses.mean(axis=1)), left_out=LeftOut(unit * losses, weight))
            assert percentile(found) == weighted_percentile(losses, weight)


def test_sums_that_differ_by_rounding_have_the_simplest_first():
    losses = np.random.default_rng(4).random(9)
    assert percentile(with_losses(np.stack([losses * (1 + 5e-13), losses]))) == 0
    assert percentile(with_losses(np.stack([losses * (1 + 1e-9), losses]))) == 1


def test_percentile_rule_compares_models_on_the_rows_that_all_left_out():
    rng = np.random.default_rng(3)
    for _ in range(20):
        whole = rng.random((6, 14))
        losses = np.insert(whole, 2, np.nan, axis=0)
        losses[1, 5] = losses[4, 9] = np.nan
        chosen = percentile(replace(curve(np.arange(7.0)), left_out=LeftOut(losses)))
        common = naive_percentile(np.delete(whole, [5, 9], axis=1))
        assert chosen == common + (common >= 2)
    apart = LeftOut(np.array([[1.0, np.nan], [np.nan, 0.5]]))
    assert percentile(replace(curve([1.0, 0.5]), left_out=apart)) == 1
    assert percentile(replace(curve([1.0]), left_out=LeftOut(np.ones((1, 1))))) == 0


def test_percentile_rule_is_the_minimum_where_rows_agree_and_needs_losses():
    clear = np.repeat([[0.5], [0.1], [0.9]], 8, axis=1)
    assert percentile(with_losses(clear)) == 1
    with pytest.raises(ValueError, match='rule "percentile" needs the losses'):
        percentile(curve([1.0, 2.0]))
