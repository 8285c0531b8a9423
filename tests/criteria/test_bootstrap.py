"""The bootstrap against R, against enumeration of all bags, and against its definition."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor, Lasso, LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import Bootstrap
from outsample.criteria import bootstrap as criterion_module
from outsample.criteria.base import as_criterion
from outsample.evidence.rows import BAGS
from outsample.problem import pose
from outsample.resampling.bags import draw_bags, drawing_units, out_of_bag, weight_632_plus, weight_repeats
from outsample.running.run import ROW_SPLITS, child_seed, seed_sequence

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "bootstrap_r.json").read_text())
X = np.array(REFERENCE["X"])
R_BAGS = np.stack([np.bincount(bag, minlength=len(X)) for bag in REFERENCE["bags"]])


@pytest.fixture
def bags_of_R(monkeypatch):
    monkeypatch.setattr(criterion_module, "draw_bags", lambda units, n_bags, seed: R_BAGS)


@pytest.mark.parametrize(
    ("learner", "labels", "case"),
    [
        (KNeighborsClassifier(1), "noise", "one_nn_noise"),
        (KNeighborsClassifier(1), "signal", "one_nn_signal"),
        (LinearDiscriminantAnalysis(), "signal", "lda_signal"),
    ],
)
@pytest.mark.usefixtures("bags_of_R")
def test_classification_against_R(learner, labels, case):
    y = np.array(REFERENCE[labels])
    for kind, name in (("oob", "boot"), ("632+", "plus")):
        ours = outsample.estimate(learner, X, y, criterion=Bootstrap(len(R_BAGS), kind), random_state=0)
        assert ours.out_sample == pytest.approx(REFERENCE[case][name], rel=1e-12)


@pytest.mark.usefixtures("bags_of_R")
def test_regression_against_R():
    y = np.array(REFERENCE["response"])
    ours = outsample.estimate(LinearRegression(), X, y, criterion=Bootstrap(len(R_BAGS)), random_state=0)
    assert np.sqrt(ours.out_sample) == pytest.approx(REFERENCE["lm_root_mean_squared"], rel=1e-9)


def _bags(n, n_bags, seed, groups=None):
    return draw_bags(drawing_units(n, groups), n_bags, child_seed(seed_sequence(seed), ROW_SPLITS, BAGS))


def _refits(learner, X, y, bags):
    """(bags, n) predictions of fits to repeated rows."""
    fits = [clone(learner).fit(np.repeat(X, bag, axis=0), np.repeat(y, bag)) for bag in bags]
    return np.stack([model.predict(X) for model in fits])


def _data(n=50):
    rng = np.random.default_rng(3)
    table = rng.normal(size=(n, 3))
    return table, table[:, 0] + rng.normal(size=n)


REGRESSORS = [Ridge(2.0), DecisionTreeRegressor(max_leaf_nodes=6, random_state=0), KNeighborsRegressor(3)]


@pytest.mark.parametrize("learner", REGRESSORS)
def test_all_kinds_against_definition(learner):
    table, y = _data()
    bags = _bags(50, 20, seed=5)
    losses = np.abs(y - _refits(learner, table, y, bags))
    fitted = clone(learner).fit(table, y).predict(table)
    in_sample = np.abs(y - fitted).mean()
    outside = np.where(bags == 0, losses, np.nan)
    oob = np.nanmean(np.nanmean(outside, axis=0))
    gamma = np.abs(y[:, None] - fitted).mean()
    R = (oob - in_sample) / (gamma - in_sample)
    plain = 0.368 * in_sample + 0.632 * oob
    plus = plain + (min(oob, gamma) - in_sample) * (0.368 * 0.632 * R) / (1 - 0.368 * R)
    optimism = np.mean(losses.mean(axis=1) - (losses * bags).sum(axis=1) / len(y))
    expected = {"oob": oob, "632": plain, "632+": plus, "optimism": in_sample + optimism}
    for kind, value in expected.items():
        ours = outsample.estimate(learner, table, y, loss="absolute", criterion=Bootstrap(20, kind), random_state=5)
        assert ours.out_sample == pytest.approx(value, rel=1e-8), kind
        assert ours.n_fits == 21


def test_a_whole_path_against_single_models():
    table, y = _data()
    tree = DecisionTreeRegressor(random_state=0)
    problem = pose(tree, table, y, parameter="max_leaf_nodes", values=[2, 4, 8], random_state=1)
    curve = Bootstrap(10, "632+").curve(problem)
    assert curve.n_fits == 11
    for leaves, risk, error in zip([2, 4, 8], curve.out_sample, curve.standard_error, strict=True):
        one = clone(tree).set_params(max_leaf_nodes=leaves)
        alone = outsample.estimate(one, table, y, criterion=Bootstrap(10, "632+"), random_state=1)
        assert (risk, error) == pytest.approx((alone.out_sample, alone.standard_error), rel=1e-12)


def _one_nearest(distances, y, bags):
    """Losses of the rows outside each bag by their nearest row inside it."""
    for bag in bags:
        inside, outside = np.flatnonzero(bag), np.flatnonzero(bag == 0)
        nearest = inside[distances[np.ix_(outside, inside)].argmin(axis=1)]
        yield (y[nearest] != y[outside]).astype(float)[None]


def test_pure_noise_averages_one_half_against_R_and_definition():
    """One nearest neighbour on labels without information, n = 60, p = 5; a cap of R at one pulls it down."""
    plus, capped = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        table, y = rng.normal(size=(60, 5)), rng.integers(2, size=60)
        bags = _bags(60, 50, seed)
        distances = np.linalg.norm(table[:, None] - table, axis=2)
        oob = out_of_bag(bags, _one_nearest(distances, y, bags)).risk
        gamma = np.array([np.mean(y[:, None] != y)])
        plus.append(weight_632_plus(np.zeros(1), oob, gamma) * oob)
        R = np.minimum(oob / gamma, 1.0)
        capped.append(0.632 * oob + np.minimum(oob, gamma) * 0.368 * 0.632 * R / (1 - 0.368 * R))
    error = np.std(plus) / np.sqrt(300)
    assert abs(np.mean(plus) - 0.5) < 0.02
    assert abs(np.mean(plus) - 0.507) < 3 * np.hypot(error, 0.005)
    assert np.mean(capped) < 0.49
    assert np.mean(capped) < np.mean(plus) - 0.015


def test_the_pole_of_632_plus_is_guarded():
    oob = np.linspace(0.0, 1.0, 1001)
    weights = weight_632_plus(np.full(1001, 0.1), oob, np.full(1001, 0.3))
    assert np.isfinite(weights).all()
    assert (weights >= 0.632).all()
    assert (np.diff(weights * (oob - 0.1))[101:] > 0).all()


@pytest.mark.parametrize("above", [-1e-15, 0.0, 1e-15, 1e-9])
def test_632_plus_of_a_constant_is_that_of_632_however_the_risk_without_information_rounds(above):
    weight = weight_632_plus(np.ones(1), np.full(1, 1.2), np.full(1, 1.0 + above))
    np.testing.assert_allclose(weight, 0.632, atol=1e-6)


def test_632_plus_of_a_constant_learner():
    """All rows are neighbours: every prediction is the mean, and e_in and γ are the same number but for rounding."""
    rng = np.random.default_rng(0)
    for seed in range(10):
        table, y = rng.normal(size=(15, 3)), rng.normal(size=15)
        plain, plus = (
            outsample.estimate(
                KNeighborsRegressor(15), table, y, criterion=Bootstrap(8, kind), random_state=seed
            ).out_sample
            for kind in ("632", "632+")
        )
        np.testing.assert_allclose(plus, plain, rtol=1e-9)


def _expected_risk(probability, losses, bags):
    """Err^(1) when rows are drawn with these probabilities: sum over all bags."""
    n = len(probability)
    chance = np.prod(probability[bags], axis=1)
    missing = np.stack([(bags != i).all(axis=1) for i in range(n)])
    by_row = [(chance * losses[:, i] * missing[i]).sum() / (1 - probability[i]) ** n for i in range(n)]
    return float(probability @ np.array(by_row))


def test_influence_against_enumeration():
    """All 4⁴ bags of four rows: the derivative of the estimate in the probability of each row."""
    n = 4
    bags = np.array(list(itertools.product(range(n), repeat=n)))
    multiplicity = np.stack([np.bincount(bag, minlength=n) for bag in bags])
    table = np.array([[0.0], [1.0], [2.5], [3.0]])
    y = np.array([0.3, 1.0, -0.5, 2.0])
    losses = np.stack([(y - y[bag].mean() - 0.1 * table[bag].max()) ** 2 for bag in bags])
    found = out_of_bag(multiplicity, [loss[None, out] for loss, out in zip(losses, multiplicity == 0, strict=True)])
    even, step = np.full(n, 1 / n), 1e-6
    derivative = [
        _expected_risk((1 - step) * even + step * np.eye(n)[k], losses, bags)
        - _expected_risk((1 + step) * even - step * np.eye(n)[k], losses, bags)
        for k in range(n)
    ]
    assert found.risk[0] == pytest.approx(_expected_risk(even, losses, bags), rel=1e-12)
    np.testing.assert_allclose(found.influence[0], np.array(derivative) / (2 * step) / n, rtol=1e-6)


def test_standard_error_against_simulation():
    """Over data sets the estimate spreads as its standard error says, within the error of 60 data sets."""
    estimates, errors = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=(60, 2))
        y = table[:, 0] + rng.normal(size=60)
        found = outsample.estimate(LinearRegression(), table, y, criterion=Bootstrap(30), random_state=seed)
        estimates.append(found.out_sample)
        errors.append(np.hypot(found.standard_error, found.monte_carlo_error))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(estimates), rel=0.25)


def test_monte_carlo_error_against_repetition():
    table, y = _data()
    tree = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0)
    runs = [outsample.estimate(tree, table, y, criterion=Bootstrap(10), random_state=s) for s in range(40)]
    spread = np.std([run.out_sample for run in runs])
    assert np.sqrt(np.mean([run.monte_carlo_error**2 for run in runs])) == pytest.approx(spread, rel=0.3)


@pytest.mark.parametrize(
    "learner",
    [
        Ridge(),
        LinearRegression(),
        Lasso(0.05, tol=1e-12),
        HuberRegressor(tol=1e-9, max_iter=1000),
        KernelRidge(),
        PoissonRegressor(tol=1e-10, max_iter=1000),
        DecisionTreeRegressor(max_leaf_nodes=7, random_state=0),
        DecisionTreeRegressor(max_depth=4, random_state=0),
    ],
)
def test_weights_against_repeated_rows(learner):
    table, y = _data()
    y = np.abs(y)
    bag = _bags(50, 1, seed=0)[0]
    inside = np.flatnonzero(bag)
    repeated = clone(learner).fit(np.repeat(table, bag, axis=0), np.repeat(y, bag)).predict(table)
    weighted = clone(learner).fit(table[inside], y[inside], sample_weight=bag[inside].astype(float)).predict(table)
    assert weight_repeats(learner)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "learner",
    [
        DecisionTreeClassifier(min_samples_leaf=3),
        RandomForestClassifier(),
        LogisticRegression(class_weight="balanced"),
        make_pipeline(StandardScaler(), Ridge()),
        KNeighborsClassifier(),
    ],
)
def test_learners_for_which_a_weight_is_no_repetition(learner):
    assert not weight_repeats(learner)


def test_a_grid_over_a_count_of_rows_is_fitted_to_repeated_rows():
    table, y = _data()
    tree = DecisionTreeRegressor(random_state=0)
    problem = pose(tree, table, y, parameter="min_samples_leaf", values=[1, 5], random_state=5)
    losses = (y - _refits(clone(tree).set_params(min_samples_leaf=5), table, y, _bags(50, 8, seed=5))) ** 2
    outside = np.where(_bags(50, 8, seed=5) == 0, losses, np.nan)
    counted = ~np.isnan(outside).all(axis=0)
    expected = np.nanmean(outside[:, counted], axis=0).mean()
    assert Bootstrap(8).curve(problem).out_sample[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n", [24, 200])
def test_share_of_the_rows_that_a_bag_misses(n):
    """(1 − 1/n)ⁿ: .360 of 24 rows, .368 of many; a bag has as many rows as the data."""
    bags = draw_bags(drawing_units(n, None), 2000, np.random.SeedSequence(0))
    assert (bags.sum(axis=1) == n).all()
    missed = (bags == 0).mean(axis=1)
    assert missed.mean() == pytest.approx((1 - 1 / n) ** n, abs=4 * missed.std() / np.sqrt(2000))


def test_whole_groups_are_drawn():
    groups = np.repeat(np.arange(10), 5)
    bags = _bags(50, 30, seed=0, groups=groups)
    for group in range(10):
        members = bags[:, groups == group]
        assert (members == members[:, :1]).all()
    assert (bags[:, ::5].sum(axis=1) == 10).all()


def test_rows_of_weight_zero_are_no_data():
    table, y = _data()
    weight = np.r_[np.zeros(10), np.ones(40)]
    with_them = outsample.estimate(Ridge(), table, y, criterion=Bootstrap(10), sample_weight=weight, random_state=2)
    without = outsample.estimate(Ridge(), table[10:], y[10:], criterion=Bootstrap(10), random_state=2)
    assert with_them.out_sample == pytest.approx(without.out_sample, rel=1e-10)
    assert with_them.standard_error == pytest.approx(without.standard_error, rel=1e-10)


def test_a_scorer_judges_each_set_outside_a_bag_against_definition():
    table, y = _data()
    labels = (y > 0).astype(int)
    bags = _bags(50, 6, seed=4)
    scores = []
    for bag in bags:
        model = LogisticRegression(tol=1e-8).fit(np.repeat(table, bag, axis=0), np.repeat(labels, bag))
        scores.append(roc_auc_score(labels[bag == 0], model.decision_function(table[bag == 0])))
    ours = outsample.estimate(
        LogisticRegression(tol=1e-8), table, labels, loss="roc_auc", criterion=Bootstrap(6), random_state=4
    )
    assert ours.out_sample == pytest.approx(np.mean(scores), rel=1e-6)
    assert ours.standard_error > 0
    assert ours.monte_carlo_error == pytest.approx(np.std(scores, ddof=1) / np.sqrt(6), rel=1e-5)


@pytest.mark.parametrize("loss", ["log", "zero-one"])
def test_bags_that_miss_a_class_are_served(loss):
    table, _ = _data()
    rare = np.r_[[0, 1], np.full(48, 2)]
    result = outsample.estimate(
        DecisionTreeClassifier(max_depth=2, random_state=0),
        table,
        rare,
        loss=loss,
        criterion="632+",
        random_state=0,
    )
    assert np.isfinite(result.out_sample)


@pytest.mark.parametrize("kind", ["oob", "632+", "optimism"])
def test_same_bits_for_any_number_of_jobs(kind):
    table, y = _data()
    runs = [
        outsample.estimate(KNeighborsRegressor(2), table, y, criterion=Bootstrap(6, kind), random_state=0, n_jobs=jobs)
        for jobs in (1, 2)
    ]
    assert runs[0].out_sample == runs[1].out_sample
    assert runs[0].standard_error == runs[1].standard_error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"n_bags": 1}, "n_bags must be"), ({"n_bags": 2.5}, "n_bags must be"), ({"kind": "633"}, "kind must be one of")],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        Bootstrap(**arguments)


@pytest.mark.parametrize(
    ("name", "kind"), [("bootstrap", "oob"), ("632", "632"), ("632+", "632+"), ("optimism-bootstrap", "optimism")]
)
def test_names(name, kind):
    made = as_criterion(name)
    assert (made.kind, made.name) == (kind, name)


def test_kinds_share_the_fits_of_one_problem():
    table, y = _data()
    problem = pose(KNeighborsRegressor(2), table, y, random_state=0)
    for kind in ("oob", "632", "632+"):
        shared = Bootstrap(8, kind).curve(problem)
        alone = Bootstrap(8, kind).curve(pose(KNeighborsRegressor(2), table, y, random_state=0))
        assert shared.out_sample[0] == alone.out_sample[0]
        assert shared.n_fits == alone.n_fits == 9
