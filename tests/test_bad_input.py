"""Every wrong input gets one clear sentence that names the parameter and the value, before any fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.data.learners import FitError
from outsample.resampling.labels import FreePermutation, LabelDraws
from outsample.running.run import LABEL_DRAWS, child_seed, seed_sequence

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
BINARY = np.tile([0, 1], 6)
THREE = np.tile([0, 1, 2], 4)
REAL = RNG.normal(size=12)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _the_same_data_in_any_order():
    """Tests draw from one generator; each starts where the module left it."""
    RNG.bit_generator.state = START


class NeverFitted(ClassifierMixin, BaseEstimator):
    """Says so when it is fitted: bad input must be found before."""

    def fit(self, X, y):
        raise AssertionError("fitted")

    def predict(self, X):
        raise AssertionError("asked")


def unweighted_score(estimator, X, y):
    return float(np.mean(estimator.predict(X) == y))


def half_losses(y, prediction):
    return np.zeros(len(y) // 2)


CASES = {
    "constant y": (NeverFitted(), np.ones(12), {}, "y is constant: .*1.0"),
    "constant y, regression": (LinearRegression(), np.ones(12), {}, "y is constant: .*1.0"),
    "lengths that differ": (NeverFitted(), BINARY[:-1], {}, "X has 12 rows and y has 11 labels"),
    "NaN in y": (LinearRegression(), np.r_[np.nan, REAL[1:]], {}, "y has 1 missing .* in row 0"),
    "three classes for coin flips": (NeverFitted(), THREE, {"criterion": "rademacher"}, "two classes, y has 3 classes"),
    "regression for coin flips": (LinearRegression(), REAL, {"criterion": "rademacher"}, "y has regression labels"),
    "labels whose powers overflow": (
        LinearRegression(),
        1e200 * REAL,
        {},
        r"y has values up to .*e\+200, .* rescale y",
    ),
    "labels whose powers vanish": (LinearRegression(), 1e-200 * REAL, {}, r"y varies by .*e-200 only, .* rescale y"),
    "squared loss of classes": (NeverFitted(), BINARY, {"loss": "squared"}, "loss 'squared' is for regression, but"),
    "zero-one loss of values": (LinearRegression(), REAL, {"loss": "zero-one"}, "'zero-one' is for classification"),
    "log loss without probabilities": (SVC(), BINARY, {"loss": "log"}, "'log' needs predict_proba, which SVC"),
    "scorer without probabilities": (
        RidgeClassifier(),
        THREE,
        {"loss": "neg_log_loss"},
        "'neg_log_loss' needs a response the learner does not offer: it has .*predict and decision_function",
    ),
    "classification scorer of values": (LinearRegression(), REAL, {"loss": "accuracy"}, "'accuracy' does not fit"),
    "binary scorer of three classes": (NeverFitted(), THREE, {"loss": "f1"}, "'f1' does not fit .* multiclass"),
    "matrix of another size": (NeverFitted(), THREE, {"loss": [[0, 1], [1, 0]]}, "matrix is for 2 classes, y has 3"),
    "matrix of another shape": (NeverFitted(), BINARY, {"loss": [[0, 1]]}, r"must be square .* got shape \(1, 2\)"),
    "loss of another length": (LinearRegression(), REAL, {"loss": half_losses}, r"'half_losses' .* returned \(6,\)"),
    "loss that fails": (
        LogisticRegression(),
        np.array(["a", "b"])[BINARY],
        {"loss": log_loss},
        "'log_loss' fails on the labels",
    ),
    "unknown loss": (NeverFitted(), BINARY, {"loss": "zero_one"}, "loss 'zero_one' is unknown: .* mean 'zero-one'"),
    "unknown scorer": (NeverFitted(), BINARY, {"loss": "roc-auc"}, "loss 'roc-auc' is unknown: .* mean 'roc_auc'"),
    "unknown criterion": (
        NeverFitted(),
        BINARY,
        {"criterion": "permutaton"},
        "criterion 'permutaton' is unknown: .* did you mean 'permutation'",
    ),
    "criterion of another kind": (NeverFitted(), BINARY, {"criterion": 10}, "criterion 10 is unknown"),
    "weights of another length": (
        LogisticRegression(),
        BINARY,
        {"sample_weight": [1, 2]},
        r"sample_weight .* got \(2,\)",
    ),
    "negative weights": (
        LogisticRegression(),
        BINARY,
        {"sample_weight": -np.ones(12)},
        "sample_weight .* non-negative",
    ),
    "weights for a learner without": (
        KNeighborsClassifier(),
        BINARY,
        {"sample_weight": np.ones(12)},
        "sample_weight: KNeighborsClassifier takes no weights",
    ),
    "weights for a pipeline without": (
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        BINARY,
        {"sample_weight": np.ones(12)},
        "sample_weight: .* takes no weights",
    ),
    "weights for a scorer without": (
        LogisticRegression(),
        BINARY,
        {"sample_weight": np.ones(12), "loss": unweighted_score},
        "sample_weight: loss 'unweighted_score' takes no weights",
    ),
    "groups of another length": (NeverFitted(), BINARY, {"groups": [0, 1]}, r"groups .* shape \(12,\), got \(2,\)"),
    "no jobs": (NeverFitted(), BINARY, {"n_jobs": 0}, "n_jobs must be .* got 0"),
    "random state of another kind": (NeverFitted(), BINARY, {"random_state": "seed"}, "random_state .* got 'seed'"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_clear_sentence(name):
    learner, y, arguments, sentence = CASES[name]
    with pytest.raises(ValueError, match=sentence) as caught:
        outsample.estimate(learner, X, y, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_rows(n):
    with pytest.raises(ValueError, match=f"X has {n} .*at least 3 are needed"):
        outsample.estimate(NeverFitted(), X[:n], BINARY[:n])


@pytest.mark.parametrize("n_draws", [0, -1, 1.5, "ten", None])
def test_n_draws(n_draws):
    with pytest.raises(ValueError, match=f'n_draws must be "auto" or a whole number of at least 1, got {n_draws!r}'):
        outsample.Permutation(n_draws)


def test_a_criterion_may_be_a_class():
    assert outsample.estimate(DecisionTreeClassifier(), X, BINARY, criterion=outsample.Resubstitution).n_fits == 1


class FailsOnFirstLabelOne(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        if y[0] == 1:
            raise FloatingPointError("the solver diverged")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_draw_that_failed_is_named(n_jobs):
    y = np.r_[0, RNG.permutation(np.tile([0, 0, 1], 4))[:11]]
    draws = LabelDraws(FreePermutation(), y, 40, child_seed(seed_sequence(5), LABEL_DRAWS))
    with pytest.raises(FitError, match=r"^draw \d+ of 40: FailsOnFirstLabelOne .*: the solver diverged$") as caught:
        outsample.estimate(
            FailsOnFirstLabelOne(), X, y, criterion=outsample.Permutation(40), random_state=5, n_jobs=n_jobs
        )
    failed = int(str(caught.value).split()[1]) - 1
    assert draws[failed][0] == 1
    assert n_jobs > 1 or all(draws[i][0] == 0 for i in range(failed))


def test_a_learner_that_fails_on_the_real_labels():
    with pytest.raises(FitError, match=r"^FailsOnFirstLabelOne .*: the solver diverged$"):
        outsample.estimate(FailsOnFirstLabelOne(), X, 1 - BINARY, criterion="permutation")


def test_missing_values_in_the_table_are_the_learners_business():
    holed = X.copy()
    holed[3, 1] = np.nan
    assert outsample.estimate(RandomForestClassifier(n_estimators=3), holed, BINARY, random_state=0).n_fits > 0
    with pytest.raises(FitError, match=r"LogisticRegression .*: Input X contains NaN"):
        outsample.estimate(LogisticRegression(), holed, BINARY, fast=False)
