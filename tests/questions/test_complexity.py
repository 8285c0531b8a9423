"""Complexities against enumeration, against the theorems that relate them, and against known sets."""

import itertools
import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from outsample.hypotheses import HypothesisSet, StumpClassifier, stump_hypotheses
from outsample.paths.dispatch import find_path

COMPLEXITIES = [
    outsample.permutation_complexity,
    outsample.label_bootstrap_complexity,
    outsample.rademacher_complexity,
    outsample.maximal_discrepancy,
    outsample.expected_discrepancy,
]


def problem(n, seed=0, share=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(rng.random(n) < share, 1, -1)
    y[:2] = [1, -1]
    return X, y


def all_signs(n):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=n)))


def test_rademacher_complexity_against_enumeration():
    """Over all 2ⁿ sign vectors, of a set of hypotheses and of the learner that minimises its training error."""
    X, y = problem(6, seed=2)
    hypotheses = stump_hypotheses(X)
    expected = np.mean([max(np.mean(signs * h) for h in hypotheses.signs) for signs in all_signs(6)])
    for asked in ((hypotheses, None), (StumpClassifier(), X)):
        assert outsample.rademacher_complexity(*asked, y, n_draws=64).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_permutation_complexity_against_enumeration(share):
    X, y = problem(7, share=share)
    hypotheses = stump_hypotheses(X)
    expected = np.mean([hypotheses.maxima(y[list(order)][None])[0] for order in itertools.permutations(range(7))])
    exact = outsample.permutation_complexity(hypotheses, None, y, n_draws=100)
    fitted = outsample.permutation_complexity(StumpClassifier(), X, y, n_draws=100)
    assert exact.value == pytest.approx(expected, abs=1e-12)
    assert fitted.value == pytest.approx(expected, abs=1e-12)
    assert exact.monte_carlo_error == fitted.monte_carlo_error == 0


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_theorem_4_for_a_risk_minimiser_against_enumeration(share):
    """P_in = ½ ê_gen + ȳ E[ḡ], ê_gen in squared units; every piece from its definition, all permutations."""
    X, y = problem(7, seed=3, share=share)
    orders = [y[list(order)] for order in itertools.permutations(range(7))]
    fits = {tuple(p): StumpClassifier().fit(X, p).predict(X) for p in {tuple(o) for o in orders}}
    pairs = [(p, fits[tuple(p)]) for p in orders]
    e_gen = np.mean([np.mean((y[:, None] - g) ** 2) - np.mean((p - g) ** 2) for p, g in pairs])
    mean_product = y.mean() * np.mean([g.mean() for _, g in pairs])
    measured = outsample.permutation_complexity(StumpClassifier(), X, y, n_draws=100)
    assert measured.value == pytest.approx(e_gen / 2 + mean_product, abs=1e-12)
    assert measured.mean_product == pytest.approx(mean_product, abs=1e-12)
    estimate = outsample.estimate(StumpClassifier(), X, y, criterion=outsample.Permutation(100))
    assert 4 * estimate.optimism == pytest.approx(e_gen, abs=1e-12)


def test_theorem_4_on_common_random_draws():
    X, y = problem(40, seed=4, share=0.7)
    measured = outsample.permutation_complexity(StumpClassifier(), X, y, n_draws=20, random_state=5)
    estimate = outsample.estimate(StumpClassifier(), X, y, criterion=outsample.Permutation(20), random_state=5)
    assert measured.value == pytest.approx(2 * estimate.optimism + measured.mean_product, abs=1e-12)


def test_label_bootstrap_against_permutations_lemma_6():
    """|B_in − P_in| ≤ 1/√n, exactly computed, on 1000 random problems; B_in from the definition."""
    rng = np.random.default_rng(0)
    closest = 0.0
    for _ in range(1000):
        n = int(rng.integers(3, 8))
        hypotheses = HypothesisSet(rng.choice([-1, 1], (int(rng.integers(1, 9)), n)), classes=(-1, 1))
        y = rng.choice([-1, 1], n)
        y[:2] = [-1, 1]
        signs = all_signs(n)
        share = (y == 1).mean()
        ones = (signs == 1).sum(axis=1)
        maxima = hypotheses.maxima(signs)
        B_in = float((share**ones * (1 - share) ** (n - ones)) @ maxima)
        P_in = float(maxima[ones == (y == 1).sum()].mean())
        assert outsample.label_bootstrap_complexity(hypotheses, None, y, n_draws=128).value == pytest.approx(B_in)
        assert outsample.permutation_complexity(hypotheses, None, y, n_draws=128).value == pytest.approx(P_in)
        closest = max(closest, abs(B_in - P_in) * math.sqrt(n))
    assert 0.2 < closest <= 1


def test_rademacher_complexity_of_a_pair_against_exact_value():
    """{h, −h}: R = E|Σ r_i|/n, the mean distance of a random walk."""
    n, y = 10, np.repeat([0, 1], 5)
    pair = HypothesisSet([np.ones(n), -np.ones(n)])
    expected = sum(math.comb(n, k) * abs(2 * k - n) for k in range(n + 1)) / 2**n / n
    assert outsample.rademacher_complexity(pair, None, y, n_draws=2**n).value == pytest.approx(expected, abs=1e-12)


def test_rademacher_complexity_of_all_dichotomies_against_exact_value():
    everything = HypothesisSet(all_signs(6))
    result = outsample.rademacher_complexity(everything, None, [0, 1] * 3, n_draws=10, random_state=0)
    assert result.value == 1.0
    single = HypothesisSet([np.ones(6)], classes=(-1, 1))
    assert outsample.rademacher_complexity(single, None, [0, 1] * 3, n_draws=64).value == pytest.approx(0, abs=1e-12)


def test_expected_discrepancy_against_rademacher_complexity():
    """The same number in expectation: exactly when all label vectors are used."""
    X, y = problem(8, seed=6)
    hypotheses = stump_hypotheses(X)
    exact = outsample.rademacher_complexity(hypotheses, None, y, n_draws=256)
    discrepancy = outsample.expected_discrepancy(hypotheses, None, y, n_draws=256)
    assert discrepancy.value == pytest.approx(exact.value, abs=1e-12)
    drawn = outsample.expected_discrepancy(hypotheses, None, y, n_draws=200, random_state=0)
    assert drawn.value == pytest.approx(exact.value, abs=4 * drawn.monte_carlo_error)


@pytest.mark.parametrize("seed", range(8))
def test_maximal_discrepancy_of_an_odd_number_of_rows_is_off_by_at_most_one_in_n(seed):
    X, y = problem(7, seed=seed)
    hypotheses = stump_hypotheses(X)
    losses = (hypotheses.signs != y).astype(float)
    halves = list(itertools.combinations(range(7), 3))
    expected = np.mean([max(row[list(half)].mean() - np.delete(row, half).mean() for row in losses) for half in halves])
    measured = outsample.maximal_discrepancy(hypotheses, None, y, n_draws=len(halves))
    assert measured.value == pytest.approx(expected, abs=1 / 7)


def test_expected_discrepancy_against_definition():
    """E_σ sup_h (2/n) Σ σ_i ℓ_i over all signs, losses written out."""
    X, y = problem(6, seed=7)
    hypotheses = stump_hypotheses(X)
    losses = (hypotheses.signs != y).astype(float)
    expected = np.mean([(2 / 6) * (losses @ sigma).max() for sigma in all_signs(6)])
    assert outsample.expected_discrepancy(hypotheses, None, y, n_draws=64).value == pytest.approx(expected, abs=1e-12)


def test_maximal_discrepancy_against_definition():
    """Mean over all halves of max_h of the difference of errors."""
    X, y = problem(8, seed=8)
    hypotheses = stump_hypotheses(X)
    losses = (hypotheses.signs != y).astype(float)
    halves = list(itertools.combinations(range(8), 4))
    expected = np.mean([max(row[list(half)].mean() - np.delete(row, half).mean() for row in losses) for half in halves])
    measured = outsample.maximal_discrepancy(hypotheses, None, y, n_draws=len(halves))
    assert measured.value == pytest.approx(expected, abs=1e-12)
    assert outsample.maximal_discrepancy(hypotheses, None, y, random_state=0).monte_carlo_error is None


@pytest.mark.parametrize("complexity", COMPLEXITIES)
def test_exact_search_against_the_set_itself(complexity):
    X, y = problem(25, seed=9)
    by_learner = complexity(StumpClassifier(), X, y, n_draws=5, random_state=0)
    by_set = complexity(stump_hypotheses(X), None, y, n_draws=5, random_state=0)
    assert by_learner.value == pytest.approx(by_set.value, abs=1e-12)
    assert not by_learner.lower_bound
    assert not by_set.lower_bound


def test_paths_cost_one_fit_per_draw_and_grow():
    X, y = problem(60, seed=10)
    tree = DecisionTreeClassifier(random_state=0)
    result = outsample.permutation_complexity(
        tree, X, y, param="max_leaf_nodes", values=[2, 4, 8, 60], n_draws=10, random_state=0
    )
    assert result.n_fits == 10
    assert result.value.shape == result.monte_carlo_error.shape == (4,)
    assert (np.diff(result.value) >= 0).all()
    assert result.value[-1] == 1
    assert result.lower_bound
    path = find_path(tree, "max_leaf_nodes", [2, 4, 8, 60])
    again = outsample.permutation_complexity(path, X, y, n_draws=10, random_state=0)
    assert again.value.tolist() == result.value.tolist()
    assert "max_leaf_nodes=8" in str(result)


def test_a_perfect_fit_is_no_lower_bound():
    X, y = problem(30)
    assert not outsample.rademacher_complexity(KNeighborsClassifier(1), X, y, n_draws=5, random_state=0).lower_bound
    linear = outsample.rademacher_complexity(LogisticRegression(), X, y, n_draws=5, random_state=0)
    assert linear.lower_bound
    assert "lower bound" in str(linear)


def test_results_speak():
    X, y = problem(20)
    result = outsample.permutation_complexity(StumpClassifier(), X, y, n_draws=5, random_state=0)
    assert float(result) == result.value
    assert result.to_dict()["n_draws"] == 5
    assert "<strong>" in result._repr_html_()
    assert "Monte Carlo" in str(result)


@pytest.mark.parametrize("complexity", COMPLEXITIES)
def test_bad_labels(complexity):
    X, y = problem(20)
    with pytest.raises(ValueError, match="values, but LogisticRegression is a classifier"):
        complexity(LogisticRegression(), X, X[:, 0])
    with pytest.raises(ValueError, match="for regression use"):
        complexity(LinearRegression(), X, X[:, 0])
    with pytest.raises(ValueError, match="two classes, y has 3; with more classes use"):
        complexity(LogisticRegression(), X, np.arange(20) % 3)
    with pytest.raises(ValueError, match="two classes, y has 3"):
        complexity(stump_hypotheses(X), None, np.arange(20) % 3)
    with pytest.raises(ValueError, match=r"y is constant: it has one class only$"):
        complexity(stump_hypotheses(X), None, np.ones(20))
    with pytest.raises(ValueError, match="real values"):
        complexity(stump_hypotheses(X), None, X[:, 0])
    with pytest.raises(ValueError, match="n_draws"):
        complexity(LogisticRegression(), X, y, n_draws=0)
    with pytest.raises(ValueError, match="one label per sample"):
        complexity(stump_hypotheses(X), None, y[:5])


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_absolute_values_against_enumeration(share):
    """max_h |Σ y^π_i h(x_i)| over a set that is not closed under negation, over all permutations."""
    X, y = problem(6, seed=1, share=share)
    half = HypothesisSet(np.where(np.sort(X[:, 0])[:, None] < X[:, [0]].T, 1, -1), classes=(-1, 1))
    orders = [y[list(order)] for order in itertools.permutations(range(6))]
    expected = np.mean([np.abs(half.signs @ order).max() / 6 for order in orders])
    found = outsample.permutation_complexity(half, None, y, n_draws=100, absolute=True)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.value > outsample.permutation_complexity(half, None, y, n_draws=100).value
    both = outsample.permutation_complexity(half.closed_under_negation(), None, y, n_draws=100)
    assert found.value == pytest.approx(both.value, abs=1e-12)
    assert "absolute" in found.kind


@pytest.mark.parametrize("complexity", [*COMPLEXITIES, outsample.gaussian_complexity])
def test_absolute_values_of_a_learner_against_the_set_itself(complexity):
    X, y = problem(6, seed=2)
    hypotheses = stump_hypotheses(X)
    options = {"n_draws": 200, "random_state": 0, "absolute": True}
    exact, fitted = complexity(hypotheses, None, y, **options), complexity(StumpClassifier(), X, y, **options)
    error = max(1e-12, 4 * exact.monte_carlo_error, 4 * fitted.monte_carlo_error)
    assert fitted.value == pytest.approx(exact.value, abs=error)


def test_absolute_expected_discrepancy_against_definition():
    """E_σ sup_h |(2/n) Σ σ_i ℓ_i| over all signs, for hypotheses that are not closed under negation."""
    X, y = problem(5, seed=4)
    half = HypothesisSet(np.where(np.sort(X[:, 0])[:, None] < X[:, [0]].T, 1, -1), classes=(-1, 1))
    losses = half.signs != y
    expected = np.mean([np.abs(2 / 5 * losses @ signs).max() for signs in all_signs(5)])
    found = outsample.expected_discrepancy(half, None, y, n_draws=100, absolute=True)
    assert found.exhaustive
    assert found.value == pytest.approx(expected, abs=1e-12)


def test_gaussian_complexity_against_rademacher_and_definition():
    X, y = problem(7)
    hypotheses = stump_hypotheses(X)
    found = outsample.gaussian_complexity(hypotheses, None, y, n_draws=4000, random_state=0)
    rng = np.random.default_rng(5)
    g = rng.normal(size=(20_000, 7))
    expected = (g @ hypotheses.signs.T).max(axis=1) / 7
    error = math.hypot(found.monte_carlo_error, expected.std() / math.sqrt(20_000))
    assert found.value == pytest.approx(expected.mean(), abs=4 * error)
    R = outsample.rademacher_complexity(hypotheses, None, y, n_draws=200).value
    assert math.sqrt(math.pi / 2) * found.value + 4 * found.monte_carlo_error >= R


def test_gaussian_complexity_of_a_risk_minimiser_is_that_of_its_set():
    X, y = problem(9)
    options = {"n_draws": 40, "random_state": 3}
    exact = outsample.gaussian_complexity(stump_hypotheses(X), None, y, **options)
    fitted = outsample.gaussian_complexity(StumpClassifier(), X, y, **options)
    np.testing.assert_allclose(fitted.draws, exact.draws, atol=1e-12)
    assert not fitted.lower_bound


def test_other_multipliers():
    X, y = problem(30)
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    options = {"n_draws": 20, "random_state": 0}
    signs = outsample.multiplier_complexity(KNeighborsClassifier(3), X, y, multiplier="rademacher", **options)
    assert 0 < signs.value < 1
    for multiplier in ("uniform", "laplace", lambda rng, n: rng.standard_t(5, n)):
        assert outsample.multiplier_complexity(tree, X, y, multiplier=multiplier, **options).value > 0
    grown = outsample.gaussian_complexity(tree, X, y, param="max_leaf_nodes", values=[2, 8], **options)
    assert grown.value[0] < grown.value[1]
    with pytest.raises(ValueError, match="takes no weights in fit"):
        outsample.gaussian_complexity(KNeighborsClassifier(3), X, y, **options)
    with pytest.raises(ValueError, match="multiplier must be one of"):
        outsample.multiplier_complexity(tree, X, y, multiplier="gausian")


def test_draws_of_an_estimate_against_theorems_1_and_2():
    """Per draw: e_out = s_y² + mean (g − ȳ)², e_gen = (2/n) Σ (y^π − ȳ) g, in 0–1 units a quarter of it."""
    X, y = problem(40, share=0.3)
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    found = outsample.estimate(tree, X, y, criterion=outsample.Permutation(6), random_state=0)
    np.testing.assert_allclose(found.draw_out_sample - found.draw_in_sample, found.draws)
    from outsample.problem import pose
    from outsample.resampling.labels import FreePermutation, LabelDraws
    from outsample.running.run import LABEL_DRAWS, child_seed

    posed = pose(tree, X, y, random_state=0)
    drawn = LabelDraws(FreePermutation(), posed.y, 6, child_seed(posed.seed, LABEL_DRAWS))
    for i in range(6):
        labels = 2.0 * drawn[i] - 1
        g = tree.fit(X, labels).predict(X)
        assert found.draw_in_sample[i] == pytest.approx(np.mean((labels - g) ** 2) / 4)
        assert found.draw_out_sample[i] == pytest.approx((y.var() + np.mean((g - y.mean()) ** 2)) / 4)
        assert found.draws[i] == pytest.approx(2 * np.mean((labels - y.mean()) * g) / 4)


def test_effective_parameters_against_the_smoother_matrix():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 4)), rng.normal(size=25)
    alphas = [0.1, 3.0, 50.0]
    found = outsample.effective_parameters(Ridge(), X, y, param="alpha", values=alphas)
    without = outsample.effective_parameters(Ridge(fit_intercept=False), X, y, param="alpha", values=alphas)
    for fit_intercept, values in ((True, found), (False, without)):
        for alpha, value in zip(sorted(alphas, reverse=True), values, strict=True):
            S = np.column_stack(
                [Ridge(alpha=alpha, fit_intercept=fit_intercept).fit(X, e).predict(X) for e in np.eye(25)]
            )
            assert value == pytest.approx(np.trace(S) + 1 - S.sum() / 25)
    assert outsample.effective_parameters(LinearRegression(), X, y) == pytest.approx(5)
    with pytest.raises(ValueError, match="not known to be linear in y"):
        outsample.effective_parameters(DecisionTreeRegressor(), X, y)


@pytest.mark.parametrize("learner", [LogisticRegression(), SVC(), StumpClassifier()])
def test_multipliers_of_one_sign_are_fitted_by_a_constant(learner):
    """One draw of five multipliers in sixteen has a single sign; labels of one class are fitted without error."""
    X, y = problem(5)
    drawn = iter([np.array([0.5, 1.0, 2.0, 0.1, 0.4]), -np.ones(5)])
    found = outsample.multiplier_complexity(learner, X, y, multiplier=lambda rng, n: next(drawn), n_draws=2)
    assert found.draws[:, 0] == pytest.approx([0.8, 1.0])
    assert outsample.gaussian_complexity(learner, X, y, random_state=0).value > 0


def test_permutation_estimate_of_least_squares_against_the_number_of_columns():
    """Without a penalty the optimism is 2 σ̂²_y d/n, d the number of columns besides the constant."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20) + 5
    found = outsample.estimate(LinearRegression(), X, y, criterion="permutation")
    assert found.optimism == pytest.approx(2 * y.var(ddof=1) * 3 / 20)
    drawn = outsample.estimate(
        LinearRegression(), X, y, criterion=outsample.Permutation(300), fast=False, random_state=0
    )
    assert abs(drawn.optimism - found.optimism) < 4 * drawn.monte_carlo_error


def test_permutation_estimate_of_ridge_against_effective_parameters():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(25, 4)), rng.normal(size=25)
    found = outsample.estimate(Ridge(alpha=7.0), X, y, criterion="permutation")
    worth = float(outsample.effective_parameters(Ridge(alpha=7.0), X, y)[0])
    assert found.optimism == pytest.approx(2 * y.var(ddof=1) / 25 * (worth - 1))
