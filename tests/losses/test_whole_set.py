"""Scorers as risks: equal to scikit-learn's own score of the fitted model, and right where labels carry nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import (
    fbeta_score,
    get_scorer,
    make_scorer,
    mean_absolute_error,
    mean_squared_error,
    roc_auc_score,
)
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.data.samples import as_target
from outsample.losses.choice import choose_loss
from outsample.losses.whole_set import ScorerLoss, SetFunctionLoss

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
BINARY = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=40), [-0.5, 0.5])
REAL = 3 * X[:, 0] + RNG.normal(size=40) + 10
TWO_OUTPUTS = np.column_stack([REAL, X[:, 1] + RNG.normal(size=40)])
WEIGHT = RNG.uniform(0.2, 2, 40)


def cases():
    logistic, tree = LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)
    names = np.array(["no", "yes"])[BINARY]
    return {
        "r2": ("r2", LinearRegression(), REAL),
        "r2, two outputs": ("r2", LinearRegression(), TWO_OUTPUTS),
        "poisson deviance": ("neg_mean_poisson_deviance", LinearRegression(), REAL),
        "roc_auc": ("roc_auc", logistic, BINARY),
        "roc_auc of names": ("roc_auc", tree, names),
        "roc_auc by decision values": ("roc_auc", RidgeClassifier(), names),
        "roc_auc_ovr": ("roc_auc_ovr", tree, THREE),
        "average_precision": ("average_precision", logistic, BINARY),
        "f1": ("f1", logistic, BINARY),
        "f1_macro": ("f1_macro", tree, THREE),
        "neg_log_loss": ("neg_log_loss", logistic, THREE),
        "balanced_accuracy": ("balanced_accuracy", tree, names),
        "scorer object": (get_scorer("recall"), logistic, BINARY),
        "own scorer": (make_scorer(fbeta_score, beta=2, pos_label="yes"), tree, names),
        "own loss scorer": (make_scorer(mean_squared_error, greater_is_better=False), LinearRegression(), REAL),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", cases())
def test_in_sample_equals_the_score_of_the_fitted_model(name, weighted):
    loss, learner, y = cases()[name]
    weight = WEIGHT if weighted else None
    ours = outsample.estimate(learner, X, y, loss=loss, criterion="resubstitution", sample_weight=weight, fast=False)
    scorer = get_scorer(loss) if isinstance(loss, str) else loss
    fitted = learner.fit(X, y, sample_weight=weight)
    assert ours.in_sample == pytest.approx(scorer(fitted, X, y, sample_weight=weight), abs=1e-12)


@pytest.mark.parametrize("name", ["r2", "roc_auc", "f1", "roc_auc_ovr", "own scorer"])
def test_out_sample_is_less_flattering_than_in_sample(name):
    loss, learner, y = cases()[name]
    result = outsample.estimate(learner, X, y, loss=loss, criterion="permutation", random_state=0, fast=False)
    assert result.optimism < 0
    assert result.out_sample == pytest.approx(result.in_sample + result.optimism)
    assert result.monte_carlo_error > 0
    assert (result.standard_error is None) == (name == "own scorer")


def brute_force(learner, score, X, y):
    """Optimism over all permutations, each fit judged on all permutations."""
    fits = [learner.fit(X, np.array(p)).predict(X) for p in set(itertools.permutations(y))]
    labels = [np.array(p) for p in set(itertools.permutations(y))]
    own = [score(np.array(p), learner.fit(X, np.array(p)).predict(X)) for p in set(itertools.permutations(y))]
    crossed = [np.mean([score(label, fit) for label in labels]) for fit in fits]
    return float(np.mean(crossed) - np.mean(own))


def test_exhaustive_scores_leave_nothing_to_chance():
    rng = np.random.default_rng(1)
    Z, y = rng.normal(size=(6, 1)), np.array([0, 0, 0, 0, 0, 1])
    learner = DecisionTreeClassifier(max_depth=1, random_state=0)
    score = lambda y, g: float(np.mean(y == g))  # noqa: E731
    result = outsample.estimate(learner, Z, y, loss="accuracy", criterion=outsample.Permutation(20), fast=False)
    assert result.n_fits == 7
    assert result.monte_carlo_error == 0.0
    assert result.optimism == pytest.approx(brute_force(learner, score, Z, y), abs=1e-12)


def test_fresh_labels_keep_their_monte_carlo_error():
    """All 56 arrangements are fitted; a scorer that nobody knows is judged on twenty random ones, others on all."""
    rng = np.random.default_rng(1)
    Z, y = rng.normal(size=(8, 1)), np.array([0, 0, 0, 0, 0, 1, 1, 1])
    learner = DecisionTreeClassifier(max_depth=1, random_state=0)
    draws = outsample.Permutation(100)
    known = outsample.estimate(learner, Z, y, loss="accuracy", criterion=draws, fast=False)
    called = outsample.estimate(
        learner, Z, y, loss=lambda m, X, y: np.mean(m.predict(X) == y), criterion=draws, fast=False
    )
    assert known.n_fits == called.n_fits == 57
    assert known.monte_carlo_error == 0.0
    assert called.monte_carlo_error > 0
    assert abs(known.out_sample - called.out_sample) < 4 * called.monte_carlo_error


def test_accuracy_agrees_with_zero_one_loss():
    learner = DecisionTreeClassifier(max_depth=2, random_state=0)
    draws = outsample.Permutation(100)
    error = outsample.estimate(learner, X, BINARY, criterion=draws, random_state=0, fast=False)
    accuracy = outsample.estimate(learner, X, BINARY, loss="accuracy", criterion=draws, random_state=0, fast=False)
    assert accuracy.in_sample == pytest.approx(1 - error.in_sample)
    assert abs(accuracy.out_sample - (1 - error.out_sample)) < 4 * accuracy.monte_carlo_error


def test_function_of_one_number_against_its_per_sample_twin():
    def per_sample(y, prediction):
        return np.abs(y - prediction)

    draws = outsample.Permutation(40)
    learner = LinearRegression()
    whole = outsample.estimate(learner, X, REAL, loss=mean_absolute_error, criterion=draws, random_state=0, fast=False)
    single = outsample.estimate(learner, X, REAL, loss=per_sample, criterion=draws, random_state=0, fast=False)
    named = outsample.estimate(learner, X, REAL, loss="absolute", criterion=draws, random_state=0, fast=False)
    assert whole.in_sample == pytest.approx(single.in_sample)
    assert whole.in_sample == pytest.approx(named.in_sample)
    assert abs(whole.out_sample - single.out_sample) < 4 * np.hypot(whole.monte_carlo_error, single.monte_carlo_error)
    assert abs(single.out_sample - named.out_sample) < 4 * np.hypot(single.monte_carlo_error, named.monte_carlo_error)
    assert whole.loss == "mean_absolute_error"
    assert single.loss == "per_sample"


def test_functions_see_the_users_own_labels():
    seen = set()

    def loss(y, prediction):
        seen.update(np.unique(y), np.unique(prediction))
        return y != prediction

    outsample.estimate(LogisticRegression(), X, np.array(["no", "yes"])[BINARY], loss=loss, random_state=0, fast=False)
    assert seen == {"no", "yes"}


def chosen(loss, learner, y):
    return choose_loss(loss, as_target(y, learner, len(y)), learner)


def test_the_response_a_scorer_reads():
    assert chosen("roc_auc", RidgeClassifier(), BINARY)[1] == "decision_function"
    assert chosen("roc_auc", DecisionTreeClassifier(), BINARY)[1] == "predict_proba"
    assert chosen("f1", DecisionTreeClassifier(), BINARY)[1] == "predict"
    assert chosen("roc_auc_ovr", LogisticRegression(), THREE)[1] == "predict_proba"
    assert isinstance(chosen(make_scorer(mean_squared_error), LinearRegression(), REAL)[0], ScorerLoss)
    assert isinstance(chosen(mean_squared_error, LinearRegression(), REAL)[0], SetFunctionLoss)


def test_a_scorer_may_be_a_plain_function():
    def score(estimator, X, y):
        return roc_auc_score(y, estimator.predict_proba(X)[:, 1])

    settings = {"criterion": "permutation", "random_state": 0, "fast": False}
    ours = outsample.estimate(LogisticRegression(), X, BINARY, loss=score, **settings)
    named = outsample.estimate(LogisticRegression(), X, BINARY, loss="roc_auc", **settings)
    assert ours.in_sample == pytest.approx(named.in_sample)
    assert abs(ours.out_sample - named.out_sample) < 4 * ours.monte_carlo_error


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("loss", ["roc_auc", "roc_auc_ovr"])
def test_a_draw_without_a_class_is_named(loss):
    rare = np.arange(12) == 3
    with pytest.raises(ValueError, match=r"draw \d+ of 10: loss 'roc_auc.*class"):
        outsample.estimate(
            LogisticRegression(), X[:12], rare, loss=loss, criterion="label-bootstrap", random_state=0, fast=False
        )


def test_a_fold_without_a_class_is_named_with_the_loss():
    rare = np.zeros(40, int)
    rare[::2], rare[:2] = 1, 2
    splits = outsample.CrossValidation(KFold(4, shuffle=True, random_state=0))
    with pytest.raises(ValueError, match=r"loss 'neg_log_loss' cannot be computed on 10 of the rows: .*classes"):
        outsample.estimate(DecisionTreeClassifier(), X, rare, criterion=splits, loss="neg_log_loss")
