"""Bounds against their formulas written out, and against the constants their sources print."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import outsample
from outsample import bounds
from outsample.hypotheses import StumpClassifier, stump_hypotheses, threshold_hypotheses

DELTAS = [0.9, 0.5, 0.1, 0.05, 0.01, 1e-6]
SIZES = [1, 10, 100, 10_000]

BY_COMPLEXITY = [
    bounds.permutation_bound,
    bounds.expected_permutation_bound,
    bounds.rademacher_bound,
]
# Our proofs are shorter, so that for some δ our constants are smaller.
SHARPER = ("Bartlett & Mendelson 2002, Theorem 5", "Theorem 6,", "Lemma 4", "Theorem 9")
ONE_OF_EACH = [
    *(lambda n, delta, f=f: f(in_sample=0.1, complexity=0.2, n=n, delta=delta) for f in BY_COMPLEXITY),
    lambda n, delta: bounds.permutation_complexity_bound(complexity=0.2, n=n, delta=delta),
    lambda n, delta: bounds.one_permutation_bound(complexity=0.2, n=n, delta=delta),
    lambda n, delta: bounds.one_label_bootstrap_bound(complexity=0.2, n=n, delta=delta),
    lambda n, delta: bounds.voting_margin_bound(below=0.1, margin=0.5, complexity=0.2, n=n, delta=delta),
    lambda n, delta: bounds.gaussian_bound(in_sample=0.1, complexity=0.2, n=n, delta=delta),
    lambda n, delta: bounds.vc_bound(in_sample=0.1, dimension=3, n=n, delta=delta),
    lambda n, delta: bounds.shatter_bound(in_sample=0.1, log_shatter=3, n=n, delta=delta),
    lambda n, delta: bounds.vc_entropy_bound(in_sample=0.1, log_shatter=3, n=n, delta=delta),
    lambda n, delta: bounds.empirical_vc_bound(in_sample=0.1, dimension=3, n=n, delta=delta),
    lambda n, delta: bounds.maximal_discrepancy_bound(in_sample=0.1, discrepancy=0.2, n=n, delta=delta),
    lambda n, delta: bounds.expected_discrepancy_bound(in_sample=0.1, discrepancy=0.2, n=n, delta=delta),
    lambda n, delta: bounds.holdout_bound(holdout_error=0.1, n_holdout=n, delta=delta),
    lambda n, delta: bounds.margin_bound(mistakes=0, margin=0.5, radius=1.0, n=n, delta=delta),
]


@pytest.mark.parametrize("bound", ONE_OF_EACH)
@pytest.mark.parametrize("delta", DELTAS)
def test_corrected_constants_are_never_smaller_than_printed_ones(bound, delta):
    for n in SIZES:
        result = bound(n, delta)
        assert result.value >= result.printed or any(words in result.theorem for words in SHARPER)
        assert result.value == pytest.approx(result.in_sample + result.gap)
        assert result.vacuous == (result.value >= 1)


@pytest.mark.parametrize("bound", ONE_OF_EACH)
def test_bounds_tighten_with_samples_and_loosen_with_confidence(bound):
    assert bound(10_000, 0.05).gap < bound(100, 0.05).gap
    assert bound(100, 0.01).gap > bound(100, 0.1).gap


def test_permutation_bound_against_formula_in_squared_units():
    n, d, e_in, P_in = 500, 0.05, 0.12, 0.2

    def root(c, over):
        return math.sqrt(c / n * math.log(over / d))

    squared = 4 * e_in + 4 * P_in + 4 * root(8, 2) + root(8, 6) + 2 * root(16, 12)
    result = bounds.permutation_bound(in_sample=e_in, complexity=P_in, n=n, delta=d, n_draws=math.inf)
    assert result.value == pytest.approx(squared / 4)
    assert result.printed == pytest.approx((4 * e_in + 4 * P_in + 4 * root(8, 12)) / 4)
    expected = 4 * e_in + 4 * P_in + root(8, 3) + 2 * root(16, 6)
    known = bounds.expected_permutation_bound(in_sample=e_in, complexity=P_in, n=n, delta=d)
    assert known.value == pytest.approx(expected / 4)
    assert known.printed == pytest.approx((4 * e_in + 4 * P_in + 3 * root(8, 6)) / 4)


def test_permutation_bound_is_cheaper_when_the_mean_complexity_is_known():
    """Corollary 4 is Theorem 5 at δ/2 and Corollary 2 at δ/2, put together."""
    whole = bounds.permutation_bound(in_sample=0.1, complexity=0.2, n=300, delta=0.08, n_draws=math.inf)
    mean = bounds.permutation_complexity_bound(complexity=0.2, n=300, delta=0.04)
    parts = bounds.expected_permutation_bound(in_sample=0.1, complexity=mean.value, n=300, delta=0.04)
    assert whole.value == pytest.approx(parts.value)


def test_corollary_2_against_its_formula_and_mcdiarmid():
    """One sample moves P_in by at most 4/n, so that McDiarmid's inequality gives √((8/n) ln(1/δ))."""
    found = bounds.permutation_complexity_bound(complexity=0.2, n=300, delta=0.04)
    assert found.value == pytest.approx(0.2 + math.sqrt(8 / 300 * math.log(1 / 0.04)))
    assert found.gap == pytest.approx(bounds.mcdiarmid_deviation(np.full(300, 4 / 300), 0.04))
    assert found.gap == found.printed - 0.2


def of_all_arrangements(rng):
    """(n, labels that are 1, values of a random hypothesis set on all arrangements of these labels)."""
    n = int(rng.integers(2, 9))
    ones = int(rng.integers(1, n))
    H = rng.choice([-1, 1], (int(rng.integers(1, 12)), n))
    labels = [np.isin(np.arange(n), chosen) * 2 - 1 for chosen in itertools.combinations(range(n), ones)]
    return n, ones, np.max(np.array(labels) @ H.T, axis=1) / n


def test_draws_of_permutations_against_enumeration():
    """P[P_in − mean of M permutations ≥ what is added at δ] ≤ δ, at every δ, for M = 1, 2, 3."""
    rng, tightest = np.random.default_rng(0), 0.0
    for _ in range(150):
        n, ones, values = of_all_arrangements(rng)
        atoms, counts = np.unique(np.round(values, 12), return_counts=True)
        sums, chances = np.zeros(1), np.ones(1)
        for draws in (1, 2, 3):
            sums, place = np.unique(np.round(np.add.outer(sums, atoms), 9).ravel(), return_inverse=True)
            chances = np.bincount(place.ravel(), np.outer(chances, counts / counts.sum()).ravel())
            short = values.mean() - sums / draws
            for t in short[short > 1e-9]:
                reached = chances[short >= t - 1e-9].sum()
                limit = bounds.one_permutation_bound(
                    complexity=0.0, n=n, delta=min(reached, 1 - 1e-9), n_draws=draws, mean_label=2 * ones / n - 1
                )
                assert t <= limit.gap + 1e-9
                tightest = max(tightest, t / limit.gap)
    assert tightest > 0.4


def test_draws_of_permutations_against_the_formula():
    n, ones, M, d = 200, 30, 10, 0.05
    expected = 8 * (ones / n) * (1 - ones / n) * math.log(1 / d) / (M * (n - 0.5) * (1 - 1 / (2 * (n - ones))))
    own = bounds.one_permutation_bound(complexity=0.3, n=n, delta=d, n_draws=M, mean_label=2 * ones / n - 1)
    assert own.gap == pytest.approx(math.sqrt(expected))
    printed = (2 + 1 / math.sqrt(2 * math.log(4))) * math.sqrt(2 / n * math.log(2 / d))
    assert own.printed == pytest.approx(0.3 + printed)
    any_labels = [bounds.one_permutation_bound(complexity=0.3, n=n, mean_label=m).gap for m in (0.0, 0.1, -0.5, 0.9)]
    assert any_labels == sorted(any_labels, reverse=True)


@pytest.mark.parametrize("draws", [1, 10, math.inf])
def test_permutation_bound_pays_for_its_draws(draws):
    n, d = 400, 0.1
    found = bounds.permutation_bound(in_sample=0.1, complexity=0.2, n=n, delta=d, n_draws=draws, mean_label=0.4)
    if draws == math.inf:
        return
    limit = bounds.one_permutation_bound(complexity=0.2, n=n, delta=d / 2, n_draws=draws, mean_label=0.4)
    whole = bounds.permutation_bound(in_sample=0.1, complexity=limit.value, n=n, delta=d / 2, n_draws=math.inf)
    assert found.value == pytest.approx(whole.value)
    assert found.value > bounds.permutation_bound(in_sample=0.1, complexity=0.2, n=n, delta=d, n_draws=math.inf).value


@pytest.mark.parametrize("bound", [bounds.permutation_bound, bounds.rademacher_bound])
def test_numbers_of_draws_are_named(bound):
    with pytest.raises(ValueError, match="n_draws must be infinity or a whole number of at least 1, got 0"):
        bound(in_sample=0.1, complexity=0.2, n=50, n_draws=0)


def test_sign_draws_against_enumeration():
    """P[R − mean of M draws ≥ √(2 ln(1/δ)/(nM))] ≤ δ, what `rademacher_bound` allows for flips, at every δ."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(2, 8))
        H = rng.choice([-1, 1], (int(rng.integers(1, 12)), n))
        values = np.max(np.array(list(itertools.product([-1, 1], repeat=n))) @ H.T, axis=1) / n
        for pairs, draws in ((values, 1), (np.add.outer(values, values).ravel() / 2, 2)):
            for t in np.unique(values.mean() - pairs):
                if t > 1e-9:
                    assert (values.mean() - pairs >= t - 1e-12).mean() <= math.exp(-(t**2) * n * draws / 2) + 1e-12


def test_other_bounds_against_formulas():
    n, d = 400, 0.02
    size = {"n": n, "delta": d}
    expected = {
        0.1 + 0.2 + math.sqrt((9 + 4 / 7) * math.log(1 / d) / (2 * n)): bounds.rademacher_bound(
            in_sample=0.1, complexity=0.2, n_draws=7, **size
        ),
        0.1 + math.sqrt((3 * math.log(2 * math.e * n / 3) + math.log(4 / d)) / n): bounds.vc_bound(
            in_sample=0.1, dimension=3, **size
        ),
        0.1 + math.sqrt((5 + math.log(4 / d)) / n): bounds.shatter_bound(in_sample=0.1, log_shatter=5, **size),
        0.1 + math.sqrt((60 + math.log(4)) / n) + math.sqrt(40 * math.log(2 / d) / n): bounds.vc_entropy_bound(
            in_sample=0.1, log_shatter=5, **size
        ),
        0.3 + math.sqrt(21 * math.log(3 / d) / (2 * n)): bounds.maximal_discrepancy_bound(
            in_sample=0.1, discrepancy=0.2, **size
        ),
        0.3 + math.sqrt((9 + 16 / 7) * math.log(1 / d) / (2 * n)): bounds.expected_discrepancy_bound(
            in_sample=0.1, discrepancy=0.2, n_draws=7, **size
        ),
        0.1 + math.sqrt(math.log(2 / d) / (2 * n)): bounds.holdout_bound(holdout_error=0.1, n_holdout=n, delta=d),
        5 / n
        + 27.18 * math.sqrt(4 / 0.25 * (math.log(n) ** 2 + 84) / n)
        + math.sqrt(4 * math.log(4 / d) / (n * math.log(2))): bounds.margin_bound(
            mistakes=5, margin=0.5, radius=2.0, **size
        ),
    }
    for value, bound in expected.items():
        assert bound.value == pytest.approx(value)
    by_dimension = bounds.empirical_vc_bound(in_sample=0.1, dimension=3, **size)
    by_count = bounds.vc_entropy_bound(in_sample=0.1, log_shatter=3 * math.log(n + 1), **size)
    assert by_dimension.value == by_count.value


def test_vc_bound_beyond_the_number_of_points():
    assert bounds.vc_bound(in_sample=0.0, dimension=1000, n=10).value == pytest.approx(
        math.sqrt((20 * math.log(2) + math.log(80)) / 10)
    )


def test_no_class_labels_points_in_more_ways_than_there_are():
    """V ln(en/V) exceeds n ln 2 for V above a third of n; a richer class never has the smaller bound."""
    dimensions = [*range(1, 45), 1000, math.inf]
    values = bounds.vc_bound(in_sample=0.0, dimension=dimensions, n=20).value
    assert (np.diff(values) >= 0).all()
    assert values.max() == pytest.approx(math.sqrt((40 * math.log(2) + math.log(80)) / 20))
    assert (np.diff(bounds.vc_complexity(dimension=dimensions, n=200)) >= 0).all()


def test_holdout_bound_of_several_models_is_a_union_bound():
    one = bounds.holdout_bound(holdout_error=0.2, n_holdout=50, delta=0.01)
    ten = bounds.holdout_bound(holdout_error=0.2, n_holdout=50, delta=0.1, n_models=10)
    assert one.gap == pytest.approx(ten.gap)


def test_linear_margin_bound_against_distances():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)) + 4, rng.normal(size=(30, 2)) - 4])
    y = np.repeat(["b", "a"], 30)
    model = LinearSVC().fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    distance = np.where(y == "b", 1, -1) * (X @ w + b) / math.sqrt(w @ w + b * b)
    radius = math.sqrt(1 + (X**2).sum(axis=1).max())
    by_hand = min(
        bounds.margin_bound(mistakes=int((distance < m).sum()), margin=m, radius=radius, n=60).value
        for m in distance[distance > 0]
    )
    assert bounds.linear_margin_bound(model, X, y).value == pytest.approx(by_hand)
    scaled = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    inside = bounds.linear_margin_bound(scaled[-1], scaled[:-1].transform(X), y)
    assert bounds.linear_margin_bound(scaled, X, y).value == pytest.approx(inside.value)


def test_arrays_give_one_bound_per_model():
    result = bounds.rademacher_bound(in_sample=[0.1, 0.0], complexity=[0.2, 0.9], n=1000)
    assert result.value.shape == (2,)
    assert result.vacuous.tolist() == [False, True]
    assert result.to_dict()["vacuous"] == [False, True]


def test_results_speak():
    result = bounds.vc_bound(in_sample=0.1, dimension=3, n=10)
    assert "vacuous" in str(result)
    assert float(result) == result.value > 1
    assert result.to_dict()["theorem"] in result._repr_html_().replace("&amp;", "&")


@pytest.mark.parametrize("bound", ONE_OF_EACH)
@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, float("nan")])
def test_bad_delta(bound, delta):
    with pytest.raises(ValueError, match="delta must be strictly between 0 and 1"):
        bound(100, delta)


@pytest.mark.parametrize("bound", ONE_OF_EACH)
@pytest.mark.parametrize("n", [0, -5, 2.5])
def test_bad_sizes(bound, n):
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        bound(n, 0.05)


def test_bad_numbers():
    with pytest.raises(ValueError, match="error rate between 0 and 1"):
        bounds.rademacher_bound(in_sample=1.6, complexity=0.2, n=10)
    with pytest.raises(ValueError, match="correlation"):
        bounds.permutation_bound(in_sample=0.1, complexity=4, n=10)
    with pytest.raises(ValueError, match="dimension must be at least 1"):
        bounds.vc_bound(in_sample=0.1, dimension=0, n=10)
    with pytest.raises(ValueError, match="negative"):
        bounds.empirical_vc_bound(in_sample=0.1, dimension=-1, n=10)
    with pytest.raises(ValueError, match="logarithm of a count"):
        bounds.shatter_bound(in_sample=0.1, log_shatter=-1, n=10)
    with pytest.raises(ValueError, match=r"mistakes must be between 0 and n = 10, got 11\.0$"):
        bounds.margin_bound(mistakes=11, margin=1, radius=1, n=10)
    with pytest.raises(ValueError, match=r"optimism must be in 0–1 units.*got 0\.9$"):
        bounds.optimism_bound(in_sample=0.1, optimism=0.9, mean_label=0.0, mean_prediction=0.0, n=10)
    with pytest.raises(ValueError, match="margin and radius"):
        bounds.margin_bound(mistakes=0, margin=0, radius=1, n=10)


def test_bad_linear_models():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3
    with pytest.raises(ValueError, match="two classes"):
        bounds.linear_margin_bound(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="no fitted linear classifier"):
        bounds.linear_margin_bound(SVC(kernel="rbf").fit(X, y % 2), X, y % 2)


def test_corollary_4_from_its_own_terms_against_the_bound_by_complexity():
    """Theorem 4 makes them one: P_in = 2 ê_gen + ȳ E[ḡ] in 0–1 units."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.5, 1, -1)
    options = {"random_state": 0}
    estimate = outsample.estimate(StumpClassifier(), X, y, criterion=outsample.Permutation(20), **options)
    complexity = outsample.permutation_complexity(StumpClassifier(), X, y, n_draws=20, **options)
    direct = bounds.optimism_bound(
        in_sample=estimate.in_sample,
        optimism=estimate.optimism,
        mean_label=y.mean(),
        mean_prediction=complexity.mean_product / y.mean(),
        n=60,
        n_draws=20,
    )
    by_complexity = bounds.permutation_bound(
        in_sample=estimate.in_sample, complexity=complexity.value, n=60, n_draws=20, mean_label=y.mean()
    )
    assert direct.value == pytest.approx(by_complexity.value)
    squared = 4 * estimate.in_sample + 2 * (4 * estimate.optimism) + 4 * complexity.mean_product
    assert direct.printed == pytest.approx((squared + 4 * math.sqrt(8 / 60 * math.log(12 / 0.05))) / 4)
    with pytest.raises(ValueError, match="mean_label must be"):
        bounds.optimism_bound(in_sample=0.1, optimism=0.1, mean_label=2.0, mean_prediction=0.0, n=9)


def test_lemma_7_by_simulation():
    """B_in ≤ value of one draw + √((2/n) ln(1/δ)) in at least 1 − δ of the draws."""
    assert bounds.one_label_bootstrap_bound(complexity=0.2, n=50, delta=0.1).value == pytest.approx(
        0.2 + math.sqrt(math.log(10) / 25)
    )
    rng = np.random.default_rng(1)
    y = np.where(rng.random(30) < 0.4, 1, -1)
    hypotheses = stump_hypotheses(rng.normal(size=(30, 2)))
    values = hypotheses.maxima(rng.choice(y, (3000, 30)))
    for delta in (0.5, 0.1, 0.01):
        limits = bounds.one_label_bootstrap_bound(complexity=values, n=30, delta=delta).value
        assert np.mean(values.mean() <= limits) >= 1 - delta


@pytest.mark.parametrize("n", [5, 9])
def test_complexity_of_a_vc_class_against_enumeration(n):
    """Thresholds have VC dimension 2, both directions included."""
    rng = np.random.default_rng(0)
    hypotheses = threshold_hypotheses(rng.normal(size=n))
    y = np.where(np.arange(n) < 2, 1, -1)
    most = {"n_draws": 2**n, "random_state": 0}
    R = outsample.rademacher_complexity(hypotheses, None, y, **most).value
    B = outsample.label_bootstrap_complexity(hypotheses, None, y, **most).value
    P = outsample.permutation_complexity(hypotheses, None, y, **most).value
    assert bounds.vc_complexity(dimension=2, n=n) >= R
    assert bounds.vc_complexity(dimension=2, n=n, scheme="label-bootstrap", mean_label=y.mean()) >= B
    assert bounds.vc_complexity(dimension=2, n=n, scheme="permutation", mean_label=y.mean()) >= P


def test_gaussian_bound_against_its_formula():
    found = bounds.gaussian_bound(in_sample=0.1, complexity=0.1, n=100, n_draws=5)
    most = 0.1 + math.sqrt(2 * math.log(40) / 500)
    assert found.value == pytest.approx(0.1 + math.sqrt(math.pi / 2) * most + 3 * math.sqrt(math.log(40) / 200))
    known = bounds.gaussian_bound(in_sample=0.1, complexity=0.1, n=100, n_draws=math.inf)
    assert known.value == pytest.approx(0.1 + math.sqrt(math.pi / 2) * 0.1 + 3 * math.sqrt(math.log(20) / 200))


def test_complexity_of_a_vc_class_against_its_formula():
    assert bounds.vc_complexity(dimension=3, n=400) == pytest.approx(
        math.sqrt(2 * 3 * math.log(math.e * 400 / 3) / 400)
    )
    assert bounds.vc_complexity(dimension=50, n=10) == 1.0


def test_printed_limits_against_their_sources():
    """Bartlett & Mendelson, Theorem 5, Lemma 4; Bartlett, Boucheron & Lugosi, Theorem 9; Mohri et al., Theorem 5.8."""
    n, d = 700, 0.03
    given = {"n": n, "delta": d, "n_draws": 5}
    twice = 3 * math.sqrt(math.log(2 / d) / (2 * n))
    printed = bounds.rademacher_bound(in_sample=0.1, complexity=0.2, **given).printed
    assert printed == pytest.approx(0.3 + twice)
    printed = bounds.expected_discrepancy_bound(in_sample=0.1, discrepancy=0.2, **given).printed
    assert printed == pytest.approx(0.3 + math.sqrt(9 * math.log(2 / d) / (2 * n)))
    for G in (0.2, 5.0):
        printed = bounds.gaussian_bound(in_sample=0.1, complexity=G, **given).printed
        assert printed == pytest.approx(0.1 + min(1.0, math.sqrt(math.pi / 2) * G) + twice)
    printed = bounds.voting_margin_bound(below=0.1, margin=0.5, complexity=0.2, **given).printed
    assert printed == pytest.approx(0.1 + 2 / 0.5 * 0.2 + twice)


def test_more_dimensions_than_points_label_them_in_every_way():
    for r in (4, 5, 9):
        assert bounds.log_dichotomies(4, r) == pytest.approx(math.log(16))


def test_without_delta_a_bound_may_fail_once_in_twenty():
    found = bounds.shatter_bound(in_sample=0.1, log_shatter=3, n=400)
    assert found.value == bounds.shatter_bound(in_sample=0.1, log_shatter=3, n=400, delta=0.05).value
    found = bounds.one_label_bootstrap_bound(complexity=0.1, n=400)
    assert found.value == bounds.one_label_bootstrap_bound(complexity=0.1, n=400, delta=0.05).value
    assert "with probability 0.95" in str(found)


def test_the_limit_1_is_vacuous_and_one_of_several_does_not_make_all_so():
    assert bounds.one_label_bootstrap_bound(complexity=1.0, n=400).vacuous
    exactly = bounds.rademacher_bound(in_sample=0.0, complexity=0.5, n=400)
    assert replace(exactly, value=1.0).vacuous
    assert not replace(exactly, value=np.nextafter(1.0, 0.0)).vacuous
    assert "vacuous" not in str(bounds.rademacher_bound(in_sample=0.1, complexity=[0.1, 0.9], n=4000))


BY_DRAWS = {
    bounds.permutation_bound: {"in_sample": 0.1, "complexity": 0.2},
    bounds.optimism_bound: {"in_sample": 0.1, "optimism": 0.1, "mean_label": 0.0, "mean_prediction": 0.0},
    bounds.one_permutation_bound: {"complexity": 0.2},
    bounds.rademacher_bound: {"in_sample": 0.1, "complexity": 0.2},
    bounds.gaussian_bound: {"in_sample": 0.1, "complexity": 0.2},
    bounds.expected_discrepancy_bound: {"in_sample": 0.1, "discrepancy": 0.2},
    bounds.voting_margin_bound: {"below": 0.1, "margin": 0.5, "complexity": 0.2},
}


@pytest.mark.parametrize("bound", BY_DRAWS, ids=lambda bound: bound.__name__)
def test_without_a_number_of_draws_a_complexity_is_that_of_one(bound):
    given = BY_DRAWS[bound] | {"n": 90}
    assert bound(**given).value == bound(**given, n_draws=1).value > bound(**given, n_draws=2).value
    assert bound(**given).value == bound(**given, delta=0.05).value


def test_draws_of_one_and_two_labels_against_the_formula():
    """k of n labels are 1: v = 8 (k/n)(1 − k/n)/((n − ½)(1 − 1/(2 max(k, n − k)))), also of one label of each class."""
    for n, k in ((2, 1), (3, 1), (3, 2), (4, 1), (200, 199)):
        v = 8 * k / n * (1 - k / n) / ((n - 0.5) * (1 - 1 / (2 * max(k, n - k))))
        found = bounds.one_permutation_bound(complexity=0.0, n=n, delta=0.3, mean_label=2 * k / n - 1)
        assert found.value == pytest.approx(math.sqrt(v * math.log(1 / 0.3)))
    assert bounds.one_permutation_bound(complexity=0.0, n=1, delta=0.3).value > 1


def test_complexity_of_a_vc_class_by_scheme_against_its_formula():
    n, V = 3000, 2
    plain = math.sqrt(2 * V * math.log(math.e * n / V) / n)
    for mean in (-0.3, 0.3):
        own = {"dimension": V, "n": n, "mean_label": mean}
        assert bounds.vc_complexity(**own) == pytest.approx(plain)
        assert bounds.vc_complexity(**own, scheme="label-bootstrap") == pytest.approx(plain + 0.3)
        assert bounds.vc_complexity(**own, scheme="permutation") == pytest.approx(plain + 0.3 + 1 / math.sqrt(n))
    assert bounds.vc_complexity(dimension=V, n=n, scheme="label-bootstrap") == pytest.approx(plain)


RATE, CORRELATION = ([0.0, 1.0], [-0.01, 1.01]), ([-1.0, 0.0, 1.0, 1 + 1e-12], [-1.01, 1.01])
MEAN_LABEL = ([-1.0, 0.5, 1.0], [-1.01, 1.01])
RANGES = [
    (bounds.rademacher_bound, {"complexity": 0.2}, "in_sample", *RATE),
    (bounds.rademacher_bound, {"in_sample": 0.1}, "complexity", *CORRELATION),
    (bounds.one_permutation_bound, {"complexity": 0.2}, "mean_label", *MEAN_LABEL),
    (bounds.permutation_bound, {"in_sample": 0.1, "complexity": 0.2}, "mean_label", *MEAN_LABEL),
    (bounds.vc_complexity, {"dimension": 2}, "mean_label", *MEAN_LABEL),
    (bounds.optimism_bound, {"in_sample": 0.1, "optimism": 0.0, "mean_prediction": 0.0}, "mean_label", *MEAN_LABEL),
    (bounds.optimism_bound, {"in_sample": 0.1, "optimism": 0.0, "mean_label": 0.0}, "mean_prediction", *MEAN_LABEL),
    (
        bounds.optimism_bound,
        {"in_sample": 0.1, "mean_label": 0.0, "mean_prediction": 0.0},
        "optimism",
        [-0.5, 0.0, 0.5, 0.5 * (1 + 1e-12)],
        [-0.51, 0.51],
    ),
    (bounds.gaussian_bound, {"in_sample": 0.1}, "complexity", [0.0, 2.0], [-0.01, math.nan]),
    (bounds.vc_bound, {"in_sample": 0.1}, "dimension", [1.0, 9.0], [0.99, math.nan]),
    (bounds.empirical_vc_bound, {"in_sample": 0.1}, "dimension", [0.0, 0.5], [-0.01, math.nan]),
    (bounds.shatter_bound, {"in_sample": 0.1}, "log_shatter", [0.0, 0.5], [-0.01, math.nan]),
    (bounds.margin_bound, {"margin": 1.0, "radius": 1.0}, "mistakes", [0.0, 0.5, 50.0], [-0.01, 50.5]),
    (bounds.margin_bound, {"mistakes": 0, "radius": 1.0}, "margin", [0.5, 2.0], [0.0, -0.01]),
    (bounds.margin_bound, {"mistakes": 0, "margin": 1.0}, "radius", [0.5, 2.0], [0.0, -0.01]),
    (bounds.voting_margin_bound, {"below": 0.1, "complexity": 0.2}, "margin", [0.01, 1.0], [0.0, 1.01]),
    (bounds.voting_margin_bound, {"margin": 0.1, "complexity": 0.2}, "below", *RATE),
]


@pytest.mark.parametrize(("bound", "given", "name", "right", "wrong"), RANGES)
def test_the_ends_of_ranges_are_in_and_what_is_beyond_is_named_among_many(bound, given, name, right, wrong):
    for value in right:
        bound(n=50, **given, **{name: value})
    for value in wrong:
        with pytest.raises(ValueError, match=name):
            bound(n=50, **given, **{name: value})
        if name != "mean_label":
            with pytest.raises(ValueError, match=name):
                bound(n=50, **given, **{name: [right[1], value]})
