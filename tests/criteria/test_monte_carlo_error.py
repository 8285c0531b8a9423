"""The Monte-Carlo error says how far estimates of the same data by other seeds lie apart."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import estimate
from outsample.criteria.auto import Auto
from outsample.criteria.bootstrap import Bootstrap
from outsample.criteria.bounds import ExpectedDiscrepancy, MaximalDiscrepancy
from outsample.criteria.covariance import CovariancePenalty
from outsample.criteria.cross_validation import CrossValidation, HoldOut
from outsample.criteria.labels import LabelBootstrap, Permutation, Rademacher
from outsample.criteria.leave_one_out import LeaveOneOut
from outsample.criteria.nested import NestedCrossValidation
from outsample.criteria.rows_and_labels import RowsAndLabels
from outsample.criteria.two_stage import TwoStagePermutation
from outsample.problem import pose

SEEDS = 200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 4))
SIGNAL = X[:, 0] + 0.5 * X[:, 1] ** 2
REAL = SIGNAL + RNG.normal(size=100)
TWO = (SIGNAL + RNG.normal(size=100) > 0.5).astype(int)

RIDGE, NEIGHBORS = Ridge(10.0), KNeighborsRegressor(5)
TREE, VOTES = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0), KNeighborsClassifier(5)


class RefittedBayes(GaussianNB):
    """A learner that no path knows, so that it is refitted."""


LEAVES, BAYES = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0), RefittedBayes()

CASES = [
    (Permutation(10), (TREE, LEAVES, VOTES)),
    (LabelBootstrap(10), (TREE, VOTES)),
    (Rademacher(10), (LEAVES, VOTES)),
    (ExpectedDiscrepancy(10), (LEAVES, VOTES)),
    (CovariancePenalty(), (TREE, LEAVES, VOTES, BAYES)),
    (TwoStagePermutation(10), (TREE, LEAVES, VOTES)),
    (RowsAndLabels(10), (RIDGE, NEIGHBORS, TREE, LEAVES, VOTES, BAYES)),
    (Auto(10), (LEAVES,)),
    (CrossValidation(5, shuffle=True), (RIDGE, NEIGHBORS)),
    (CrossValidation(KFold(5, shuffle=True)), (VOTES,)),
    (CrossValidation(RepeatedStratifiedKFold(n_splits=2, n_repeats=4)), (LEAVES,)),
    (CrossValidation(ShuffleSplit(6)), (TREE,)),
    (LeaveOneOut(20), (RIDGE, VOTES)),
    (Bootstrap(15), (RIDGE,)),
    (Bootstrap(15, "632"), (RIDGE,)),
    (Bootstrap(15, "632+"), (RIDGE, VOTES)),
    (Bootstrap(15, "optimism"), (RIDGE,)),
    (NestedCrossValidation(3, repeats=4), (RIDGE,)),
]


def curves(criterion, learner, seeds=SEEDS, **options):
    y = TWO if hasattr(learner, "predict_proba") else REAL
    for seed in range(seeds):
        yield criterion.curve(pose(learner, X, y, random_state=seed, **options))


@pytest.mark.parametrize(
    ("criterion", "learner"),
    [
        pytest.param(criterion, learner, id=f"{criterion.name}-{type(learner).__name__}")
        for criterion, learners in CASES
        for learner in learners
    ],
)
def test_the_monte_carlo_error_is_the_spread_over_seeds(criterion, learner):
    values, errors = zip(*((c.out_sample[0], c.monte_carlo_error[0]) for c in curves(criterion, learner)), strict=True)
    assert 0.75 < np.mean(errors) / np.std(values, ddof=1) < 1.33


@pytest.mark.parametrize("criterion", [TwoStagePermutation(10), RowsAndLabels(10)])
@pytest.mark.parametrize(
    ("learner", "parameter", "values"), [(LEAVES, "max_leaf_nodes", [2, 4, 6, 12]), (TREE, "max_leaf_nodes", [2, 4, 8])]
)
def test_the_monte_carlo_error_of_a_whole_path_is_the_spread_over_seeds(criterion, learner, parameter, values):
    found = list(curves(criterion, learner, parameter=parameter, values=values))
    ratio = np.mean([c.monte_carlo_error for c in found], axis=0) / np.std([c.out_sample for c in found], axis=0)
    assert (ratio > 0.75).all()
    assert (ratio < 1.33).all()


@pytest.mark.parametrize(
    ("criterion", "learner"),
    [(TwoStagePermutation(10), RIDGE), (CovariancePenalty(), NEIGHBORS), (Permutation(10), RIDGE)],
)
def test_what_leaves_nothing_to_chance_has_no_monte_carlo_error(criterion, learner):
    found = list(curves(criterion, learner, seeds=3))
    assert len({c.out_sample[0] for c in found}) == 1
    assert {c.monte_carlo_error[0] for c in found} == {0.0}


@pytest.mark.parametrize(
    ("criterion", "learner"),
    [
        (HoldOut(), BAYES),
        (MaximalDiscrepancy(), BAYES),
        (CrossValidation(KFold(5, shuffle=True)), BAYES),
        (TwoStagePermutation(2), BAYES),
        (CrossValidation(5), RIDGE),
        (CrossValidation(KFold(5, shuffle=True, random_state=0)), RIDGE),
    ],
)
def test_an_error_that_cannot_be_told_or_does_not_exist_is_none(criterion, learner):
    y = TWO if learner is BAYES else REAL
    assert estimate(learner, X, y, criterion=criterion, random_state=0).monte_carlo_error is None


def test_a_further_fold_is_fitted_for_the_error_of_random_folds():
    found = estimate(BAYES, X, TWO, criterion=RowsAndLabels(10), random_state=0)
    assert found.n_fits == 12


@pytest.mark.parametrize("loss", ["roc_auc", "log"])
def test_random_folds_have_an_error_whatever_the_loss(loss):
    for criterion in (RowsAndLabels(10), CovariancePenalty()):
        assert estimate(BAYES, X, TWO, loss=loss, criterion=criterion, random_state=0).monte_carlo_error > 0


def test_folds_have_an_error_where_labels_reproduced_exactly_have_no_finite_optimism():
    wide = RNG.normal(size=(20, 30))
    found = estimate(Ridge(1e-12), wide, REAL[:20], criterion=RowsAndLabels(10), random_state=0)
    assert 0 < found.monte_carlo_error < found.out_sample
