"""Exact risk minimisers against enumeration of their hypothesis sets."""

import itertools

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from outsample.hypotheses import HypothesisSet, StumpClassifier, stump_hypotheses, threshold_hypotheses


def all_stumps(X):
    """Every stump written down the long way: feature, cut between or beyond the values, direction."""
    rules = []
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for cut in [values[0] - 1, *((values[1:] + values[:-1]) / 2)]:
            rules += [np.where(X[:, j] > cut, s, -s) for s in (-1, 1)]
    return np.array(rules)


@pytest.mark.parametrize("seed", range(20))
def test_stump_classifier_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (9, 3)).astype(float)
    y = rng.choice([-1, 1], 9)
    least = (all_stumps(X) != y).mean(axis=1).min()
    assert (StumpClassifier().fit(X, y).predict(X) != y).mean() == pytest.approx(least, abs=1e-12)


def test_stump_classifier_against_enumeration_of_three_classes():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y = rng.normal(size=(8, 2)), rng.integers(0, 3, 8)
        least = 1.0
        for j, cut, pair in itertools.product(range(2), range(8), itertools.product(range(3), repeat=2)):
            rule = np.where(X[:, j] <= X[cut, j], pair[0], pair[1])
            least = min(least, (rule != y).mean())
        assert (StumpClassifier().fit(X, y).predict(X) != y).mean() == pytest.approx(least, abs=1e-12)


def test_stump_classifier_against_scikit_learn_conventions():
    check_estimator(StumpClassifier(), on_skip=None)


def test_stump_hypotheses_against_enumeration():
    X = np.random.default_rng(1).normal(size=(7, 2))
    ours = {tuple(row) for row in stump_hypotheses(X).signs}
    assert ours == {tuple(row) for row in all_stumps(X).astype(float)}
    assert stump_hypotheses(X).shatter_coefficient == len(ours)


@pytest.mark.parametrize("n", [3, 6, 20])
def test_thresholds_against_known_counts(n):
    hypotheses = threshold_hypotheses(np.random.default_rng(n).random(n))
    assert hypotheses.shatter_coefficient == 2 * n
    assert hypotheses.vc_dimension() == 2


def test_vc_dimension_against_known_values():
    everything = HypothesisSet(list(itertools.product([-1, 1], repeat=4)))
    assert everything.vc_dimension() == 4
    assert HypothesisSet(np.ones((1, 5))).vc_dimension() == 0
    assert HypothesisSet([[1, 1, 1], [-1, -1, -1]]).vc_dimension() == 1


def test_maxima_against_definition():
    rng = np.random.default_rng(2)
    hypotheses, labels = HypothesisSet(rng.choice([-1, 1], (6, 8))), rng.choice([-1.0, 1.0], (5, 8))
    expected = [max(float(r @ h) / 8 for h in hypotheses.signs) for r in labels]
    assert hypotheses.maxima(labels) == pytest.approx(expected)
    chosen = hypotheses.signs[hypotheses.best(labels)]
    assert (chosen * labels).mean(axis=1) == pytest.approx(expected)
    assert len(hypotheses.closed_under_negation()) == 12


def test_predictions_may_be_labels_of_any_kind():
    hypotheses = HypothesisSet([["no", "yes"], ["yes", "yes"]])
    assert hypotheses.signs.tolist() == [[-1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("predictions", "message"),
    [([1, -1], "shape"), ([[0, 1, 2]], "two classes"), (np.empty((0, 3)), "shape"), ([[5, 5]], "two classes")],
)
def test_bad_predictions(predictions, message):
    with pytest.raises(ValueError, match=message):
        HypothesisSet(predictions)


def test_strange_predictions():
    with pytest.raises(ValueError, match="not among the classes"):
        HypothesisSet([[0, 1, 2]], classes=[0, 1])


def test_bad_tables():
    with pytest.raises(ValueError, match="finite"):
        stump_hypotheses([[np.nan]])
