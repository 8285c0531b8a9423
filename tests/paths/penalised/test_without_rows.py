"""Rows left out under an L1 penalty, by coordinate descent, against fits of scikit-learn to the other rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneOut as EveryRow
from sklearn.model_selection import cross_val_predict
from sklearn.svm import LinearSVC

from outsample import estimate
from outsample.paths.penalised.approximate import SharedTable
from outsample.paths.penalised.objectives import Labels, objectives_of
from outsample.paths.penalised.refinement import LeaveOneOut

RNG = np.random.default_rng(0)
N = 60
# Columns of very different sizes, and one that is nearly another: leaving some rows out changes which are used.
X = RNG.normal(size=(N, 8)) * np.geomspace(0.3, 3.0, 8)
X = np.c_[X, X[:, 0] + 0.05 * RNG.normal(size=N)]
Y = (X[:, 0] + X[:, 3] - X[:, 7] + 2 * RNG.logistic(size=N) > 0).astype(int)
TIGHT = {"tol": 1e-10, "max_iter": 100_000}
LEARNERS = {
    "liblinear": LogisticRegression(solver="liblinear", l1_ratio=1.0, C=0.5, **TIGHT),
    "liblinear, small penalty": LogisticRegression(solver="liblinear", l1_ratio=1.0, C=50.0, **TIGHT),
    "scaled constant": LogisticRegression(solver="liblinear", l1_ratio=1.0, intercept_scaling=5.0, **TIGHT),
    "without constant": LogisticRegression(solver="liblinear", l1_ratio=1.0, fit_intercept=False, **TIGHT),
    "saga, free constant": LogisticRegression(solver="saga", l1_ratio=1.0, C=0.5, **TIGHT),
    "elastic net": LogisticRegression(solver="saga", l1_ratio=0.4, C=2.0, **TIGHT),
    "balanced": LogisticRegression(solver="saga", l1_ratio=1.0, class_weight="balanced", **TIGHT),
    "squared hinge": LinearSVC(penalty="l1", dual=False, C=0.3, **TIGHT),
}


def predictors_by_refits(learner, rows):
    others = [np.arange(N) != i for i in rows]
    return np.array(
        [
            clone(learner).fit(X[kept], Y[kept]).decision_function(X[[i]])[0]
            for i, kept in zip(rows, others, strict=True)
        ]
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_every_row_against_refits(name):
    model, rows = clone(LEARNERS[name]).fit(X, Y), np.arange(0, N, 3)
    (objective,) = objectives_of(model, SharedTable(X), Labels(Y, model.classes_, np.ones(N)))
    left_out = LeaveOneOut(objective)
    first = left_out.predictors[rows, 0].copy()
    left_out.descend(rows)
    exact = predictors_by_refits(LEARNERS[name], rows)
    np.testing.assert_allclose(left_out.predictors[rows, 0], exact, atol=2e-3)
    assert np.abs(first - exact).max() > 0.01, "one Newton step is not enough here"
    assert (np.abs(left_out.predictors[rows, 0] - exact) <= left_out.errors[rows] + 1e-3).all()


def test_collinear_columns_say_how_far_off_they_are():
    """Coordinate descent is slow here: what is not reached is in the errors."""
    near = np.c_[X, X[:, 3:6] + 1e-4 * RNG.normal(size=(N, 3))]
    model = clone(LEARNERS["liblinear, small penalty"]).fit(near, Y)
    (objective,) = objectives_of(model, SharedTable(near), Labels(Y, model.classes_, np.ones(N)))
    left_out, rows = LeaveOneOut(objective), np.arange(0, N, 5)
    left_out.descend(rows)
    others = [np.arange(N) != i for i in rows]
    exact = [
        clone(model).fit(near[kept], Y[kept]).decision_function(near[[i]])[0]
        for i, kept in zip(rows, others, strict=True)
    ]
    assert np.isfinite(left_out.errors[rows]).all()
    # Refits stop within their own tolerance, too.
    assert np.mean(np.abs(left_out.predictors[rows, 0] - exact) <= 3 * left_out.errors[rows] + 0.02) == 1.0


@pytest.mark.parametrize(("seed", "C"), [(11, 0.1), (14, 0.1), (20, 0.03), (23, 0.1)])
def test_models_without_any_coefficient_against_leave_one_out(seed, C):
    """A large penalty leaves nothing, not even the constant, until some row is left out."""
    rng = np.random.default_rng(seed)
    few = rng.standard_normal((int(rng.integers(20, 120)), 4))
    labels = (few[:, 0] + rng.standard_normal(len(few)) > rng.choice([-0.5, 0, 0.5, 1])).astype(int)
    model = LogisticRegression(solver="liblinear", l1_ratio=1.0, C=C, **TIGHT)
    assert not model.fit(few, labels).coef_.any()
    exact = log_loss(labels, cross_val_predict(model, few, labels, cv=EveryRow(), method="predict_proba"))
    assert estimate(model, few, labels, criterion="alo", loss="log").out_sample == pytest.approx(exact, rel=1e-2)
