"""Complexities against enumeration, against the theorems that relate them, and against known sets."""

import itertools
import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

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
    with pytest.raises(ValueError, match="real values"):
        complexity(stump_hypotheses(X), None, X[:, 0])
    with pytest.raises(ValueError, match="n_draws"):
        complexity(LogisticRegression(), X, y, n_draws=0)
    with pytest.raises(ValueError, match="one label per sample"):
        complexity(stump_hypotheses(X), None, y[:5])
