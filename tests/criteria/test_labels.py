"""The label criteria against theorems, full enumeration and each other.

The theorems are those of Magdon-Ismail & Mertsalov; enumeration runs over all n! permutations of n = 7 labels.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample import LabelBootstrap, Permutation, Rademacher, Resubstitution
from outsample.losses.pointwise import AbsoluteLoss, SquaredLoss, ZeroOneLoss
from outsample.paths.trees.leaves import CutTreeDesign
from outsample.resampling.labels import FreePermutation, LabelDraws, WithReplacement
from outsample.running.run import LABEL_DRAWS, child_seed, seed_sequence

RNG = np.random.default_rng(7)
X7 = RNG.normal(size=(7, 1))
REAL7 = X7[:, 0] + RNG.normal(size=7)
BINARY7 = np.array(["no", "no", "yes", "no", "yes", "yes", "no"])
ALL = Permutation(5040)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _the_same_data_in_any_order():
    """Tests draw from one generator; each starts where the module left it."""
    RNG.bit_generator.state = START


def label_draws(scheme, y, n_draws):
    """The label vectors of an estimate with random_state=0."""
    return LabelDraws(scheme, y, n_draws, child_seed(seed_sequence(0), LABEL_DRAWS))


def every_permutation(y):
    return [np.array(p) for p in itertools.permutations(y)]


def enumerated_optimism(learner, X, y, loss):
    """The definition of the estimate, with every permutation counted, ties and all."""
    known = {}
    for labels in every_permutation(y):
        key = tuple(labels)
        if key not in known:
            prediction = clone(learner).fit(X, labels).predict(X)
            pairs = loss.pointwise(y[None, :], prediction[:, None])
            known[key] = np.mean(pairs) - np.mean(loss.pointwise(labels, prediction))
    return float(np.mean([known[tuple(labels)] for labels in every_permutation(y)]))


ENUMERATED = {
    "least squares": (LinearRegression(), REAL7, "squared", SquaredLoss()),
    "1-NN": (KNeighborsClassifier(1), BINARY7, "zero-one", ZeroOneLoss()),
    "3-NN": (KNeighborsClassifier(3), BINARY7, "zero-one", ZeroOneLoss()),
    "sign of ridge regression": (RidgeClassifier(0.5), BINARY7, "zero-one", ZeroOneLoss()),
    "three-leaf tree": (DecisionTreeClassifier(max_leaf_nodes=3, random_state=0), BINARY7, "zero-one", ZeroOneLoss()),
    "median": (DummyRegressor(strategy="median"), REAL7, "absolute", AbsoluteLoss()),
    "median of neighbours": (KNeighborsRegressor(2), REAL7.round(), "absolute", AbsoluteLoss()),
}


@cache
def enumerated(name):
    learner, y, _, reference = ENUMERATED[name]
    return enumerated_optimism(learner, X7, y, reference)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", ENUMERATED)
def test_exhaustive_mode_against_enumeration(name, fast):
    learner, y, loss, _ = ENUMERATED[name]
    result = outsample.estimate(learner, X7, y, loss=loss, criterion=ALL, fast=fast)
    assert result.optimism == pytest.approx(enumerated(name), abs=1e-12)
    assert result.monte_carlo_error == 0.0
    assert result.out_sample == pytest.approx(result.in_sample + result.optimism)


@pytest.mark.parametrize("name", ENUMERATED)
def test_monte_carlo_against_enumeration(name):
    learner, y, loss, _ = ENUMERATED[name]
    draws = Permutation(30 if len(set(y)) == 2 else 60)
    fast = not isinstance(learner, LinearRegression | Ridge)  # which would be exact, not Monte Carlo
    result = outsample.estimate(learner, X7, y, loss=loss, criterion=draws, random_state=1, fast=fast)
    exact = enumerated(name)
    assert result.monte_carlo_error > 0 or result.optimism == pytest.approx(exact)
    assert abs(result.optimism - exact) <= 4 * result.monte_carlo_error + 1e-12


@pytest.mark.parametrize("loss", [SquaredLoss(), AbsoluteLoss()])
def test_theorem_1_the_error_on_permuted_labels_is_the_crossed_mean(loss):
    """For a fixed predictor, the mean loss over all permutations is s²_y + mean (h − ȳ)², or its like."""
    h = RNG.normal(size=7)
    over_all = np.mean([loss.risk(labels, h) for labels in every_permutation(REAL7)])
    assert loss.crossed_mean(REAL7, h) == pytest.approx(over_all, abs=1e-12)
    if isinstance(loss, SquaredLoss):
        assert over_all == pytest.approx(np.var(REAL7) + np.mean((h - REAL7.mean()) ** 2), abs=1e-12)


@pytest.mark.parametrize(
    ("criterion", "scheme"), [(Permutation(5), FreePermutation()), (LabelBootstrap(5), WithReplacement())]
)
def test_theorem_2_optimism_of_a_draw_is_twice_the_covariance_of_fit_and_labels(criterion, scheme):
    X, y = RNG.normal(size=(20, 3)), RNG.normal(size=20)
    learner = DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)
    ours = outsample.estimate(learner, X, y, criterion=criterion, random_state=0, fast=False).draws
    draws = label_draws(scheme, y, 5)
    for optimism, labels in zip(ours, draws, strict=True):
        fit = clone(learner).fit(X, labels).predict(X)
        assert optimism == pytest.approx(2 * np.mean((labels - y.mean()) * (fit - y.mean())), abs=1e-12)
    if isinstance(scheme, FreePermutation):
        fits = [clone(learner).fit(X, labels).predict(X) for labels in draws]
        plain = [2 * np.mean((labels - y.mean()) * fit) for labels, fit in zip(draws, fits, strict=True)]
        np.testing.assert_allclose(ours, plain, atol=1e-12)


def test_theorem_2_for_classes_is_a_quarter_of_it_on_signs():
    X, y = RNG.normal(size=(20, 3)), RNG.integers(0, 2, 20)
    learner = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    ours = outsample.estimate(learner, X, y, criterion=Permutation(5), random_state=0, fast=False).draws
    draws = label_draws(FreePermutation(), y, 5)
    for optimism, labels in zip(ours, draws, strict=True):
        signs, fit = 2 * labels - 1, 2 * clone(learner).fit(X, labels).predict(X) - 1
        assert optimism == pytest.approx(np.mean((signs - signs.mean()) * fit) / 2, abs=1e-12)


def smoother_matrix(learner, X):
    return np.column_stack([clone(learner).fit(X, column).predict(X) for column in np.eye(len(X))])


LINEAR = [LinearRegression(), LinearRegression(fit_intercept=False), Ridge(3.0), KNeighborsRegressor(3)]


@pytest.mark.parametrize("learner", LINEAR, ids=str)
def test_theorem_3_against_enumeration(learner):
    X, y = RNG.normal(size=(6, 2)), REAL7[:6]
    S = smoother_matrix(learner, X)
    variance = np.var(y, ddof=1)
    formula = 2 * variance / 6 * (np.trace(S) - S.sum() / 6)
    assert formula == pytest.approx(enumerated_optimism(learner, X, y, SquaredLoss()), abs=1e-12)
    assert outsample.estimate(learner, X, y, criterion=ALL).optimism == pytest.approx(formula, abs=1e-12)
    drawn = outsample.estimate(learner, X, y, criterion=Permutation(200), random_state=0, fast=False)
    assert drawn.n_fits == 201
    assert abs(drawn.optimism - formula) < 4 * drawn.monte_carlo_error


@pytest.mark.parametrize("learner", LINEAR, ids=str)
def test_with_replacement_against_enumeration(learner):
    """2 s²_y tr(S)/n, over all nⁿ label vectors."""
    X, y = X7[:4], REAL7[:4]
    if isinstance(learner, KNeighborsRegressor):
        X = X + np.arange(4)[:, None]
    S = smoother_matrix(learner, X)
    formula = 2 * np.var(y) * np.trace(S) / 4
    listed = outsample.estimate(learner, X, y, criterion=LabelBootstrap(256), fast=False)
    assert listed.n_fits == 257
    assert listed.optimism == pytest.approx(formula, abs=1e-12)
    drawn = outsample.estimate(learner, X, y, criterion=LabelBootstrap(200), random_state=0)
    assert abs(drawn.optimism - formula) <= 4 * drawn.monte_carlo_error + 1e-12


def test_weights_go_into_fit_and_loss():
    X, y, weight = RNG.normal(size=(30, 2)), RNG.normal(size=30), RNG.uniform(0.1, 3, 30)
    fitted = Ridge(1.0).fit(X, y, sample_weight=weight).predict(X)
    result = outsample.estimate(Ridge(1.0), X, y, sample_weight=weight, fast=False, random_state=0)
    assert result.in_sample == pytest.approx(np.average((y - fitted) ** 2, weights=weight))


def test_weights_of_one_change_nothing():
    X, y = RNG.normal(size=(30, 2)), RNG.integers(0, 3, 30)
    learner = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    for loss in ("zero-one", "log", "accuracy"):
        plain = outsample.estimate(learner, X, y, loss=loss, random_state=0, fast=False)
        weighted = outsample.estimate(learner, X, y, loss=loss, random_state=0, fast=False, sample_weight=np.ones(30))
        assert weighted.out_sample == pytest.approx(plain.out_sample, abs=1e-12)


def test_zero_weight_is_absence_from_fit_and_loss():
    """Two rows of no weight: the in-sample error is that of the other rows."""
    X, y = RNG.normal(size=(30, 2)), RNG.integers(0, 2, 30)
    weight = np.r_[np.zeros(2), np.ones(28)]
    learner = LogisticRegression()
    ours = outsample.estimate(learner, X, y, loss="log", sample_weight=weight, criterion="resubstitution", fast=False)
    rest = outsample.estimate(learner, X[2:], y[2:], loss="log", criterion="resubstitution", fast=False)
    assert ours.in_sample == pytest.approx(rest.in_sample, rel=1e-5)


def grouped_optimism(learner, X, y, groups, whole):
    """Enumerate all permutations that respect the groups; crossed means over what each row could have met."""
    rows = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    if whole:
        labels = [y[r[0]] for r in rows]
        vectors = []
        for p in itertools.permutations(labels):
            drawn = y.copy()
            for r, label in zip(rows, p, strict=True):
                drawn[r] = label
            vectors.append(drawn)
    else:
        vectors = []
        for parts in itertools.product(*(itertools.permutations(y[r]) for r in rows)):
            drawn = y.copy()
            for r, part in zip(rows, parts, strict=True):
                drawn[r] = part
            vectors.append(drawn)
    fits = [clone(learner).fit(X, v).predict(X) for v in vectors]
    own = np.mean([np.mean((v - f) ** 2) for v, f in zip(vectors, fits, strict=True)])
    crossed = np.mean([[np.mean((v - f) ** 2) for v in vectors] for f in fits])
    return float(crossed - own)


@pytest.mark.parametrize("whole", [False, True])
def test_groups_against_enumeration(whole):
    groups = np.array(["a", "b", "a", "c", "b", "c", "c"])
    y = np.array([1.0, 2.0, 1.0, 4.0, 2.0, 4.0, 4.0]) if whole else REAL7
    learner = DecisionTreeRegressor(max_leaf_nodes=3, random_state=0)
    for criterion in (ALL, Permutation(5040, groups="whole" if whole else "within")):
        result = outsample.estimate(learner, X7, y, groups=groups, criterion=criterion)
        assert result.optimism == pytest.approx(grouped_optimism(learner, X7, y, groups, whole), abs=1e-12)
        assert result.monte_carlo_error == 0.0


@pytest.mark.parametrize(
    ("criterion", "arrangements"),
    [
        (Permutation(50, circular=True), [np.roll(REAL7, k) for k in range(7)]),
        (
            Permutation(50, block_size=3),
            [REAL7, REAL7[[3, 4, 5, 0, 1, 2, 6]]],
        ),
    ],
    ids=["circular", "blocks"],
)
def test_series_against_enumeration(criterion, arrangements):
    learner = DecisionTreeRegressor(max_leaf_nodes=3, random_state=0)
    fits = [clone(learner).fit(X7, v).predict(X7) for v in arrangements]
    own = np.mean([np.mean((v - f) ** 2) for v, f in zip(arrangements, fits, strict=True)])
    crossed = np.mean([[np.mean((v - f) ** 2) for v in arrangements] for f in fits])
    result = outsample.estimate(learner, X7, REAL7, criterion=criterion)
    assert result.n_fits == len(arrangements) + 1
    assert result.optimism == pytest.approx(crossed - own, abs=1e-12)


def test_rademacher_is_half_the_complexity_of_what_the_learner_fits():
    X, y = X7[:5], BINARY7[:5]
    learner = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
    correlations = []
    for signs in itertools.product([-1, 1], repeat=5):
        signs = np.array(signs)
        constant = len(set(signs)) == 1
        fit = signs if constant else clone(learner).fit(X, signs).predict(X)
        correlations.append(np.mean(signs * fit))
    result = outsample.estimate(learner, X, y, criterion=Rademacher(32))
    assert result.n_fits == 33
    assert result.optimism == pytest.approx(np.mean(correlations) / 2, abs=1e-12)


def test_one_nearest_neighbour_fits_any_labels():
    """Its out-sample error is the crossed mean of the labels with themselves, whatever the data."""
    X, y = RNG.normal(size=(40, 2)), RNG.integers(0, 2, 40)
    p = y.mean()
    result = outsample.estimate(KNeighborsClassifier(1), X, y, criterion="permutation", random_state=0)
    assert result.in_sample == 0.0
    assert result.out_sample == pytest.approx(2 * p * (1 - p))
    assert result.notes[0].startswith("DEGENERATE: this model fits permuted labels")
    assert "DEGENERATE" in str(result)


def test_models_that_all_have_the_same_estimate_are_called_degenerate():
    X, y = np.zeros((30, 2)), np.tile([0, 1], 15)
    grid = {"max_leaf_nodes": [2, 3, 4]}
    search = outsample.GridSearch(DecisionTreeClassifier(), grid, criterion="permutation", random_state=0).fit(X, y)
    assert any(note.startswith("DEGENERATE: all 3 models have the same estimate") for note in search.curve_.notes)


def test_no_interval_around_an_estimate_priced_at_guessing_where_the_signal_is_strong():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    strong = outsample.estimate(tree, X, X[:, 0] > 0, criterion="permutation", random_state=0)
    with pytest.raises(ValueError, match=r"no interval that can be vouched for: criterion 'permutation' .*auto"):
        strong.interval()
    low, high = outsample.estimate(tree, X, noise, criterion="permutation", random_state=0).interval()
    assert low < 0.5 < high


@given(constant=st.floats(-1e3, 1e3), seed=st.integers(0, 100))
@settings(max_examples=15, deadline=None)
def test_a_constant_added_to_y_changes_nothing(constant, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    for learner in (Ridge(1.0), DecisionTreeRegressor(max_leaf_nodes=3, random_state=0)):
        for loss in ("squared", "absolute"):
            for criterion in (Permutation(3), LabelBootstrap(3)):
                plain = outsample.estimate(learner, X, y, loss=loss, criterion=criterion, random_state=seed)
                moved = outsample.estimate(learner, X, y + constant, loss=loss, criterion=criterion, random_state=seed)
                assert moved.out_sample == pytest.approx(plain.out_sample, abs=1e-7)
                assert moved.optimism == pytest.approx(plain.optimism, abs=1e-7)


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(max_leaf_nodes=4), LogisticRegression()], ids=str)
def test_row_order_matters_only_by_chance(learner):
    X, y = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)
    order = RNG.permutation(60)
    draws = Permutation(60)
    one = outsample.estimate(learner, X, y, criterion=draws, random_state=0)
    other = outsample.estimate(learner, X[order], y[order], criterion=draws, random_state=0)
    assert one.in_sample == pytest.approx(other.in_sample)
    error = np.hypot(one.monte_carlo_error, other.monte_carlo_error)
    assert abs(one.out_sample - other.out_sample) < 4 * error


def test_monte_carlo_error_is_the_spread_of_the_mean_over_draws():
    X, y = RNG.normal(size=(40, 3)), RNG.integers(0, 2, 40)
    learner = DecisionTreeClassifier(max_leaf_nodes=5)
    result = outsample.estimate(learner, X, y, criterion=Permutation(25), random_state=0)
    assert result.optimism == pytest.approx(result.draws.mean())
    assert result.monte_carlo_error == pytest.approx(result.draws.std(ddof=1) / 5)
    once = outsample.estimate(learner, X, y, criterion=Permutation(1), random_state=0)
    assert once.monte_carlo_error is None
    assert once.optimism == pytest.approx(result.draws[0])


def test_monte_carlo_error_tells_the_spread_of_repeated_runs():
    X, y = RNG.normal(size=(40, 3)), RNG.integers(0, 2, 40)
    learner = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
    runs = [outsample.estimate(learner, X, y, criterion=Permutation(20), random_state=seed) for seed in range(40)]
    spread = np.std([run.out_sample for run in runs], ddof=1)
    claimed = np.mean([run.monte_carlo_error for run in runs])
    assert 0.6 < spread / claimed < 1.5


@pytest.mark.parametrize("criterion", [Permutation(12), LabelBootstrap(12), Rademacher(12)])
@pytest.mark.parametrize("n", [90, 2600])
def test_labels_drawn_while_trees_grow_against_labels_drawn_before(criterion, n, monkeypatch):
    X, y = RNG.normal(size=(n, 4)), RNG.choice(["no", "yes"], n)
    search = outsample.GridSearch(
        DecisionTreeClassifier(), {"max_leaf_nodes": [2, 5, 9]}, criterion=criterion, refit=False, random_state=0
    )
    streamed = clone(search).fit(X, y).curve_
    monkeypatch.setattr(CutTreeDesign, "streams", False)
    at_once = clone(search).fit(X, y).curve_
    np.testing.assert_array_equal(streamed.draws, at_once.draws)
    np.testing.assert_array_equal(streamed.out_sample, at_once.out_sample)


@pytest.mark.parametrize("criterion", [Permutation(12), LabelBootstrap(12)])
@pytest.mark.parametrize("weighted", [False, True])
def test_real_labels_drawn_while_trees_grow_against_labels_drawn_before(criterion, weighted, monkeypatch):
    X, y = RNG.normal(size=(400, 4)), RNG.standard_t(3, size=400)
    weight = RNG.uniform(0.5, 2, 400) if weighted else None
    search = outsample.GridSearch(
        DecisionTreeRegressor(), {"max_leaf_nodes": [2, 5, 9]}, criterion=criterion, refit=False, random_state=0
    )
    streamed = clone(search).fit(X, y, sample_weight=weight).curve_
    monkeypatch.setattr(CutTreeDesign, "streams", False)
    at_once = clone(search).fit(X, y, sample_weight=weight).curve_
    np.testing.assert_array_equal(streamed.draws, at_once.draws)
    np.testing.assert_array_equal(streamed.out_sample, at_once.out_sample)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_a_constant_has_no_optimism_on_rearranged_labels(loss):
    X, y = RNG.normal(size=(30, 2)), 1e6 + RNG.standard_t(3, size=30)
    strategy = "mean" if loss == "squared" else "median"
    result = outsample.estimate(
        DummyRegressor(strategy=strategy), X, y, loss=loss, criterion=Permutation(8), random_state=0
    )
    np.testing.assert_allclose(result.draws, 0.0, atol=1e-12)
    drawn = outsample.estimate(
        DummyRegressor(strategy=strategy), X, y, loss=loss, criterion=LabelBootstrap(8), random_state=0
    )
    assert drawn.draws.std() > 1e-3


def test_standard_error_does_not_shrink_with_draws():
    X, y = RNG.normal(size=(40, 3)), RNG.integers(0, 2, 40)
    learner = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
    few, many = (outsample.estimate(learner, X, y, criterion=Permutation(m), random_state=0) for m in (10, 160))
    assert many.monte_carlo_error < few.monte_carlo_error / 2
    assert many.standard_error == pytest.approx(few.standard_error, rel=0.1)


@pytest.mark.parametrize("tolerance", [0.05, 0.01])
def test_auto_stops_as_soon_as_the_monte_carlo_error_allows(tolerance):
    X, y = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)
    learner = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    result = outsample.estimate(learner, X, y, criterion=Permutation("auto", tolerance=tolerance), random_state=0)
    scale = min(y.mean(), 1 - y.mean())
    assert result.monte_carlo_error <= tolerance * scale
    draws = result.n_fits - 1
    before = result.draws[: draws // 2]
    assert draws == 10 or before.std(ddof=1) / np.sqrt(len(before)) > tolerance * scale
    fixed = outsample.estimate(learner, X, y, criterion=Permutation(draws), random_state=0)
    np.testing.assert_array_equal(fixed.draws, result.draws)
    assert not result.notes


def test_auto_says_when_it_gave_up():
    X, y = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)
    learner = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    result = outsample.estimate(learner, X, y, criterion=Permutation("auto", tolerance=1e-6), random_state=0)
    assert result.n_fits == 1001
    assert result.notes == ("Stopped after 1000 draws with a Monte-Carlo error above the tolerance.",)


def test_auto_lists_all_arrangements_when_they_are_few():
    learner = KNeighborsClassifier(3)
    result = outsample.estimate(learner, X7, BINARY7, criterion=Permutation("auto"))
    assert result.n_fits == 36
    assert result.monte_carlo_error == 0.0


def test_resubstitution_is_the_in_sample_error():
    result = outsample.estimate(KNeighborsClassifier(3), X7, BINARY7, criterion=Resubstitution())
    assert result.optimism == 0.0
    assert result.out_sample == result.in_sample
    assert result.n_fits == 1
    assert "not on new data" in result.estimand


BAD = [
    ({"n_draws": 0}, 'n_draws must be "auto" or a whole number of at least 1, got 0'),
    ({"n_draws": -3}, "got -3"),
    ({"n_draws": 2.5}, "got 2.5"),
    ({"n_draws": "many"}, "got 'many'"),
    ({"n_draws": None}, "got None"),
    ({"n_draws": True}, "got True"),
    ({"n_draws": float("nan")}, "got nan"),
    ({"tolerance": 0}, "tolerance must be a positive number, got 0"),
    ({"tolerance": "small"}, "tolerance must be a positive number, got 'small'"),
]


@pytest.mark.parametrize("criterion", [Permutation, LabelBootstrap, Rademacher])
@pytest.mark.parametrize(("arguments", "sentence"), BAD)
def test_bad_arguments(criterion, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        criterion(**arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"groups": "both"}, 'groups must be "within", "whole" or None, got .both'),
        ({"groups": "whole", "circular": True}, "exclude each other"),
        ({"block_size": 2, "circular": True}, "exclude each other"),
        ({"block_size": 0}, "block_size must be a whole number of at least 1, got 0"),
        ({"block_size": 1.5}, "block_size must be a whole number of at least 1, got 1.5"),
    ],
)
def test_bad_arguments_of_permutation(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Permutation(**arguments)


@pytest.mark.parametrize(
    ("criterion", "groups", "sentence"),
    [
        (Permutation(groups="whole"), None, "groups='whole' needs the group of every row"),
        (Permutation(circular=True), np.arange(7) % 2, "groups cannot be kept together by block_size or circular"),
        (Permutation(block_size=2), np.arange(7) % 2, "groups cannot be kept together by block_size or circular"),
        (Permutation(groups="within"), np.arange(7), "constant within every group"),
        (Permutation(block_size=4), None, "at least two blocks of 7 rows, got 4"),
        (LabelBootstrap(), np.arange(7) % 2, 'groups: criterion .label-bootstrap. .* use "permutation"'),
        (Rademacher(), np.arange(7) % 2, 'groups: criterion .rademacher. .* use "permutation"'),
        (Permutation(), np.arange(6), r"groups must have one entry per row, shape \(7,\), got \(6,\)"),
    ],
)
def test_groups_that_cannot_be_kept(criterion, groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        outsample.estimate(KNeighborsClassifier(1), X7, BINARY7, criterion=criterion, groups=groups)


def test_no_interval_around_estimates_of_models_that_fit_any_labels():
    """The estimate is that of guessing, the error of the model far below it: neither end means anything."""
    X, y = make_classification(150, 8, n_informative=4, class_sep=2, flip_y=0, random_state=0)
    forest = RandomForestClassifier(20, random_state=0)
    for loss, why in {"zero-one": "fits permuted labels almost without error", "roc_auc": "no standard error"}.items():
        found = outsample.estimate(forest, X, y, criterion="permutation", loss=loss, random_state=0)
        assert found.notes[0].startswith("DEGENERATE: this model fits permuted labels almost without error")
        with pytest.raises(ValueError, match=f"there is no interval.*{why}"):
            found.interval()
    noise = np.random.default_rng(0).permutation(y)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    low, high = outsample.estimate(stump, X, noise, criterion="permutation", random_state=0).interval()
    assert low < 0.5 < high
