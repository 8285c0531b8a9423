"""`evaluate`: the error of fitted models, and intervals that cover it."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special, stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import (
    f1_score,
    get_scorer,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_squared_error,
    rand_score,
    roc_auc_score,
)
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample import GridSearch, evaluate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
CODES = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
NAMES = np.array(["no", "yes"])[CODES]
REAL = X[:, 0] + RNG.normal(size=120)
TRAIN, TEST = slice(0, 60), slice(60, 120)


class Told(ClassifierMixin, BaseEstimator):
    """Predicts the first column; nothing to fit."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


class FirstColumn(RegressorMixin, BaseEstimator):
    """Predicts the first column; nothing to fit."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


@pytest.fixture(scope="module")
def classifier():
    return LogisticRegression().fit(X[TRAIN], NAMES[TRAIN])


@pytest.mark.parametrize("wrong", [0, 1, 7, 20])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_interval_of_zero_one_loss_against_binomtest(wrong, level):
    y = np.zeros(20, dtype=int)
    told = np.zeros((20, 1))
    told[:wrong] = 1
    found = evaluate(Told(), told, y)
    expected = stats.binomtest(wrong, 20).proportion_ci(level, method="exact")
    assert found.out_sample == wrong / 20
    assert found.interval(level) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_hoeffding_interval_is_the_formula():
    told = np.zeros((50, 1))
    told[:10] = 1
    found = evaluate(Told(), told, np.zeros(50, dtype=int))
    half = math.sqrt(math.log(2 / 0.1) / 100)
    assert found.interval(0.9, "hoeffding") == pytest.approx((max(0.0, 0.2 - half), 0.2 + half))
    cost = [[0.0, 4.0], [1.0, 0.0]]
    wide = evaluate(Told(), told, np.zeros(50, dtype=int), cost)
    assert wide.interval(0.9, "hoeffding") == pytest.approx((0.8 - 4 * half, 0.8 + 4 * half))


def test_interval_of_squared_loss_against_scipy():
    losses = (REAL[TEST] - X[TEST, 0]) ** 2
    found = evaluate(FirstColumn(), X[TEST], REAL[TEST])
    low, high = stats.t.interval(0.9, 59, losses.mean(), stats.sem(losses))
    assert found.out_sample == pytest.approx(mean_squared_error(REAL[TEST], X[TEST, 0]))
    assert found.interval(0.9) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("loss", "truth"),
    [
        ("log", lambda model: log_loss(NAMES[TEST], model.predict_proba(X[TEST]))),
        ("zero-one", lambda model: np.mean(model.predict(X[TEST]) != NAMES[TEST])),
        ("roc_auc", lambda model: roc_auc_score(NAMES[TEST], model.predict_proba(X[TEST])[:, 1])),
        (None, lambda model: 1 - model.score(X[TEST], NAMES[TEST])),
    ],
)
def test_string_labels_against_scikit_learn(classifier, loss, truth):
    found = evaluate(classifier, X[TEST], NAMES[TEST], loss)
    assert found.out_sample == pytest.approx(truth(classifier))
    low, high = found.interval(0.95)
    assert low < found.out_sample < high
    assert found.n_fits == 0


def test_fitted_search_is_a_model():
    search = GridSearch(DecisionTreeClassifier(random_state=0), {"max_leaf_nodes": [2, 4]}, random_state=0)
    search.fit(X[TRAIN], NAMES[TRAIN])
    assert evaluate(search, X[TEST], NAMES[TEST]).out_sample == np.mean(search.predict(X[TEST]) != NAMES[TEST])


def test_any_container_and_several_outputs(classifier):
    expected = evaluate(classifier, X[TEST], NAMES[TEST]).out_sample
    framed = LogisticRegression().fit(pd.DataFrame(X[TRAIN], columns=list("abc")), NAMES[TRAIN])
    assert evaluate(framed, pd.DataFrame(X[TEST], columns=list("abc")), pd.Series(NAMES[TEST])).out_sample == expected
    assert evaluate(classifier, sparse.csr_matrix(X[TEST]), NAMES[TEST].tolist()).out_sample == expected
    both = np.column_stack([REAL, 2 * REAL])
    model = LinearRegression().fit(X[TRAIN], both[TRAIN])
    found = evaluate(model, X[TEST], both[TEST], "absolute")
    assert found.out_sample == pytest.approx(mean_absolute_error(both[TEST], model.predict(X[TEST])))


def test_labels_that_the_model_never_saw_are_wrong(classifier):
    strange = np.where(np.arange(60) < 5, "maybe", NAMES[TEST])
    predicted = classifier.predict(X[TEST])
    assert evaluate(classifier, X[TEST], strange).out_sample == np.mean(predicted != strange)


def test_any_estimator_with_a_scorer_that_understands_it_against_scikit_learn():
    both = np.column_stack([CODES, 1 - CODES])
    forest = RandomForestClassifier(5, random_state=0).fit(X[TRAIN], both[TRAIN])
    found = evaluate(forest, X[TEST], both[TEST], "f1_macro", n_bags=20)
    assert found.out_sample == pytest.approx(f1_score(both[TEST], forest.predict(X[TEST]), average="macro"))
    clusters = KMeans(2, n_init=1, random_state=0).fit(X[TRAIN])
    scorer = make_scorer(rand_score)
    found = evaluate(clusters, X[TEST], CODES[TEST], scorer, n_bags=20)
    assert found.out_sample == pytest.approx(rand_score(CODES[TEST], clusters.predict(X[TEST])))
    assert found.interval()[0] < found.out_sample < found.interval()[1]


def test_predictions_are_made_once_for_all_bags():
    class Counting(DecisionTreeClassifier):
        asked = 0

        def predict_proba(self, X, check_input=True):
            Counting.asked += 1
            return super().predict_proba(X, check_input)

    model = Counting(max_depth=2).fit(X[TRAIN], NAMES[TRAIN])
    Counting.asked = 0
    evaluate(model, X[TEST], NAMES[TEST], "roc_auc", n_bags=20)
    assert Counting.asked == 1


def test_few_rows_and_constant_labels():
    dummy = DummyClassifier().fit(X[TRAIN], NAMES[TRAIN])
    one = evaluate(dummy, X[:1], [dummy.predict(X[:1])[0]])
    assert one.interval(0.95) == pytest.approx((0.0, 0.975))
    squared = evaluate(Ridge().fit(X, REAL), X[:1], REAL[:1])
    assert squared.standard_error is None
    with pytest.raises(ValueError, match="at least two rows"):
        squared.interval()


def test_whole_weights_repeat_rows():
    weight = RNG.integers(0, 4, 60)
    again = np.repeat(np.arange(60), weight)
    model = LogisticRegression().fit(X[TRAIN], NAMES[TRAIN])
    for loss in ("zero-one", "log", "roc_auc"):
        weighted = evaluate(model, X[TEST], NAMES[TEST], loss, sample_weight=weight)
        assert weighted.out_sample == pytest.approx(
            evaluate(model, X[TEST][again], NAMES[TEST][again], loss).out_sample
        )
        assert weighted.effective_n == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_groups_of_equal_rows_count_once():
    # Every row is there four times: the same knowledge as one quarter of the rows.
    alone = evaluate(FirstColumn(), X[TEST], REAL[TEST])
    again = np.repeat(np.arange(60, 120), 4)
    grouped = evaluate(FirstColumn(), X[again], REAL[again], groups=again)
    assert grouped.standard_error == pytest.approx(alone.standard_error)
    assert grouped.interval() == pytest.approx(alone.interval())


def coverage(draws, truth, level):
    held = np.array([low <= truth <= high for low, high in draws])
    return held.mean(), math.sqrt(level * (1 - level) / len(held))


def test_exact_interval_covers_by_simulation():
    rng = np.random.default_rng(1)
    told = (rng.random((600, 80, 1)) < 0.15).astype(int)
    y = np.zeros(80, dtype=int)
    found, error = coverage((evaluate(Told(), rows, y).interval(0.9) for rows in told), 0.15, 0.9)
    assert found > 0.9 - 2 * error


def test_normal_interval_covers_by_simulation():
    rng = np.random.default_rng(2)
    zero = np.zeros((80, 1))
    found, error = coverage(
        (evaluate(FirstColumn(), zero, rng.normal(size=80)).interval(0.9) for _ in range(600)), 1.0, 0.9
    )
    # The losses are χ² of one degree of freedom; the skewness costs about one percent at n = 80.
    assert 0.9 - 0.03 - 2 * error < found < 0.9 + 3 * error


def median_error(y, prediction):
    return float(np.median(np.abs(y - prediction)))


def test_interval_of_a_loss_of_whole_sets_covers_by_simulation():
    rng = np.random.default_rng(3)
    zero = np.zeros((81, 1))

    def interval():
        return evaluate(FirstColumn(), zero, rng.normal(size=81), median_error, n_bags=200).interval(0.9)

    found, error = coverage((interval() for _ in range(200)), stats.norm.ppf(0.75), 0.9)
    assert 0.9 - 3 * error < found < 0.9 + 3 * error + 0.02


class Scored(Told):
    """Ranks rows by the first column."""

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


def ranked(rng, n, distance):
    """(rows, labels): two normal distributions this far apart, an area of Φ(distance/√2)."""
    y = rng.permutation(np.arange(n) % 5 < 2).astype(int)
    return (distance * y + rng.normal(size=n))[:, None], y


def test_standard_error_of_roc_auc_against_delong():
    score, y = ranked(np.random.default_rng(5), 200, 1.0)
    wins = (score[y == 1] > score[y == 0].T).astype(float)
    expected = math.sqrt(np.var(wins.mean(axis=1), ddof=1) / 80 + np.var(wins.mean(axis=0), ddof=1) / 120)
    found = evaluate(Scored(), score, y, "roc_auc")
    assert found.out_sample == pytest.approx(wins.mean())
    assert found.standard_error == pytest.approx(expected, rel=1e-9)
    assert found.bags is None
    low, high = stats.norm.interval(0.9, special.logit(wins.mean()), expected / (wins.mean() * (1 - wins.mean())))
    assert found.interval(0.9) == pytest.approx(special.expit([low, high]), abs=2e-3)  # normal for Student's quantile


@pytest.mark.parametrize("distance", [1.5, 3.0])
def test_interval_of_roc_auc_covers_by_simulation_also_near_one(distance):
    rng, truth = np.random.default_rng(6), stats.norm.cdf(distance / math.sqrt(2))
    drawn = (evaluate(Scored(), *ranked(rng, 60, distance), "roc_auc").interval(0.9) for _ in range(250))
    found, error = coverage(drawn, truth, 0.9)
    assert 0.9 - 3 * error < found < 0.97


def test_a_perfect_score_has_an_interval():
    y = np.arange(30) % 2
    for scorer in ("roc_auc", "f1", "balanced_accuracy", "matthews_corrcoef"):
        found = evaluate(Scored(), y[:, None], y, scorer)
        low, high = found.interval(0.9)
        span = found.limits[1] - found.limits[0]
        assert high == 1
        assert low == pytest.approx(1 - span * (1 - 0.05 ** (1 / 30)))


def test_standard_errors_of_scores_against_the_bootstrap():
    X, y = ranked(np.random.default_rng(7), 300, 1.0)
    model = DecisionTreeClassifier(max_leaf_nodes=4).fit(X, y)
    rng = np.random.default_rng(8)
    bags = [rng.integers(300, size=300) for _ in range(200)]
    for scorer in ("f1", "balanced_accuracy", "average_precision"):
        drawn = [get_scorer(scorer)(model, X[bag], y[bag]) for bag in bags]
        found = evaluate(model, X, y, scorer)
        assert found.bags is None
        assert found.standard_error == pytest.approx(np.std(drawn), rel=0.15)


def test_interval_with_groups_covers_by_simulation():
    rng = np.random.default_rng(4)

    def interval(groups):
        share = rng.beta(1.2, 2.8, 40)
        told = (rng.random((40, 10)) < share[:, None]).astype(int).reshape(-1, 1)
        given = np.repeat(np.arange(40), 10) if groups else None
        return evaluate(Told(), told, np.zeros(400, dtype=int), groups=given).interval(0.9)

    honest, error = coverage((interval(True) for _ in range(400)), 0.3, 0.9)
    blind, _ = coverage((interval(False) for _ in range(400)), 0.3, 0.9)
    assert honest > 0.9 - 3 * error
    assert blind < honest - 0.1


def area(model, X, y):
    return roc_auc_score(y, model.decision_function(X))


def test_a_score_undefined_on_some_bags_is_drawn_again():
    y = np.zeros(12, dtype=int)
    y[0] = 1
    found = evaluate(Scored(), np.arange(12.0)[:, None], y, area, n_bags=50)
    assert len(found.bags) == 50
    assert np.isfinite(found.bags).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": NAMES[:5]}, "60 rows and y has 5"),
        ({"loss": "squared"}, "is for regression"),
        ({"y": CODES[TEST]}, "the classes of the model"),
        ({"sample_weight": [1.0]}, "sample_weight must have one entry per row"),
        ({"n_bags": 1}, "n_bags must be"),
        ({"model": LogisticRegression()}, "must be a fitted classifier"),
    ],
)
def test_bad_input_is_named(classifier, change, message):
    asked = {"model": classifier, "X": X[TEST], "y": NAMES[TEST]} | change
    with pytest.raises(ValueError, match=message):
        evaluate(**asked)


def test_refused_methods_say_which_to_use(classifier):
    with pytest.raises(ValueError, match='use "normal"'):
        evaluate(classifier, X[TEST], NAMES[TEST], "log").interval(method="exact")
    with pytest.raises(ValueError, match='use "exact"'):
        evaluate(classifier, X[TEST], NAMES[TEST]).interval(method="bootstrap")


def test_what_it_says(classifier):
    found = evaluate(classifier, X[TEST], NAMES[TEST])
    assert "60 rows that are taken to be new to the model" in str(found)
    assert "interval" in str(found)
    assert isinstance(found, outsample.ErrorEstimate)
    assert found.to_dict()["in_sample"] is None


@pytest.mark.parametrize("scoring", ["r2", "explained_variance", "d2_absolute_error_score", "neg_max_error"])
def test_scores_of_constant_labels_against_scikit_learn(scoring):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    model = LinearRegression().fit(X, X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outsample.evaluate(model, X, np.full(40, 2.0), loss=scoring)
        assert found.out_sample == pytest.approx(get_scorer(scoring)(model, X, np.full(40, 2.0)))


def test_a_likelihood_ratio_without_negatives_against_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outsample.evaluate(model, X, np.ones(40, dtype=bool), loss="positive_likelihood_ratio")
        theirs = get_scorer("positive_likelihood_ratio")(model, X, np.ones(40, dtype=bool))
    assert found.out_sample == pytest.approx(theirs, nan_ok=True)
