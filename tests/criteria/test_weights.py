"""Weights of rows, for every criterion: zero is no row, one is no weight, and what whole numbers mean."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold, LeaveOneGroupOut, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample import GridSearch, estimate
from outsample.criteria.base import CRITERIA
from outsample.criteria.bootstrap import Bootstrap
from outsample.criteria.covariance import CovariancePenalty
from outsample.criteria.cross_validation import CrossValidation
from outsample.criteria.labels import LabelBootstrap, Permutation
from outsample.criteria.nested import NestedCrossValidation
from outsample.problem import pose
from outsample.resampling.labels import FreePermutation, WithReplacement
from outsample.resampling.references import value_reference

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 3))
REAL = X[:, 0] + RNG.normal(size=N)
TWO = (REAL > 0).astype(int)
OUTLYING = np.r_[np.full(5, 1000.0), REAL[5:]]
ABSENT = np.r_[np.zeros(5), np.ones(N - 5)]

REGRESSORS = {
    "ridge": Ridge(1.0),
    "least squares": LinearRegression(),
    "scaled ridge": make_pipeline(StandardScaler(), Ridge(1.0)),
    "tree": DecisionTreeRegressor(max_leaf_nodes=4, random_state=0),
}
CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "tree": DecisionTreeClassifier(max_leaf_nodes=4, random_state=0),
    "bayes": GaussianNB(),
}
FOR_TWO_CLASSES = {name for name in CRITERIA if "bound" in name or "discrepancy" in name or name == "rademacher"}
LINEAR = {"fpe", "aic", "bic", "cp", "gcv", "vc"}
SERVED = {
    "oob": set(),
    "alo": {"logistic", "ridge", "least squares", "scaled ridge"},
    "vc-bound": {"logistic"},
    "vc-entropy-bound": {"logistic"},
    "margin-bound": {"logistic"},
}
QUICK = {
    "nested-kfold": NestedCrossValidation(3, 2),
    "bootstrap": Bootstrap(9),
    "optimism-bootstrap": Bootstrap(9, "optimism"),
}
QUICK |= {kind: Bootstrap(9, kind) for kind in ("632", "632+")} | {"bag-bootstrap": Bootstrap(9, "bags")}


def cases(criteria):
    """(criterion, learner, labels) as far as the criterion serves the learner."""
    for name in criteria:
        for kind, learner in (REGRESSORS | {f"{kind} of classes": c for kind, c in CLASSIFIERS.items()}).items():
            of_classes, bare = kind.endswith(" of classes"), kind.removesuffix(" of classes")
            linear, two_classes = not of_classes and kind != "tree", of_classes
            suits = (linear or name not in LINEAR) and (two_classes or name not in FOR_TWO_CLASSES)
            if suits and bare in SERVED.get(name, {bare}):
                yield pytest.param(QUICK.get(name, name), learner, TWO if of_classes else REAL, id=f"{name}-{kind}")


ALL = list(cases(CRITERIA))


def numbers(result):
    return result.in_sample, result.out_sample, result.standard_error, result.monte_carlo_error


@pytest.mark.parametrize(("criterion", "learner", "y"), ALL)
def test_a_row_of_weight_zero_is_no_row(criterion, learner, y):
    labels = OUTLYING if y is REAL else y
    present = ABSENT > 0
    with_them = estimate(learner, X, labels, criterion=criterion, sample_weight=ABSENT, random_state=1)
    without = estimate(learner, X[present], labels[present], criterion=criterion, random_state=1)
    assert numbers(with_them) == numbers(without)
    assert with_them.n_samples == N - 5


@pytest.mark.parametrize(("criterion", "learner", "y"), ALL)
def test_a_weight_of_one_is_no_weight(criterion, learner, y):
    weighted = estimate(learner, X, y, criterion=criterion, sample_weight=np.ones(N), random_state=1)
    assert numbers(weighted) == numbers(estimate(learner, X, y, criterion=criterion, random_state=1))


@pytest.mark.parametrize("learner", [LinearRegression(), DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)])
@pytest.mark.parametrize("criterion", sorted(set(CRITERIA) - FOR_TWO_CLASSES - LINEAR - {"alo", "oob"}))
def test_equal_weights_are_no_weights_where_the_learner_ignores_their_scale(criterion, learner):
    heavy = estimate(learner, X, REAL, criterion=criterion, sample_weight=np.full(N, 4.0), random_state=1)
    assert numbers(heavy) == pytest.approx(numbers(estimate(learner, X, REAL, criterion=criterion, random_state=1)))


def test_a_constant_weight_is_handed_on_to_learners_whose_penalty_it_changes():
    heavy = estimate(Ridge(10.0), X, REAL, criterion="resubstitution", sample_weight=np.full(N, 4.0))
    assert heavy.in_sample == pytest.approx(mean_squared_error(REAL, Ridge(2.5).fit(X, REAL).predict(X)))


@pytest.mark.parametrize("learner", REGRESSORS.values())
def test_folds_without_rows_of_weight_zero_are_those_of_all_rows(learner):
    weighted = estimate(learner, X, OUTLYING, criterion=CrossValidation(4), sample_weight=ABSENT)
    folds = [(train[train >= 5] - 5, test[test >= 5] - 5) for train, test in KFold(4).split(X)]
    assert weighted.out_sample == estimate(learner, X[5:], OUTLYING[5:], criterion=CrossValidation(folds)).out_sample


def test_out_of_fold_predictions_stay_at_their_rows():
    weight = np.where(np.arange(N) % 7 == 3, 0.0, 1.0)
    search = GridSearch(Ridge(), {"alpha": [1.0]}, criterion=CrossValidation(4, keep_predictions=True), loss="squared")
    kept = search.fit(X, REAL, sample_weight=weight).curve_.out_of_fold[0]
    folds = [(train[weight[train] > 0], test) for train, test in KFold(4).split(X)]
    expected = np.concatenate([Ridge().fit(X[train], REAL[train]).predict(X[test]) for train, test in folds])
    np.testing.assert_allclose(kept[weight > 0], expected[weight > 0])
    assert np.isnan(kept[weight == 0]).all()


@pytest.mark.parametrize("honest", ["nested", "permutation", "bootstrap", "tibshirani"])
def test_honest_scores_ignore_the_labels_of_rows_of_weight_zero(honest):
    criterion = "permutation" if honest == "permutation" else CrossValidation(4)
    grid = {"alpha": [0.1, 10.0]}
    scores = {
        GridSearch(Ridge(), grid, criterion=criterion, loss="squared", honest=honest, random_state=0)
        .fit(X, y, sample_weight=ABSENT)
        .honest_score_.out_sample
        for y in (REAL, OUTLYING)
    }
    assert len(scores) == 1


def test_groups_and_references_are_given_for_all_rows():
    groups, mean, rest = np.arange(N) // 3, X[:, 0], slice(5, None)
    by_groups = estimate(Ridge(), X, OUTLYING, groups=groups, sample_weight=ABSENT, random_state=0)
    assert (
        by_groups.out_sample == estimate(Ridge(), X[rest], REAL[rest], groups=groups[rest], random_state=0).out_sample
    )
    around = estimate(Ridge(), X, OUTLYING, criterion=CovariancePenalty(mean), sample_weight=ABSENT)
    assert (
        around.out_sample == estimate(Ridge(), X[rest], REAL[rest], criterion=CovariancePenalty(mean[rest])).out_sample
    )


def test_a_class_of_weight_zero_is_no_class():
    y = np.r_[np.full(5, 2), TWO[5:]]
    search = GridSearch(LogisticRegression(), {"C": [1.0]}).fit(X, y, sample_weight=ABSENT)
    assert search.classes_.tolist() == [0, 1]


COPIES = RNG.integers(1, 4, N)
REPEATED, LABELS, ROW = np.repeat(X, COPIES, axis=0), np.repeat(REAL, COPIES), np.repeat(np.arange(N), COPIES)


@pytest.mark.parametrize("learner", [Ridge(1.0), DecisionTreeRegressor(max_leaf_nodes=4, random_state=0)])
def test_whole_weights_are_repeated_rows_where_rows_are_left_out(learner):
    folds = list(KFold(4).split(X))
    copied = [tuple(np.flatnonzero(np.isin(ROW, part)) for part in fold) for fold in folds]
    for criterion, same in (("resubstitution",) * 2, (CrossValidation(folds), CrossValidation(copied))):
        weighted = estimate(learner, X, REAL, criterion=criterion, sample_weight=COPIES)
        assert weighted.out_sample == pytest.approx(estimate(learner, REPEATED, LABELS, criterion=same).out_sample)


def test_leaving_out_a_row_of_weight_three_is_leaving_out_its_three_copies():
    weighted = estimate(Ridge(1.0), X, REAL, criterion="loo", sample_weight=COPIES)
    left_out = cross_val_predict(Ridge(1.0), REPEATED, LABELS, groups=ROW, cv=LeaveOneGroupOut())
    assert weighted.out_sample == pytest.approx(mean_squared_error(LABELS, left_out))


@pytest.mark.parametrize(("loss", "y"), [("squared", REAL), ("absolute", REAL), ("zero-one", TWO), ("log", TWO)])
def test_the_risk_without_information_is_that_of_repeated_rows(loss, y):
    learner = Ridge() if y is REAL else LogisticRegression()
    problem = pose(learner, X, y, loss=loss, sample_weight=COPIES)
    weighted = problem.loss.crossed_mean(y, problem.fitted, problem.weight, problem.label_weight)
    repeated = problem.loss.crossed_mean(np.repeat(y, COPIES), np.repeat(problem.fitted, COPIES, axis=1))
    assert weighted == pytest.approx(repeated)


def test_the_noise_of_a_reference_is_that_of_weighted_least_squares():
    """The mean over noise of the estimated variance is the variance, by quadratic forms."""
    weight = RNG.uniform(0.2, 3, N)
    design = np.column_stack([np.ones(N), X])
    S = design @ np.linalg.solve(design.T * weight @ design, design.T * weight)
    freedom = N * np.average(np.diag(S), weights=weight)
    form = (np.eye(N) - S).T @ np.diag(weight / weight.sum()) @ (np.eye(N) - S)
    assert N * np.trace(form) / (N - freedom) == pytest.approx(1.0)
    found = value_reference(REAL, S @ REAL, degrees_of_freedom=freedom, weight=weight)
    assert found.variance == pytest.approx(N * REAL @ form @ REAL / (N - freedom))


def arrangements(y, weight):
    """Every label vector of a systematic sample in random order, with its probability, from the definition."""
    order = np.argsort(y, kind="stable")
    ends = list(itertools.accumulate(Fraction(int(w)) for w in weight[order]))
    step = ends[-1] / len(y)
    turns = sorted({Fraction(0), Fraction(1), *(end / step % 1 for end in ends)})
    permutations = list(itertools.permutations(range(len(y))))
    for low, high in itertools.pairwise(turns):
        start = (low + high) / 2
        taken = [sum(end <= (start + k) * step for end in ends) for k in range(len(y))]
        labels = y[order][taken]
        for permutation in permutations:
            yield labels[list(permutation)], float(high - low) / len(permutations)


def vectors(y, weight):
    share = weight / weight.sum()
    for rows in itertools.product(range(len(y)), repeat=len(y)):
        yield y[list(rows)], float(np.prod(share[list(rows)]))


SMALL, VALUES, WEIGHT = RNG.normal(size=(4, 1)), np.array([0.3, -1.0, 2.0, 5.0]), np.array([1, 3, 7, 2])


@pytest.mark.parametrize(("criterion", "listed"), [(Permutation(400), arrangements), (LabelBootstrap(400), vectors)])
@pytest.mark.parametrize("learner", [Ridge(0.5), DecisionTreeRegressor(max_leaf_nodes=2, random_state=0)])
def test_the_optimism_on_drawn_labels_with_weights_against_enumeration(criterion, listed, learner):
    """Over all draws: the risk on labels of an independent draw minus the risk on the labels fitted."""
    drawn, chances = (np.array(part) for part in zip(*listed(VALUES, WEIGHT), strict=True))
    marginal = np.array([[chances[drawn[:, i] == value].sum() for value in VALUES] for i in range(4)])
    np.testing.assert_allclose(marginal, np.tile(WEIGHT / WEIGHT.sum(), (4, 1)), atol=1e-12)
    fits = [clone(learner).fit(SMALL, y, sample_weight=WEIGHT).predict(SMALL) for y in drawn]
    new = np.average((np.array(fits)[:, :, None] - VALUES) ** 2, axis=2, weights=WEIGHT)
    optimism = chances @ np.average(new - (np.array(fits) - drawn) ** 2, axis=1, weights=WEIGHT)
    ours = estimate(learner, SMALL, VALUES, criterion=criterion, sample_weight=WEIGHT, random_state=0)
    assert abs(ours.optimism - optimism) <= 4 * ours.monte_carlo_error + 1e-12
    assert (ours.monte_carlo_error == 0) == isinstance(learner, Ridge)


@pytest.mark.parametrize("scheme", [FreePermutation, WithReplacement])
def test_label_moments_and_draws_follow_the_weights(scheme):
    weight = WEIGHT.astype(float)
    stack = np.array([scheme(weight).draw(VALUES, np.random.default_rng(i)) for i in range(4000)])
    expected = 4000 * weight / weight.sum()
    for place in stack.T:
        counts = np.array([(place == value).sum() for value in VALUES])
        assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_permuted_labels_are_as_frequent_as_their_weights_up_to_one():
    weight = RNG.uniform(0.1, 3, 40)
    expected = 40 * weight / weight.sum()
    for seed in range(20):
        drawn = FreePermutation(weight).draw(np.arange(40), np.random.default_rng(seed))
        counts = np.bincount(drawn, minlength=40)
        assert (np.floor(expected) <= counts).all()
        assert (counts <= np.ceil(expected)).all()


@pytest.mark.parametrize("criterion", ["permutation", "label-bootstrap", "two-stage", "covariance", "rows-and-labels"])
@pytest.mark.parametrize("learner", REGRESSORS.values())
def test_a_label_of_hardly_any_weight_hardly_matters(criterion, learner):
    hardly = np.where(ABSENT > 0, 1.0, 1e-9)
    with_them = estimate(learner, X, OUTLYING, criterion=criterion, sample_weight=hardly, random_state=0)
    without = estimate(learner, X[5:], REAL[5:], criterion=criterion, random_state=0)
    assert with_them.out_sample == pytest.approx(without.out_sample, rel=0.2)


def test_rare_classes_that_weigh_more_are_priced_at_their_weight():
    """Guessing is wrong half of the time when both classes weigh the same, however few rows one of them has."""
    y = (np.arange(N) % 6 == 0).astype(int)
    learner = DecisionTreeClassifier(random_state=0)
    balanced = np.where(y == 1, 5.0, 1.0)
    result = estimate(learner, X, y, criterion=Permutation(50), sample_weight=balanced, random_state=0)
    assert result.out_sample == pytest.approx(0.5, abs=4 * result.monte_carlo_error)
