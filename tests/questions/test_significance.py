"""Permutation tests against full enumeration, against their level, and against known power."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
    permutation_test_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import empirical_quantile, permutation_test
from outsample.questions.significance import PermutationTest, at_least, pvalue_of
from outsample.resampling.labels import FreePermutation
from outsample.running.run import ROW_SPLITS, child_integer, seed_sequence


def difference_of_means(X, y):
    return float(X[y == 1].mean() - X[y == 0].mean())


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_pvalue_against_enumeration_of_all_orders(alternative):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(7, 1)), np.array([0, 0, 0, 1, 1, 1, 1])
    null = np.array([difference_of_means(X, y[list(order)]) for order in itertools.permutations(range(7))])
    observed = difference_of_means(X, y)
    greater, less = (null >= observed - 1e-12).mean(), (null <= observed + 1e-12).mean()
    expected = {"greater": greater, "less": less, "two-sided": min(1, 2 * min(greater, less))}[alternative]
    result = permutation_test(None, X, y, statistic=difference_of_means, alternative=alternative)
    assert result.exact
    assert len(result.null) == 35
    assert result.pvalue == pytest.approx(expected, abs=1e-12)
    assert result.monte_carlo_error == 0


def test_learner_against_enumeration_of_all_orders():
    X, y = data(7, seed=5)
    tree = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0)
    scores = {}
    for order in itertools.permutations(y.tolist()):
        if order not in scores:
            scores[order] = tree.fit(X, order).score(X, order)
    null = [scores[order] for order in itertools.permutations(y.tolist())]
    expected = np.mean(np.array(null) >= tree.fit(X, y).score(X, y) - 1e-12)
    result = permutation_test(tree, X, y, cv="in-sample", random_state=0)
    assert result.pvalue == pytest.approx(expected, abs=1e-12)


def test_level_against_binomial_range():
    rng = np.random.default_rng(0)
    tests, pvalues = 500, []
    for k in range(tests):
        X, y = rng.normal(size=(14, 1)), rng.permutation(np.repeat([0, 1], 7))
        pvalues.append(permutation_test(None, X, y, statistic=difference_of_means, n_draws=99, random_state=k).pvalue)
    for level in (0.01, 0.05, 0.1):
        low, high = stats.binom.interval(0.999, tests, level)
        assert low <= sum(p <= level + 1e-12 for p in pvalues) <= high


def test_level_of_sequential_stopping_against_binomial_range():
    rng = np.random.default_rng(1)
    tests, pvalues, spent = 500, [], 0
    for k in range(tests):
        X, y = rng.normal(size=(14, 1)), rng.permutation(np.repeat([0, 1], 7))
        result = permutation_test(None, X, y, statistic=difference_of_means, n_draws=99, random_state=k, sequential=5)
        pvalues.append(result.pvalue)
        spent += len(result.null)
    for level in (0.01, 0.05, 0.1):
        assert sum(p <= level + 1e-12 for p in pvalues) <= stats.binom.ppf(0.999, tests, level)
    assert spent < 0.5 * 99 * tests


def test_sequential_pvalue_against_besag_and_clifford():
    X, y = data(30, seed=2)
    y = np.random.default_rng(0).permutation(y)
    whole = permutation_test(LogisticRegression(), X, y, n_draws=99, random_state=0)
    short = permutation_test(LogisticRegression(), X, y, n_draws=99, random_state=0, sequential=4)
    reached = np.flatnonzero(at_least(whole.null, whole.statistic))
    assert short.stopped
    assert len(short.null) == reached[3] + 1
    assert short.pvalue == 4 / len(short.null)
    assert short.null.tolist() == whole.null[: len(short.null)].tolist()
    assert "stopped early" in str(short)
    strong = permutation_test(LogisticRegression(), X, (X[:, 0] > 0), n_draws=99, random_state=0, sequential=True)
    assert not strong.stopped
    assert strong.pvalue == 0.01


def test_power_against_that_of_the_t_test():
    """Two normal samples of 10, means 1.5 apart: the t-test's power is 0.94 (one-sided, level 0.05)."""
    power = stats.nct.sf(stats.t.ppf(0.95, 18), 18, 1.5 / np.sqrt(0.2))
    rng = np.random.default_rng(0)
    y, rejected = np.repeat([0, 1], 10), 0
    for k in range(100):
        X = rng.normal(size=(20, 1)) + 1.5 * y[:, None]
        rejected += (
            permutation_test(None, X, y, statistic=difference_of_means, n_draws=99, random_state=k).pvalue <= 0.05
        )
    low, high = stats.binom.interval(0.999, 100, power)
    assert low - 5 <= rejected <= high


def test_plus_one_rule_and_ties():
    assert pvalue_of(0, 99, exact=False) == 0.01
    assert pvalue_of(5, 100, exact=True) == 0.05
    assert at_least([0.3, 0.1 + 0.2, 0.29], 0.3).tolist() == [True, True, False]
    assert at_least(0.3, 0.1 + 0.2)
    assert at_least(np.nan, 1.0)
    X, _ = data()
    useless = permutation_test(DummyRegressor(), X, X[:, 0], cv="in-sample", n_draws=19, random_state=0)
    assert useless.pvalue == 1.0


def test_reaching_the_quantile_itself_would_exceed_the_level():
    """The lecture rejects where S ≥ q(1 − α), one value too many; its theorem bounds P[S > q(1 − α)] by α.

    Each of 20 exchangeable values is the observed one as often as any other.
    """
    values = np.random.default_rng(0).normal(size=20)
    for level in (0.05, 0.1, 0.25):
        observed = [
            PermutationTest(value, 0.0, np.delete(values, k), False, False, "", "greater", 0)
            for k, value in enumerate(values)
        ]
        rejected = np.mean([test.statistic >= test.critical_value(level) for test in observed])
        quantile = empirical_quantile(values, 1 - level)
        assert rejected == np.mean(values > quantile) == pytest.approx(level)
        assert np.mean(values >= quantile) == pytest.approx(level + 1 / 20)


@pytest.mark.parametrize("n", [5, 25])
@pytest.mark.parametrize("level", [0.02, 0.05, 0.2, 0.5])
def test_two_sided_critical_values_against_the_pvalue(n, level):
    """p ≤ level exactly where the statistic reaches one of them: tried at every value the statistic could have had."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 1)), rng.normal(size=n)

    def correlation(X, y):
        return np.corrcoef(np.ravel(X), y)[0, 1]

    options = {"statistic": correlation, "n_draws": 200, "alternative": "two-sided", "random_state": 0}
    result = permutation_test(None, X, y, **options)
    values = result.null if result.exact else np.append(result.null, result.statistic)
    low, high = result.critical_value(level)
    assert low < high
    for value in np.unique(values):
        tail = min((values >= value - 1e-12).mean(), (values <= value + 1e-12).mean())
        assert (value <= low + 1e-12 or value >= high - 1e-12) == (min(1, 2 * tail) <= level + 1e-12)


def test_critical_value_against_the_pvalue():
    X, y = data(25)
    for seed in range(5):
        labels = np.random.default_rng(seed).permutation(y)
        result = permutation_test(LogisticRegression(), X, labels, n_draws=39, random_state=seed)
        for level in (0.05, 0.1, 0.3):
            assert (result.statistic >= result.critical_value(level) - 1e-12) == (result.pvalue <= level + 1e-12)
    with pytest.raises(ValueError, match="level"):
        result.critical_value(0)


def test_in_sample_statistics_against_refits():
    X, y = data(25)
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    fast = permutation_test(tree, X, y, cv="in-sample", n_draws=9, random_state=0)
    slow = permutation_test(tree, X, y, statistic=lambda model, X, y: model.score(X, y), n_draws=9, random_state=0)
    assert fast.null == pytest.approx(slow.null)
    assert fast.statistic == pytest.approx(tree.fit(X, y).score(X, y))


def test_cross_validated_statistics_against_scikit_learn():
    X, y = data(40)
    knn = KNeighborsClassifier(3)
    result = permutation_test(knn, X, y, cv=KFold(5), n_draws=19, random_state=0)
    assert result.statistic == pytest.approx(cross_val_score(knn, X, y, cv=KFold(5)).mean())
    by_scorer = permutation_test(
        knn, X, y, cv=KFold(5), statistic=lambda model, X, y: model.score(X, y), n_draws=19, random_state=0
    )
    assert by_scorer.null == pytest.approx(result.null)
    assert result.pvalue == 0.05


def test_coefficients_against_definition():
    X, _ = data()
    y = X[:, 1] + np.random.default_rng(3).normal(size=40)
    result = permutation_test(LinearRegression(), X, y, statistic="coefficient-norm", n_draws=19, random_state=0)
    assert result.statistic == pytest.approx((LinearRegression().fit(X, y).coef_ ** 2).sum())
    by_name = permutation_test(LinearRegression(), X, y, statistic="r2", cv="in-sample", n_draws=19, random_state=0)
    assert by_name.statistic == pytest.approx(LinearRegression().fit(X, y).score(X, y))
    loss = permutation_test(LinearRegression(), X, y, statistic="absolute", n_draws=19, random_state=0)
    assert loss.statistic < 0


@pytest.mark.parametrize("search_class", [outsample.GridSearch, GridSearchCV])
def test_whole_searches_select_inside_each_permutation(search_class):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 3)), rng.permutation(np.repeat([0, 1], 15))
    more = {"cv": 3} if search_class is GridSearchCV else {}
    search = search_class(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, **more)
    reported = permutation_test(search, X, y, statistic="best-score", n_draws=9, random_state=0)
    assert len(np.unique(reported.null)) > 1
    assert reported.pvalue > 0.1
    in_sample = permutation_test(search, X, y, cv="in-sample", n_draws=4, random_state=0)
    assert 0 <= in_sample.statistic <= 1
    signal = permutation_test(search, X, (X[:, 0] > 0).astype(int), cv=2, n_draws=4, random_state=0)
    assert signal.pvalue == 0.2


def test_pipelines_and_tables():
    X, y = data()
    table = pd.DataFrame(X, columns=list("abc"))
    labels = pd.Series(np.where(y == 1, "yes", "no"), index=np.arange(40) + 7)
    pipeline = make_pipeline(SelectKBest(k=1), LogisticRegression())
    assert permutation_test(pipeline, table, labels, n_draws=19, random_state=0).pvalue == 0.05
    own = permutation_test(
        None, table, labels, statistic=lambda X, y: abs((y == "yes").to_numpy() @ X["a"].to_numpy()), n_draws=19
    )
    assert own.pvalue <= 0.1


def test_paired_design_against_enumeration():
    """Pairs: each pair keeps or swaps its two labels, 2^6 arrangements."""
    rng = np.random.default_rng(0)
    pairs = np.repeat(np.arange(6), 2)
    y = np.tile([0, 1], 6)
    X = (rng.normal(size=6)[pairs] * 5 + 0.8 * y + 0.3 * rng.normal(size=12))[:, None]
    swaps = np.array(list(itertools.product([1, -1], repeat=6)))
    gaps = X[1::2, 0] - X[::2, 0]
    expected = ((swaps @ gaps) >= gaps.sum() - 1e-12).mean()
    result = permutation_test(None, X, y, statistic=difference_of_means, groups=pairs)
    assert len(result.null) == 64
    assert result.pvalue == pytest.approx(expected)
    free = permutation_test(None, X, y, statistic=difference_of_means, n_draws=199, random_state=0)
    assert result.pvalue < free.pvalue


def test_other_designs():
    X, y = data(24)
    groups = np.arange(24) // 4
    whole = permutation_test(LogisticRegression(), X, (groups % 2), groups=groups, n_draws=99)
    assert len(whole.null) == 20
    blocks = permutation_test(LogisticRegression(), X, y, block_size=6, n_draws=99)
    assert blocks.exact
    circle = permutation_test(LogisticRegression(), X, y, scheme="circular", n_draws=99)
    assert len(circle.null) == 24
    free = permutation_test(LogisticRegression(), X, y, scheme=FreePermutation(), n_draws=9, random_state=0)
    assert not free.exact


def test_results_speak():
    X, y = data()
    result = permutation_test(LogisticRegression(), X, y, n_draws=19, random_state=0)
    assert result.to_dict()["n_draws"] == 19
    assert "p = 0.05" in str(result)
    assert "<strong>" in result._repr_html_()
    assert result.n_fits == 60
    assert permutation_test(LogisticRegression(), X, y, cv="in-sample", n_draws=19, random_state=0).n_fits == 20


def test_bad_input():
    X, y = data()
    with pytest.raises(ValueError, match="n_draws"):
        permutation_test(LogisticRegression(), X, y, n_draws=0)
    with pytest.raises(ValueError, match="alternative"):
        permutation_test(LogisticRegression(), X, y, alternative="bigger")
    with pytest.raises(ValueError, match="one tail"):
        permutation_test(LogisticRegression(), X, y, alternative="two-sided", sequential=True)
    with pytest.raises(ValueError, match="function of"):
        permutation_test(None, X, y)
    with pytest.raises(ValueError, match="needs a search"):
        permutation_test(LogisticRegression(), X, y, statistic="best-score")
    with pytest.raises(ValueError, match="needs a linear model"):
        permutation_test(DecisionTreeClassifier(), X, y, statistic="coefficient-norm")
    with pytest.raises(ValueError, match="must return one number"):
        permutation_test(None, X, y, statistic=lambda X, y: X.mean(axis=0))
    with pytest.raises(ValueError, match="not a number"):
        permutation_test(None, X, y, statistic=lambda X, y: np.nan)
    with pytest.raises(ValueError, match='cv must be None, "in-sample", a number'):
        permutation_test(LogisticRegression(), X, y, cv="everything")
    with pytest.raises(ValueError, match="scheme must be"):
        permutation_test(LogisticRegression(), X, y, scheme="somehow")
    with pytest.raises(ValueError, match="pass groups="):
        permutation_test(LogisticRegression(), X, y, scheme="within")
    with pytest.raises(ValueError, match="exclude each other"):
        permutation_test(LogisticRegression(), X, y, scheme="circular", block_size=3)
    with pytest.raises(ValueError, match="one entry per row"):
        permutation_test(None, X, y, statistic=difference_of_means, groups=[1, 2])


# A learner that fits any labels

FULL_TREE = DecisionTreeClassifier(random_state=0)


def _folds(y, seed):
    """The folds a score is judged on by default, from their description."""
    return StratifiedKFold(3, shuffle=True, random_state=child_integer(seed_sequence(seed), ROW_SPLITS, 0))


def test_default_statistic_against_scikit_learn():
    X, y = data(40)
    knn = KNeighborsClassifier(3)
    ours = permutation_test(knn, X, y, n_draws=199, random_state=0)
    score, null, pvalue = permutation_test_score(knn, X, y, cv=_folds(y, 0), n_permutations=199, random_state=0)
    assert ours.statistic == pytest.approx(score)
    assert stats.ks_2samp(ours.null, null).pvalue > 0.01
    assert abs(ours.pvalue - pvalue) < 0.02


def test_default_statistic_of_a_regression_against_scikit_learn():
    X, _ = data(40)
    y = X[:, 0] + np.random.default_rng(1).normal(size=40)
    folds = KFold(3, shuffle=True, random_state=child_integer(seed_sequence(0), ROW_SPLITS, 0))
    expected = cross_val_score(Ridge(), X, y, cv=folds, scoring="neg_mean_squared_error").mean()
    assert permutation_test(Ridge(), X, y, n_draws=9, random_state=0).statistic == pytest.approx(expected)


def test_default_pvalue_against_enumeration_of_all_arrangements():
    X = np.random.default_rng(3).normal(size=(6, 2))
    arrangements = [np.isin(range(6), ones).astype(int) for ones in itertools.combinations(range(6), 3)]
    scores = np.array([cross_val_score(FULL_TREE, X, y, cv=_folds(y, 0)).mean() for y in arrangements])
    for y, score in zip(arrangements[:7], scores, strict=False):
        result = permutation_test(FULL_TREE, X, y, random_state=0)
        assert result.exact
        assert result.pvalue == pytest.approx((scores >= score - 1e-12).mean())
    # Valid: over all arrangements, equally likely without signal, p-values are below no level too often.
    pvalues = np.array([(scores >= score - 1e-12).mean() for score in scores])
    assert all((pvalues <= level).mean() <= level for level in pvalues)


def test_default_level_for_a_learner_that_fits_any_labels_against_binomial_range():
    rng = np.random.default_rng(2)
    tests, pvalues = 150, []
    for k in range(tests):
        X, y = rng.normal(size=(15, 2)), rng.permutation(np.repeat([0, 1, 2], 5))
        pvalues.append(permutation_test(KNeighborsClassifier(1), X, y, n_draws=19, random_state=k).pvalue)
    for level in (0.05, 0.1, 0.5):
        assert sum(p <= level + 1e-12 for p in pvalues) <= stats.binom.ppf(0.999, tests, level)
    assert min(pvalues) <= 0.1


def test_a_full_tree_finds_a_signal_by_default_and_none_in_sample():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:150], y[:150]
    assert permutation_test(FULL_TREE, X, y, n_draws=19, random_state=0).pvalue == 0.05
    blind = permutation_test(FULL_TREE, X, y, cv="in-sample", n_draws=19, random_state=0)
    assert blind.pvalue == 1
    assert blind.saturation == 1
    assert "cannot tell anything" in str(blind)


@pytest.mark.parametrize("learner", [FULL_TREE, KNeighborsClassifier(1)])
def test_a_nearly_saturated_test_says_so(learner):
    """Two rows that are alike keep a perfect fit from most labels, so scores are not all the same."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[0] = X[1]
    y = np.tile([0, 1], 20)
    result = permutation_test(learner, X, y, cv="in-sample", n_draws=39, random_state=0)
    assert len(np.unique(result.null)) == 2
    assert 0.9 < result.saturation < 1
    assert "real labels can hardly do better" in str(result)
    assert result.to_dict()["notes"] == list(result.notes)


def test_a_regression_that_interpolates_is_nearly_saturated():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 28)), rng.normal(size=30)
    assert permutation_test(LinearRegression(), X, y, cv="in-sample", n_draws=19, random_state=0).notes
    assert permutation_test(LinearRegression(), X[:, :3], y, cv="in-sample", n_draws=19, random_state=0).notes == ()
    assert permutation_test(LinearRegression(), X, y, n_draws=19, random_state=0).notes == ()


def test_saturation_against_definition():
    X, y = data(30)
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0)
    result = permutation_test(tree, X, y, cv="in-sample", n_draws=19, random_state=0)
    guess = np.bincount(y).max() / 30
    assert result.saturation == pytest.approx((result.null.mean() - guess) / (1 - guess))
    assert result.notes == ()


def test_default_folds_of_groups_and_of_rare_classes():
    X, y = data(24)
    pairs = np.arange(24) // 2
    paired = permutation_test(LogisticRegression(), X, y, groups=pairs, n_draws=9, random_state=0)
    expected = cross_val_score(LogisticRegression(), X, y, groups=pairs, cv=StratifiedGroupKFold(3)).mean()
    assert paired.statistic == pytest.approx(expected)
    rare = np.where(np.arange(24) < 2, 2, y)
    assert permutation_test(FULL_TREE, X, rare, n_draws=9, random_state=0).pvalue <= 1
    assert permutation_test(FULL_TREE, X, np.arange(24), n_draws=9, random_state=0).pvalue == 1


def test_answer_does_not_depend_on_the_number_of_jobs():
    X, y = data(20)
    one, two = (permutation_test(FULL_TREE, X, y, n_draws=9, random_state=0, n_jobs=n) for n in (1, 2))
    assert one.null.tolist() == two.null.tolist()
