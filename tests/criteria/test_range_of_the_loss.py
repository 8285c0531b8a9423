"""Estimates stay within what the loss can be; upper limits may exceed it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from outsample import GridSearch
from outsample.criteria.base import as_criterion
from outsample.criteria.bounds import MaximalDiscrepancy, PermutationBound
from outsample.losses.pointwise import LogLoss, MatrixLoss, SquaredLoss, ZeroOneLoss
from outsample.losses.whole_set import ScorerLoss
from outsample.problem import pose

ROWS = np.arange(40.0)
X = np.column_stack([ROWS, np.random.default_rng(0).normal(size=40)])
SEPARATED = (ROWS > 20).astype(int)


@pytest.mark.parametrize("loss", ["zero-one", "roc_auc", "log", "accuracy", [[0, 1], [3, 0]]])
@pytest.mark.parametrize("criterion", ["two-stage", "covariance"])
def test_estimates_of_an_easy_problem_stay_within_the_range_of_the_loss(loss, criterion):
    for seed in range(6):
        problem = pose(LogisticRegression(C=100), X, SEPARATED, loss=loss, random_state=seed)
        curve = as_criterion(criterion).curve(problem)
        least, greatest = problem.loss.range
        assert least <= curve.out_sample[0] <= greatest
        np.testing.assert_array_equal(curve.out_sample, curve.in_sample + curve.optimism)


def test_no_search_reports_an_accuracy_above_one():
    search = GridSearch(LogisticRegression(), {"C": [100.0]}, criterion="two-stage", random_state=1).fit(X, SEPARATED)
    assert search.best_score_ == 1.0


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (ZeroOneLoss(), (0, 1)),
        (SquaredLoss(), (0, np.inf)),
        (LogLoss(), (0, np.inf)),
        (MatrixLoss([[-1, 2], [5, 0]]), (-1, 5)),
        (ScorerLoss(None, "roc_auc_ovr"), (-1, 0)),
        (ScorerLoss(None, "neg_mean_squared_error"), (0, np.inf)),
        (ScorerLoss(None, "r2"), (-1, np.inf)),
        (ScorerLoss(None, "f1 of my own"), (-np.inf, np.inf)),
        (ScorerLoss(None, "positive_likelihood_ratio"), (-np.inf, np.inf)),
    ],
)
def test_ranges(loss, expected):
    assert loss.range == expected


@pytest.mark.parametrize("name", ["accuracy", "f1", "roc_auc", "matthews_corrcoef"])
def test_ranges_of_scores_against_scikit_learn(name):
    loss = pose(LogisticRegression(), X, SEPARATED, loss=name).loss
    codes = SEPARATED.astype(float) if name == "roc_auc" else SEPARATED
    assert loss.range == (loss.risk(SEPARATED, codes), loss.risk(SEPARATED, 1 - codes))


def test_upper_limits_rank_models_above_one():
    y = np.random.default_rng(1).integers(0, 2, 40)
    problem = pose(LogisticRegression(), X, y, random_state=0)
    assert PermutationBound().curve(problem).out_sample[0] > 1
    assert MaximalDiscrepancy().curve(problem).out_sample[0] >= 0


def test_a_projected_estimate_keeps_infinity_and_what_is_not_a_number():
    problem = pose(LinearRegression(), X, ROWS)
    estimates = np.array([-0.1, np.inf, np.nan])
    curve = problem.curve(out_sample=estimates, criterion="", estimand="", n_fits=1)
    np.testing.assert_array_equal(curve.out_sample, [0.0, np.inf, np.nan])
