"""Bad input of the row criteria: one sentence with the parameter and the value, before any fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, RepeatedKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from outsample.criteria.cross_validation import CrossValidation, HoldOut
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.data.learners import FitError
from outsample.problem import pose

X, Y = load_iris(return_X_y=True)
RARE = np.r_[np.zeros(143, int), np.ones(7, int)]
ALONE = np.r_[np.zeros(149, int), 1]


class Unfittable(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("a fit was made before the input was checked")


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: HoldOut(0.0), "test_size must be a share between 0 and 1 or a number of rows, got 0.0"),
        (lambda: HoldOut(1.5), "test_size .* got 1.5"),
        (lambda: HoldOut(0), "test_size .* got 0"),
        (lambda: HoldOut("half"), "test_size .* got 'half'"),
        (lambda: HoldOut(True), "test_size .* got True"),
        (lambda: CrossValidation(1), "cv must be at least 2 folds, got 1"),
        (lambda: CrossValidation("ten"), "cv must be a number of folds, a splitter or pairs"),
        (lambda: CrossValidation(2.5), "cv must be a number of folds, a splitter or pairs"),
        (lambda: CrossValidation(error="wrong"), "error must be .* got 'wrong'"),
        (lambda: LeaveOneOut(0), "budget must be None or a whole number of at least 1, got 0"),
        (lambda: LeaveOneOut(2.5), "budget must be None or a whole number of at least 1, got 2.5"),
        (lambda: LeaveOneOut("all"), "budget must be None or a whole number of at least 1, got 'all'"),
    ],
)
def test_settings_are_checked_when_made(made, sentence):
    with pytest.raises(ValueError, match=sentence):
        made()


@pytest.mark.parametrize(
    ("criterion", "y", "options", "sentence"),
    [
        (CrossValidation(200), Y, {}, "cv=200 asks for more folds than X has rows; use at most 150"),
        (CrossValidation(51), Y, {}, "cv=51 asks for more folds than any class has rows; use at most 50"),
        (CrossValidation(10), Y, {"groups": np.arange(150) % 4}, "cv=10 asks for more folds than there are groups"),
        (CrossValidation([([0, 1], [1, 2])]), Y, {}, "fold 1 tests 1 rows that it also trains on, the first is row 1"),
        (CrossValidation([([0, 1], [150])]), Y, {}, "test rows of fold 1 are not all between 0 and 149"),
        (CrossValidation([([0, 1], [])]), Y, {}, "fold 1 has no test rows"),
        (CrossValidation([]), Y, {}, "gives no split"),
        (CrossValidation(RepeatedKFold(), keep_predictions=True), Y, {}, "some row is tested 10 times"),
        (
            CrossValidation(KFold(3)),
            Y,
            {"sample_weight": np.repeat([1.0, 0.0, 1.0], 50)},
            "sample_weight is zero on all test rows of fold 2",
        ),
        (LeaveOneOut(151), Y, {}, "budget=151 asks for more left-out rows than the 150 rows; use at most 150"),
        (
            LeaveOneOut(60),
            Y,
            {"sample_weight": np.tile([1.0, 0.0, 0.0], 50)},
            "budget=60 asks for more left-out rows than the 50 rows of positive weight",
        ),
        (HoldOut(150), Y, {}, "test_size=150 leaves 0 of 150 rows to fit"),
        (HoldOut(2), Y, {}, "test_size=2 gives 2 rows to test and 148 to fit; .* at least 3 of each"),
        (HoldOut(), ALONE, {}, "needs two rows of every class, the smallest class has 1"),
        (HoldOut(0.9), Y, {"groups": np.arange(150) % 3}, "test_size=0.9 leaves 0 of 3 groups to fit"),
    ],
)
def test_problems_are_checked_before_any_fit(criterion, y, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        criterion.curve(pose(Unfittable(), X, y, **options))


def test_weights_need_a_learner_that_takes_them():
    with pytest.raises(ValueError, match="sample_weight: KNeighborsClassifier takes no weights in fit"):
        pose(KNeighborsClassifier(), X, Y, sample_weight=np.ones(150))


def test_a_failing_fold_is_named():
    problem = pose(KNeighborsClassifier(n_neighbors=120), X, Y, fast=False)
    with pytest.raises(FitError, match="fold 1 of 3: "):
        CrossValidation(3).curve(problem)


def test_a_splitters_warning_is_passed_on_and_noted():
    problem = pose(DecisionTreeClassifier(max_depth=2), X, RARE)
    with pytest.warns(UserWarning, match="least populated class"):
        curve = CrossValidation(StratifiedKFold(10)).curve(problem)
    assert "least populated class" in curve.notes[0]


def test_hoeffding_needs_bounded_losses():
    estimate = HoldOut().curve(pose(Ridge(), X, X[:, 0])).estimate(0)
    with pytest.raises(ValueError, match='"hoeffding" needs independent held-out losses in'):
        estimate.interval(0.9, method="hoeffding")
    with pytest.raises(ValueError, match=r"method must be .* got 'exact'"):
        estimate.interval(0.9, method="exact")
