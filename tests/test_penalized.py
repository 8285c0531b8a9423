"""Penalised selection against the theorems it comes from."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import bounds
from outsample.criteria.base import CRITERIA, as_criterion
from outsample.problem import pose
from outsample.rules import as_rule, convention, log_term, oracle_terms, penalized_fast, penalized_risk


def curve_of(criterion, regression=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    signal = X[:, 0] + rng.normal(size=80)
    tree = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(random_state=0)
    y = signal if regression else (signal > 0).astype(int)
    problem = pose(tree, X, y, parameter="max_leaf_nodes", values=[2, 4, 8, 16], random_state=0)
    return criterion.curve(problem)


def test_penalized_risk_against_definition():
    risk = np.array([0.3, 0.25, 0.2])
    expected = [risk[k - 1] + math.sqrt(math.log(k) / 50) for k in (1, 2, 3)]
    assert penalized_risk(risk, 50).tolist() == pytest.approx(expected)
    fast = [risk[k - 1] + 2 * math.log(k) / 50 for k in (1, 2, 3)]
    assert penalized_risk(risk, 50, fast=True).tolist() == pytest.approx(fast)
    assert log_term(1, 3).tolist() == [0.0]


@pytest.mark.parametrize(
    ("bound", "share", "gamma"),
    [
        (partial(bounds.vc_bound, in_sample=0.1, dimension=3), 1 / 2, 1),
        (partial(bounds.shatter_bound, in_sample=0.1, log_shatter=3), 1 / 2, 1),
        (partial(bounds.vc_entropy_bound, in_sample=0.1, log_shatter=3), 1 / 80, 2),
        (partial(bounds.margin_bound, mistakes=3, margin=1.0, radius=1.0), math.log(2) / 8, 4),
        (partial(bounds.maximal_discrepancy_bound, in_sample=0.1, discrepancy=0.2), 1 / 21, 3),
        (partial(bounds.expected_discrepancy_bound, in_sample=0.1, discrepancy=0.2, n_draws=math.inf), 1 / 9, 1),
        (partial(bounds.rademacher_bound, in_sample=0.1, complexity=0.2, n_draws=math.inf), 1 / 9, 1),
        (partial(bounds.permutation_bound, in_sample=0.1, complexity=0.2, n_draws=math.inf), 1 / 25, 1),
    ],
)
def test_sample_sizes_against_theorems(bound, share, gamma):
    """The limit at δ is what P[e_out > R + ε] ≤ γ e^{−2mε²} gives at δ, or sharper."""
    found = [bound(n=840, delta=delta) for delta in (0.5, 0.05, 1e-6)]
    for limit in found:
        assert limit.m == pytest.approx(840 * share)
        assert limit.gamma == gamma
        assert limit.risk == found[0].risk
        if bound.func is not bounds.permutation_bound:
            assert limit.value <= limit.risk + math.sqrt(math.log(gamma / limit.delta) / (2 * limit.m)) + 1e-12


def test_delta_is_paid_once():
    """R_k of (5) holds ln 4, not ln(4/δ)."""
    n, V = 840, 3
    limit = bounds.vc_bound(in_sample=0.1, dimension=V, n=n)
    assert limit.risk == pytest.approx(0.1 + math.sqrt((V * math.log(2 * math.e * n / V) + math.log(4)) / n))
    for criterion in (outsample.VCBound(dimension=4), outsample.VCBound(dimension=4, delta=1e-6)):
        curve = curve_of(criterion)
        first = bounds.vc_bound(in_sample=curve.in_sample[0], dimension=4, n=80).risk
        assert oracle_terms(curve).penalized[0] == pytest.approx(first)


def test_held_out_losses_are_their_own_sample_size():
    curve = curve_of(outsample.HoldOut(20))
    assert oracle_terms(curve).size.m == 20
    assert oracle_terms(curve).size.gamma == 1
    assert oracle_terms(curve).tail_bound().proved


def test_rows_of_a_validation_set_are_its_sample_size():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    curve = curve_of(outsample.ValidationSet(X, y))
    terms = oracle_terms(curve)
    assert (terms.size.m, terms.size.gamma) == (30, 1)
    expected = curve.out_sample + np.sqrt(np.log([1, 2, 3, 4]) / 30)
    assert terms.penalized == pytest.approx(expected)
    assert terms.tail_bound(0.1).value == pytest.approx(expected.min() + math.sqrt(math.log(20) / 60))


@pytest.mark.parametrize("criterion", ["permutation", "kfold", "rademacher", "resubstitution"])
def test_conventions_are_not_called_theorems(criterion):
    assert convention(criterion, 100).m > 0
    assert not oracle_terms(curve_of(as_criterion(criterion))).tail_bound().proved


@pytest.mark.parametrize(
    ("names", "share", "gamma"),
    [
        ("discrepancy", 1 / 21, 3),
        ("expected-discrepancy", 1 / 9, 2),
        ("permutation label-bootstrap two-stage", 1 / 25, 2),
        ("rademacher", 1 / 9, 2),
        ("kfold loo alo oob race nested-kfold bootstrap bag-bootstrap 632 632+ optimism-bootstrap", 1, 1),
        ("resubstitution covariance rows-and-labels auto fpe aic bic cp gcv vc validation holdout", 1 / 2, 1),
    ],
)
def test_conventions_are_those_of_the_page(names, share, gamma):
    for name in names.split():
        size = convention(name, 840)
        assert (size.m, size.gamma) == (pytest.approx(840 * share), gamma)


def test_many_theorems_count_by_the_weakest():
    """m is the least and γ the largest of the models' theorems, and what one assumes is assumed of all."""
    curve = curve_of(outsample.HoldOut(20))
    first, *others = curve.certificates
    weaker = replace(first, m=5.0, gamma=4.0, assumptions=dict(first.assumptions) | {"the sun shines": True})
    terms = oracle_terms(replace(curve, certificates=(weaker, *others)))
    found = terms.tail_bound(0.1)
    assert (terms.size.m, terms.size.gamma, found.m, found.gamma) == (5.0, 4.0, 5.0, 8.0)
    assert found.value == pytest.approx(found.in_sample + math.sqrt(math.log(2 * 4 / 0.1) / 10))
    assert terms.remainder == pytest.approx(math.sqrt(math.log(2 * 4 * math.e) / 10))
    assert found.assumptions["the sun shines"] is True
    assert found.risk == found.in_sample == np.nanmin(terms.penalized)
    assert "Theorem 1," in found.theorem
    assert "Theorem 2," in oracle_terms(curve, m=5, fast=True).tail_bound().theorem


def test_a_given_m_keeps_the_gamma_of_the_criterion():
    assert oracle_terms(curve_of(outsample.Permutation(5)), m=7).size.gamma == 2
    assert oracle_terms(curve_of(outsample.MaximalDiscrepancy()), m=7).size.gamma == 3
    own = replace(curve_of(outsample.Permutation(5)), criterion="my own")
    assert oracle_terms(own, m=7).size.gamma == 1


def test_a_single_model_has_an_order():
    problem = curve_of(outsample.HoldOut(20))
    for names, told in (([0], True), ([0, 1], False)):
        one = replace(problem.take(np.array(names)), ordered=False)
        assert oracle_terms(one).tail_bound().proved is told


def test_the_price_alone_is_that_of_losses_between_0_and_1():
    assert log_term(3, 50).tolist() == pytest.approx([0.0, math.sqrt(math.log(2) / 50), math.sqrt(math.log(3) / 50)])


def test_the_page_of_the_terms_names_the_chosen_model():
    terms = oracle_terms(curve_of(outsample.HoldOut(20)))
    assert terms._repr_html_().count("(chosen)") == 1
    assert f"<td>{terms.chosen} (chosen)</td><td>{terms.approximation[terms.chosen]:.4g}</td>" in terms._repr_html_()


@pytest.mark.parametrize(
    ("in_sample", "scale", "expected"),
    [
        ([3.0, 2.0, 2.0, 1.0], 0.5, 0.5),
        ([0.3, 0.2, 0.2, 0.1], 0.5, 0.3),
        ([0.3, 0.2, 0.2, 0.1], 0.0, 0.3),
        ([0.0, 0.0, 0.0, 0.0], 0.0, 1.0),
        ([0.0, 0.0, 0.0, 0.0], 0.2, 0.2),
        ([3.0, 2.0, 0.0, 0.0], 9.0, 3.0),
        ([3.0, 2.0, -1.0, -2.0], 9.0, 1.0),
    ],
)
def test_the_range_of_a_loss_without_one(in_sample, scale, expected):
    """The largest in-sample risk, at most that of predicting without X; 1 for scores, which are negative risks."""
    curve = replace(curve_of(outsample.Permutation(5), regression=True), in_sample=np.array(in_sample), scale=scale)
    assert oracle_terms(curve, m=9).loss_range == expected


def test_an_unknown_criterion_has_no_m():
    with pytest.raises(ValueError, match="knows no m for criterion 'no such criterion'"):
        convention("no such criterion", 100)
    with pytest.raises(ValueError, match="rule \"penalized-fast\" knows no m for criterion 'kfold'"):
        convention("kfold", 100, fast=True)


def test_every_named_criterion_has_a_theorem_or_a_convention():
    theorems = {"vc-bound", "vc-entropy-bound", "margin-bound", "discrepancy-bound", "rademacher-bound"}
    for name in set(CRITERIA) - theorems - {"permutation-bound"}:
        assert convention(name, 100).m > 0


def test_fast_form_has_the_constants_of_theorem_10():
    curve = curve_of(outsample.ExpectedDiscrepancy(5))
    m = 80 / 4096
    terms = oracle_terms(curve, fast=True)
    assert terms.penalized == pytest.approx(curve.out_sample + 2 * np.log([1, 2, 3, 4]) / m)
    assert terms.size.gamma == 9
    assert not terms.tail_bound().proved
    assert as_rule("penalized-fast")(curve) == terms.chosen == 0
    assert partial(penalized_fast, m=1e9)(curve) == int(np.argmin(curve.out_sample))


def test_the_tail_of_theorem_10_cannot_hold_for_all_n():
    # A single hypothesis of error ½: e_out − e_in is that of a coin; C√(1/n) stands for any multiple of its
    # discrepancy.
    n, C = 10**13, 64.0
    epsilon = C / math.sqrt(n)
    log_exceeded = stats.norm.logsf(2 * math.sqrt(n) * (C / math.sqrt(n) + epsilon))
    size = convention("expected-discrepancy", n, fast=True)
    assert (size.m, size.gamma) == (n / 4096, 9)
    assert log_exceeded > math.log(size.gamma) - size.m * epsilon


def test_tail_bound_of_the_chosen_model_against_the_theorem():
    terms = oracle_terms(curve_of(outsample.ExpectedDiscrepancy(5)))
    m = 80 / (9 + 16 / 5)
    found = terms.tail_bound(0.1)
    assert found.value == pytest.approx(terms.penalized.min() + math.sqrt(math.log(2 / 0.1) / (2 * m)))
    assert found.value == pytest.approx(found.in_sample + found.gap)
    fast = oracle_terms(curve_of(outsample.ExpectedDiscrepancy(5)), m=50, fast=True)
    assert fast.tail_bound(0.1).value == pytest.approx(fast.penalized.min() + math.log(2 / 0.1) / 50)


def test_tail_of_the_permutation_bound_against_mcdiarmid():
    """e_out − e_in moves by 1/n and P_in by 4/n, and draws concentrate: ε is divided so that both tails are alike."""
    n, epsilon, draws = 100, 0.7, 10
    found = bounds.permutation_bound(in_sample=0.1, complexity=0.2, n=n, n_draws=draws)
    spread = 16 * 50 * 50 / (n**2 * 2 * (n - 0.5) * (1 - 1 / 100)) / draws
    by_sample = epsilon * math.sqrt(12.5 / n) / (math.sqrt(12.5 / n) + math.sqrt(spread))
    tails = math.exp(-2 * by_sample**2 / (n * (5 / n) ** 2)) + math.exp(-((epsilon - by_sample) ** 2) / spread)
    assert tails == pytest.approx(found.gamma * math.exp(-2 * found.m * epsilon**2))
    assert found.risk == pytest.approx(0.3 + 0.5 / math.sqrt(n))


def test_oracle_terms_against_definition():
    curve = curve_of(outsample.ExpectedDiscrepancy(5))
    terms = oracle_terms(curve)
    m = 80 / (9 + 16 / 5)
    assert terms.penalized == pytest.approx(penalized_risk(curve.out_sample, m))
    assert terms.complexity == pytest.approx(curve.optimism)
    assert terms.approximation == pytest.approx(curve.in_sample - curve.in_sample.min())
    assert terms.total == pytest.approx(terms.approximation + terms.complexity + terms.log_term)
    assert terms.remainder == pytest.approx(math.sqrt(math.log(2 * 1 * math.e) / (2 * m)))
    assert terms.chosen == int(np.argmin(terms.penalized))
    assert terms.to_dict()["m"] == pytest.approx(m)
    fast = oracle_terms(curve, m=100, fast=True)
    assert fast.remainder == pytest.approx(math.log(2 * math.e) / 100)
    assert fast.size.source == "given"


@pytest.mark.parametrize("criterion", [outsample.HoldOut(20), outsample.CrossValidation(5)])
def test_complexity_never_mixes_two_fits(criterion):
    """R_k of fits to some rows and e_in of the fit to all of them make no complexity."""
    terms = oracle_terms(curve_of(criterion))
    assert np.isnan(terms.complexity).all()
    assert np.isfinite(terms.penalized).all()


def test_remainder_against_the_tail_it_integrates():
    """E Z ≤ √(ln(ce)/(2m)) for P[Z > ε] ≤ c e^{−2mε²}, and c is 2γ: the printed ln(γe) is too small."""
    m, c = 30.0, 2.0
    grid = np.linspace(0, 3, 200_001)
    mean = float(np.minimum(1, c * np.exp(-2 * m * grid**2)).sum() * (grid[1] - grid[0]))
    assert math.sqrt(math.log(c / 2 * math.e) / (2 * m)) < mean <= math.sqrt(math.log(c * math.e) / (2 * m))


def test_the_guarantee_against_simulation():
    """e_out(chosen) ≤ penalised risk + √(ln(2γ/δ)/(2m)) in 1 − δ of data sets, for hold-out estimates of 50 models."""
    rng = np.random.default_rng(0)
    truth, m, delta = rng.uniform(0.2, 0.5, 50), 40, 0.1
    estimates = rng.binomial(m, truth, (2000, 50)) / m
    penalised = np.array([penalized_risk(row, m) for row in estimates])
    chosen = penalised.argmin(axis=1)
    limit = penalised.min(axis=1) + math.sqrt(math.log(2 / delta) / (2 * m))
    assert (truth[chosen] <= limit).mean() >= 1 - delta


def test_losses_without_a_range_are_scaled():
    curve = curve_of(outsample.Permutation(5), regression=True)
    terms = oracle_terms(curve)
    assert terms.log_term[1] == pytest.approx(curve.in_sample.max() * math.sqrt(math.log(2) / (80 / 25)))


def test_bad_sample_size():
    with pytest.raises(ValueError, match="m must be positive"):
        penalized_risk([0.1, 0.2], 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e20])
def test_a_model_that_failed_or_exploded_does_not_scale_the_price_of_the_others(bad):
    curve = curve_of(outsample.Permutation(5), regression=True)
    worse = replace(curve, in_sample=np.append(curve.in_sample[:-1], bad))
    price = oracle_terms(worse).log_term[1] / math.sqrt(math.log(2) / (80 / 25))
    assert price == pytest.approx(curve.scale if bad == 1e20 else curve.in_sample.max())
