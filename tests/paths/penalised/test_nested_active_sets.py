"""First steps for many penalties at once against those of one model after the other, and against refits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso

from outsample.evidence.approximations import LastSteps
from outsample.evidence.settled import settled_models
from outsample.paths.penalised.approximate import LocalObjective, SharedTable
from outsample.paths.penalised.nested import NestedModels, Penalised
from outsample.paths.penalised.refinement import LeaveOneOut
from outsample.paths.penalised.row_losses import Squared
from outsample.problem import pose

ALPHAS = np.logspace(0.3, -2.2, 25)
LEARNERS = [Lasso(), Lasso(fit_intercept=False), ElasticNet(l1_ratio=0.6), ElasticNet(l1_ratio=0.9)]


def data(n, p, seed=0):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p))) + np.arange(p) / p
    return mixed, 3.0 + mixed @ np.where(np.arange(p) % 3, 0.0, 0.4) + rng.standard_t(4, size=n)


def posed(learner, X, y):
    return pose(learner, X, y, parameter="alpha", values=ALPHAS, random_state=0)


def minima(learner, problem):
    found = list(LastSteps(problem))
    n, alphas = problem.n_samples, np.array([tail.alpha for tail, _, _ in found])
    return Penalised(
        np.concatenate([known[0] for _, _, known in found]),
        np.concatenate([known[1] for _, _, known in found]),
        n * alphas * getattr(learner, "l1_ratio", 1.0),
        n * alphas * (1.0 - getattr(learner, "l1_ratio", 1.0)),
        learner.fit_intercept,
    )


def single(X, y, models, m):
    return LeaveOneOut(
        LocalObjective(
            X=SharedTable(X),
            predictor=(X @ models.coefficients[m] + models.constants[m])[:, None],
            losses=Squared(y, np.ones(len(y))),
            active=models.coefficients[[m]] != 0,
            intercept=np.array([models.intercept]),
            ridge=float(models.ridge[m]),
            share=1.0 / len(y),
            coefficients=models.coefficients[[m]],
            l1=float(models.l1[m]),
        )
    )


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize(("n", "p"), [(80, 12), (40, 60)])
def test_many_penalties_at_once_against_one_after_the_other(learner, n, p):
    X, y = data(n, p)
    models = minima(learner, posed(learner, X, y))
    used = models.coefficients != 0
    assert (used[:-1] & ~used[1:]).any() or p < n, "no column leaves again, so that there is one run only"
    reached, switching = [], 0
    for steps in NestedModels(SharedTable(X), y, np.ones(n), models):
        for k, m in enumerate(steps.places):
            one = single(X, y, models, m)
            reached.append(m)
            assert steps.bounded[k] == np.isfinite(one.predictors).all()
            if not steps.bounded[k]:
                continue
            np.testing.assert_allclose(steps.left_out[k], one.predictors[:, 0], rtol=1e-7, atol=1e-9)
            rows, errors = steps.errors(k)
            every = np.zeros(n)
            every[rows] = errors
            np.testing.assert_allclose(every, one.errors, rtol=1e-6, atol=1e-9)
            switching += len(rows)
    assert reached == list(range(len(ALPHAS)))
    assert switching


def test_settled_models_are_within_a_half_percent_of_refits():
    X, y = data(300, 6)
    problem = posed(Lasso(), X, y)
    found = list(settled_models(problem, LastSteps(problem), np.ones(300)))
    assert 5 < len(found) <= len(ALPHAS)
    for place, fitted, left_out in found[::4]:
        learner = Lasso(**problem.path.params[place], tol=1e-10)
        np.testing.assert_allclose(fitted, learner.fit(X, y).predict(X), atol=1e-6)
        others = ~np.eye(300, dtype=bool)
        exact = [learner.fit(X[o], y[o]).predict(X[[i]])[0] for i, o in enumerate(others)]
        assert np.mean((y - left_out) ** 2) == pytest.approx(np.mean((y - np.array(exact)) ** 2), rel=0.005)


def test_weights_and_columns_given_twice_are_left_to_single_models():
    X, y = data(60, 5)
    weights = np.arange(1.0, 61.0)
    weighted = pose(Lasso(), X, y, parameter="alpha", values=[0.1], sample_weight=weights, random_state=0)
    assert not list(settled_models(weighted, LastSteps(weighted), weighted.weight))
    twice = Penalised(np.array([[0.5, 0.5]]), np.zeros(1), np.ones(1), np.zeros(1), True)
    assert not list(NestedModels(SharedTable(X[:, [0, 0]]), y, np.ones(60), twice))
