"""Numbers that are no counts, labels that are no labels, losses and weights that are no numbers: one sentence each."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import outsample

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
BINARY, REAL = np.tile([0, 1], 6), RNG.normal(size=12)
TREE = DecisionTreeClassifier(random_state=0)
DAYS = np.datetime64("2024-01-01") + np.arange(12)

COUNTS = {
    "Permutation n_draws": outsample.Permutation,
    "LabelBootstrap n_draws": outsample.LabelBootstrap,
    "Rademacher n_draws": outsample.Rademacher,
    "ExpectedDiscrepancy n_draws": outsample.ExpectedDiscrepancy,
    "CovariancePenalty n_draws": lambda n: outsample.CovariancePenalty(n_draws=n),
    "TwoStagePermutation n_draws": outsample.TwoStagePermutation,
    "PermutationBound n_draws": lambda n: outsample.PermutationBound(n_draws=n),
    "RademacherBound n_draws": lambda n: outsample.RademacherBound(n_draws=n),
    "DiscrepancyBound n_draws": lambda n: outsample.DiscrepancyBound(n_draws=n),
    "RowsAndLabels episodes": outsample.RowsAndLabels,
    "Auto episodes": outsample.Auto,
    "Bootstrap n_bags": outsample.Bootstrap,
    "NestedCrossValidation cv": outsample.NestedCrossValidation,
    "NestedCrossValidation repeats": lambda n: outsample.NestedCrossValidation(repeats=n),
    "CrossValidation cv": outsample.CrossValidation,
    "HoldOut test_size": outsample.HoldOut,
    "LeaveOneOut budget": outsample.LeaveOneOut,
    "Permutation block_size": lambda n: outsample.Permutation(block_size=n),
    "permutation_test n_draws": lambda n: outsample.permutation_test(TREE, X, BINARY, n_draws=n),
    "permutation_test sequential": lambda n: outsample.permutation_test(TREE, X, BINARY, sequential=n),
    "permutation_test_columns n_draws": lambda n: outsample.permutation_test_columns(None, X, BINARY, n_draws=n),
    "audit n_draws": lambda n: outsample.audit(lambda X, y: 0.5, X, BINARY, n_draws=n),
    "complexity n_draws": lambda n: outsample.permutation_complexity(TREE, X, BINARY, n_draws=n),
    "effective_vc n_draws": lambda n: outsample.effective_vc_dimension(TREE, X, n_draws=n),
    "effective_vc sizes": lambda n: outsample.effective_vc_dimension(TREE, X, sizes=[n]),
    "freedom n_draws": lambda n: outsample.generalized_degrees_of_freedom(LinearRegression(), X, REAL, n_draws=n),
    "regret n_splits": lambda n: outsample.regret_study({"t": (TREE, {})}, {"d": (X, BINARY)}, n_splits=n),
    "bound n": lambda n: outsample.bounds.rademacher_bound(in_sample=0.1, complexity=0.1, n=n),
}


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 0, -3, 2.5, 1j, "ten", [3]])
@pytest.mark.parametrize("what", COUNTS)
def test_a_count_is_a_whole_number(what, bad):
    name = what.split()[1]
    with pytest.raises(ValueError, match=f"^{name} must be ") as caught:
        COUNTS[what](bad)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("made", [outsample.Permutation, outsample.Bootstrap, outsample.LeaveOneOut, outsample.Auto])
def test_a_whole_number_may_come_as_a_float(made):
    few = made(6.0)
    assert outsample.estimate(TREE, X, BINARY, criterion=few, random_state=0).n_fits > 0
    assert few == made(6)


NO_LABELS = {
    "complex": (REAL + 1j, "complex numbers"),
    "boxed complex": (list(REAL + 1j), "complex numbers"),
    "date": (DAYS, "dates"),
    "boxed date": ([datetime.date(2024, 1, day) for day in range(1, 13)], "dates"),
    "pandas date": (pd.Series(DAYS), "dates"),
    "date with a zone": (pd.Series(DAYS).dt.tz_localize("UTC"), "dates"),
    "duration": (DAYS - DAYS[0], "durations"),
    "pandas duration": (pd.Series(DAYS - DAYS[0]), "durations"),
}


@pytest.mark.parametrize("ask", ["estimate", "search", "test", "function", "columns", "audit"])
@pytest.mark.parametrize("learner", [TREE, LinearRegression()])
@pytest.mark.parametrize("kind", NO_LABELS)
def test_labels_are_classes_or_real_numbers(kind, learner, ask):
    y, what = NO_LABELS[kind]
    asked = {
        "estimate": lambda: outsample.estimate(learner, X, y),
        "search": lambda: outsample.GridSearch(TREE, {"max_depth": [1, 2]}).fit(X, y),
        "test": lambda: outsample.permutation_test(learner, X, y, n_draws=9),
        "function": lambda: outsample.permutation_test(None, X, y, statistic=lambda X, y: 0.0, n_draws=9),
        "columns": lambda: outsample.permutation_test_columns(None, X, y, n_draws=9),
        "audit": lambda: outsample.audit(lambda X, y: 0.5, X, y),
    }
    with pytest.raises(ValueError, match=f"y holds {what}, which are neither classes nor real numbers"):
        asked[ask]()


def complex_losses(y, prediction):
    return np.abs(y - prediction) + 0j


def complex_loss(y, prediction):
    return complex(np.mean(np.abs(y - prediction)))


def nan_losses(y, prediction):
    return np.where(y == prediction, 0.0, np.nan)


def nan_loss(y, prediction):
    return 0.0 if np.array_equal(y, prediction) else float("nan")


def words(y, prediction):
    return "good"


def boxed(y, prediction):
    return np.abs(y - prediction).astype(object)


def test_losses_may_come_boxed():
    found = outsample.estimate(LinearRegression(), X, REAL, loss=boxed, criterion="loo")
    assert (
        found.out_sample == outsample.estimate(LinearRegression(), X, REAL, loss="absolute", criterion="loo").out_sample
    )


def nan_score(estimator, X, y):
    return float("nan") if np.ndim(estimator.predict(X)) else 0.0


@pytest.mark.parametrize("loss", [complex_losses, complex_loss, nan_losses, nan_loss, words, nan_score])
@pytest.mark.parametrize("criterion", ["permutation", "kfold", "loo", "632+"])
def test_losses_are_real_numbers(loss, criterion):
    sentence = "must return real numbers, it returned|cannot be computed on .* rows: it is nan"
    with pytest.raises(ValueError, match=f"loss '{loss.__name__}' ({sentence})"):
        outsample.estimate(LinearRegression(), X, REAL, loss=loss, criterion=criterion, random_state=0)


@pytest.mark.parametrize("size", [1e308, 1e200, 1e-200, 1e-320])
def test_weights_whose_squares_overflow_or_vanish_are_refused(size):
    with pytest.raises(ValueError, match=r"sample_weight has .* as its largest value, .* (overflow|vanish); rescale"):
        outsample.estimate(LogisticRegression(), X, BINARY, sample_weight=np.full(12, size))


@pytest.mark.parametrize("bad", [np.ones(12) + 1j, np.array(["a"] * 12), DAYS, [None] + [1.0] * 11])
def test_weights_are_real_numbers(bad):
    with pytest.raises(ValueError, match=r"sample_weight must be (real numbers|finite)"):
        outsample.estimate(LogisticRegression(), X, BINARY, sample_weight=bad)


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_the_unit_of_weights_does_not_matter(size):
    weight = RNG.integers(1, 4, 12).astype(float)

    def error(weight):
        found = outsample.estimate(TREE, X, BINARY, sample_weight=weight, criterion="loo", random_state=0)
        return found.out_sample, found.standard_error

    assert error(size * weight) == pytest.approx(error(weight), rel=1e-9)
