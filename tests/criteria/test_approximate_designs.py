"""Approximate leave-one-out on awkward tables against exact leave-one-out by refits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.metrics import hinge_loss, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import outsample
from outsample.criteria.approximate import ApproximateLeaveOneOut
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.data.learners import fit, respond
from outsample.problem import pose

N = 44
TIGHT = {"tol": 1e-10, "max_iter": 20_000}
STRENGTHS = [0.01, 1.0, 100.0, 1e4]
DESIGNS = [
    "plain",
    "wide",
    "separable",
    "nearly separable",
    "outliers",
    "few positives",
    "repeated rows",
    "weights",
    "through the origin",
    "collinear",
    "sparse truth",
    "coarse",
]


@pytest.fixture(autouse=True)
def one_thread():
    """Small products are slower on two threads."""
    with threadpool_limits(1):
        yield


def design(name, seed=0):
    """(X, signal, weight, whether there is a constant)."""
    rng = np.random.default_rng([seed, DESIGNS.index(name)])
    X = rng.normal(size=(N, 60 if name == "wide" else 4))
    if name == "outliers":
        X[:4] *= 12.0
    if name == "repeated rows":
        X = X[rng.integers(0, N // 3, N)]
    if name == "collinear":
        X = np.column_stack([X, X[:, 0], X[:, 1] + 1e-4 * rng.normal(size=N)])
    if name == "sparse truth":
        X = rng.normal(size=(N, 15))
    if name == "coarse":
        X = (X > 0.7).astype(float)
    effects = np.where(np.arange(X.shape[1]) < (2 if name == "sparse truth" else 4), 1.2, 0.0)
    weight = rng.integers(1, 4, N).astype(float) if name == "weights" else None
    return X, X @ effects, weight, name != "through the origin"


def classes_of(name, n_classes=2, seed=0):
    X, signal, weight, constant = design(name, seed)
    rng = np.random.default_rng(seed + 1)
    noise = {"separable": 0.0, "nearly separable": 0.15}.get(name, 1.0)
    scores = np.column_stack([0 * signal + (2.5 if name == "few positives" else 0.0), signal, X[:, 0] - X[:, 1]])
    y = np.argmax(scores[:, :n_classes] + noise * rng.gumbel(size=(N, n_classes)), axis=1)
    return X, y, weight, constant


def both(learner, X, y, loss, weight, parameter, values):
    asked = {"loss": loss, "sample_weight": weight, "random_state": 0, "parameter": parameter, "values": values}
    problem = pose(learner, X, y, **asked)
    return ApproximateLeaveOneOut().curve(problem), LeaveOneOut().curve(problem)


def assert_within_one_percent(ours, exact, doubtful=0):
    sure = ours.in_doubt == 0
    assert (~sure).sum() <= doubtful
    np.testing.assert_allclose(ours.out_sample[sure], exact.out_sample[sure], rtol=0.01)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_loss_of_logistic_regression_against_refits(name, n_classes):
    X, y, weight, constant = classes_of(name, n_classes)
    learner = LogisticRegression(fit_intercept=constant, **TIGHT)
    ours, exact = both(learner, X, y, "log", weight, "C", STRENGTHS)
    assert_within_one_percent(ours, exact)
    assert ours.n_fits <= len(STRENGTHS) * 11


@pytest.mark.parametrize("name", DESIGNS)
def test_zero_one_loss_of_logistic_regression_against_refits(name):
    X, y, weight, constant = classes_of(name)
    learner = LogisticRegression(fit_intercept=constant, **TIGHT)
    ours, exact = both(learner, X, y, "zero-one", weight, "C", STRENGTHS)
    heaviest = 1.0 if weight is None else weight.max() / weight.mean()
    np.testing.assert_allclose(ours.out_sample, exact.out_sample, atol=1.01 * heaviest / N)
    assert not ours.in_doubt.any()


@pytest.mark.parametrize("name", ["separable", "few positives", "weights", "coarse"])
def test_balanced_classes_against_refits(name):
    """The weights of the classes are those of the other rows."""
    X, y, weight, _ = classes_of(name)
    learner = LogisticRegression(class_weight="balanced", solver="newton-cholesky", tol=1e-10, max_iter=1000)
    ours, exact = both(learner, X, y, "log", weight, "C", [0.1, 10.0, 300.0])
    assert_within_one_percent(ours, exact)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("learner", [Lasso(), ElasticNet(l1_ratio=0.7)])
def test_sparse_least_squares_against_refits(learner, name):
    X, signal, weight, constant = design(name)
    y = signal + np.random.default_rng(9).normal(size=N)
    learner = clone(learner).set_params(fit_intercept=constant)
    ours, exact = both(learner, X, y, "squared", weight, "alpha", [0.1, 0.3, 1.0])
    assert_within_one_percent(ours, exact)


@pytest.mark.parametrize("name", ["plain", "nearly separable", "outliers", "wide"])
def test_squared_hinge_against_refits(name):
    X, y, _, constant = classes_of(name)
    learner = LinearSVC(dual=False, tol=1e-9, max_iter=100_000, fit_intercept=constant)
    hinge = make_scorer(hinge_loss, greater_is_better=False, response_method="decision_function")
    ours, exact = both(learner, X, y, hinge, None, "C", [0.01, 1.0, 10.0])
    np.testing.assert_allclose(ours.out_sample, exact.out_sample, atol=0.01)
    assert not ours.in_doubt.any()


def test_l1_logistic_regression_against_refits():
    X, y, _, _ = classes_of("sparse truth")
    learner = LogisticRegression(l1_ratio=1.0, solver="saga", **TIGHT)
    ours, exact = both(learner, X, y, "log", None, "C", [0.3, 1.0, 3.0])
    assert_within_one_percent(ours, exact, doubtful=2)


def test_the_only_row_of_a_class_against_refits():
    X, y, _, _ = classes_of("plain")
    y = np.array(["a", "b", "c"])[np.where(np.arange(N) == 5, 2, y)]
    ours, exact = both(LogisticRegression(**TIGHT), X, y, "log", None, "C", [0.1, 1.0])
    np.testing.assert_allclose(ours.out_sample, exact.out_sample, rtol=1e-3)
    assert ours.n_fits == 4


def test_behind_a_scaler_against_refits_of_the_whole_pipeline():
    """The scaler has seen the X of a row that is left out, but not its label."""
    X, y, _, _ = classes_of("plain")
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(**TIGHT))
    values = [0.01, 0.1, 1.0, 10.0]
    ours = outsample.GridSearch(pipeline, {"logisticregression__C": values}, criterion="alo", loss="log", refit=False)
    ours.fit(X, y)
    for m, C in enumerate(values):
        learner = clone(pipeline).set_params(logisticregression__C=C)
        kept = ~np.eye(N, dtype=bool)
        answers = [
            respond(fit(clone(learner), X[k], y[k]), X[~k], "predict_proba", np.arange(2))[0, y[~k][0]] for k in kept
        ]
        assert ours.curve_.out_sample[m] == pytest.approx(-np.log(answers).mean(), rel=0.01)


def test_fifteen_strengths_of_many_classes_take_fifteen_fits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.argmax(X[:, :4] + rng.gumbel(size=(300, 4)), axis=1)
    search = outsample.GridSearch(LogisticRegression(), {"C": np.logspace(-3, 3, 15)}, criterion="alo", refit=False)
    assert search.fit(X, y).curve_.n_fits == 15


@pytest.mark.parametrize("loss", ["f1", "neg_brier_score"])
def test_scorers_against_refits(loss):
    X, y, _, _ = classes_of("nearly separable")
    ours, exact = both(LogisticRegression(**TIGHT), X, y, loss, None, "C", STRENGTHS)
    np.testing.assert_allclose(ours.out_sample, exact.out_sample, atol=0.03)
