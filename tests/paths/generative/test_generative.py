"""Generative classifiers without refits: the same answers as scikit-learn's, in-sample, on new rows and left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from contract import assert_equal_predictions, check_contract
from corner_cases import awkward_table, smooth_table, three_classes, weights
from scipy import sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid

import outsample
from outsample.data.learners import FitError, fit, respond
from outsample.data.tables import rows
from outsample.paths.dispatch import find_path
from outsample.paths.generative import design as generative
from outsample.paths.refit import RefitDesign, RefitPath

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:Only one sample available"),
    pytest.mark.filterwarnings("ignore:self.within_class_std_dev_ has at least 1 zero standard deviation"),
]

N = 24
FOLDS = {"one row out": np.arange(N), "folds": np.arange(N) % 4, "uneven folds": np.minimum(np.arange(N) // 2, 7)}


def counts(seed=0):
    """Counts with many zeros, and a column that only one row has."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(rng.gamma(1, 1, 6), (N, 6)).astype(float)
    table[:, 5] = 0.0
    table[3, 5] = 2.0
    return table


def shares(seed=0):
    """Real numbers in the places of counts."""
    return counts(seed) * np.random.default_rng(9).uniform(0.1, 1.0, (N, 6))


def categories():
    codes = np.random.default_rng(1).integers(0, 4, (N, 4))
    codes[:6] = 3
    return codes


def wide():
    """Columns of other units, far from zero."""
    return smooth_table(N, 4)[0] * np.array([1.0, 10.0, 0.1, 3.0]) + 50.0


def table_of(name):
    tables = {
        "smooth": lambda: smooth_table(N, 4)[0],
        "awkward": lambda: awkward_table(N)[0],
        "wide": wide,
        "counts": counts,
        "shares": shares,
        "sparse": lambda: sparse.csr_matrix(shares()),
        "categories": categories,
    }
    return tables[name]()


def refitted(path, X, y, folds, responses, classes, weight=None):
    """What scikit-learn says of rows left out, response → (models, n[, K]); one fit for all responses."""
    found = {}
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        for m, params in enumerate(path.params):
            model = clone(path.estimator).set_params(**params)
            fit(model, rows(X, train), classes[y[train]], None if weight is None else weight[train])
            for response in responses:
                answer = respond(model, rows(X, test), response, classes)
                room = (len(path), len(y), *answer.shape[1:])
                found.setdefault(response, np.empty(room, answer.dtype))[m, test] = answer
    return found


def left_out(path, X, y, folds, response, classes, weight=None):
    """The path's own answers; where it has no shortcut, bound to the rows of the other folds."""
    answers = path.bind(X, classes, weight).left_out_predictions(y, folds, response)
    if answers is not None:
        return answers
    parts = {}
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        bound = path.bind(rows(X, train), classes, None if weight is None else weight[train])
        parts.update(zip(test, np.moveaxis(bound.predict(y[train], rows(X, test), response), 1, 0), strict=True))
    return np.stack([parts[i] for i in range(len(y))], axis=1)


def check(path, X, y, folds, weight=None, responses=None, within=1e-9):
    """Left-out answers against refits."""
    classes, responses = np.unique(y), responses or sorted(path.responses)
    theirs = refitted(path, X, y, folds, responses, classes, weight)
    for response in responses:
        ours = left_out(path, X, y, folds, response, classes, weight)
        assert_equal_predictions(ours, theirs[response], response, within)


def two_classes(X):
    """Half of the rows each."""
    score = X[:, 0] + np.random.default_rng(3).normal(size=len(X))
    return (score > np.median(score)).astype(int)


@pytest.fixture
def never_refits(monkeypatch):
    class Refused(RefitPath):
        @classmethod
        def of(cls, path):
            raise AssertionError("refitted")

    monkeypatch.setattr(generative, "RefitPath", Refused)


LDA, QDA = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
SMOOTHING, ALPHAS, SHARES = [1e-9, 1e-3, 1.0], [1e-3, 1.0, 10.0], [0.05, 0.4, 1.0]
CASES = [
    (GaussianNB(), "var_smoothing", SMOOTHING, ("smooth", "awkward", "wide")),
    (LDA(), "shrinkage", None, ("smooth", "awkward", "wide")),
    (LDA(solver="lsqr"), "shrinkage", [None, *SHARES], ("smooth", "wide")),
    (LDA(solver="lsqr"), "shrinkage", SHARES, ("awkward",)),
    (LDA(solver="eigen"), "shrinkage", [None, *SHARES], ("smooth",)),
    (QDA(), "reg_param", [0.0, 0.1, 0.9], ("smooth",)),
    (QDA(reg_param=0.2), "shrinkage", None, ("awkward",)),
    (QDA(solver="eigen"), "shrinkage", [None, 0.1, 0.9], ("smooth",)),
    (NearestCentroid(), "shrink_threshold", [None, 0.2, 1.0, 20.0], ("smooth", "wide")),
    (NearestCentroid(priors="empirical"), "shrink_threshold", [None, 0.3], ("smooth", "awkward")),
    (MultinomialNB(), "alpha", ALPHAS, ("counts", "shares", "sparse")),
    (MultinomialNB(fit_prior=False), "alpha", [np.arange(1, 7) / 3, np.full(6, 0.5)], ("counts",)),
    (ComplementNB(), "alpha", ALPHAS, ("counts", "shares", "sparse")),
    (ComplementNB(norm=True), "alpha", ALPHAS, ("counts", "sparse")),
    (BernoulliNB(), "alpha", [1e-8, *ALPHAS], ("counts", "smooth")),
    (BernoulliNB(binarize=0.3, fit_prior=False), "alpha", ALPHAS, ("shares", "sparse")),
    (CategoricalNB(), "alpha", ALPHAS, ("categories",)),
    (CategoricalNB(min_categories=[4, 5, 6, 7]), "alpha", ALPHAS, ("categories",)),
]
CASES = [(estimator, parameter, values, table) for estimator, parameter, values, tables in CASES for table in tables]


def path_of(estimator, parameter, values, **options):
    return find_path(estimator) if values is None else find_path(estimator, parameter, values, **options)


@pytest.mark.parametrize("labels", [two_classes, three_classes])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[3]}")
def test_equal_to_refitting(case, labels, request):
    *learner, table = case
    some_alike = isinstance(learner[0], NearestCentroid) and labels is three_classes
    if table in ("smooth", "wide") and not isinstance(learner[0], BernoulliNB) and not some_alike:
        # Whole numbers have ties, and two of three centroids may shrink to the same point: such rows are refitted.
        request.getfixturevalue("never_refits")
    X, y = table_of(table), labels(smooth_table(N, 4)[0])
    path = path_of(*learner)
    check_contract(path, X, y, X[:5] if table != "awkward" else None, classes=np.unique(y), n_draws=2)
    for folds in list(FOLDS.values())[: 3 if labels is two_classes else 1]:
        check(path, X, y, folds)


WEIGHTED = [case for case in CASES if case[0].__class__.__name__.endswith("NB")]


@pytest.mark.parametrize("weight", [weights(N), np.arange(N) % 3 + 1.0], ids=["real", "whole"])
@pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: f"{case[0]} {case[3]}")
def test_with_weights(case, weight):
    *learner, table = case
    X, y = table_of(table), three_classes(smooth_table(N, 4)[0])
    path = path_of(*learner, weighted=True)
    assert not isinstance(path, RefitPath)
    check_contract(path, X, y, classes=np.unique(y), weight=weight, n_draws=2)
    for folds in (FOLDS["one row out"], FOLDS["folds"]):
        check(path, X, y, folds, weight)


GIVEN = [0.2, 0.3, 0.5]


@pytest.mark.parametrize(
    ("estimator", "parameter", "values", "table"),
    [
        (GaussianNB(priors=GIVEN), "var_smoothing", SMOOTHING, "smooth"),
        (LDA(priors=GIVEN), "shrinkage", None, "smooth"),
        (LDA(solver="lsqr", priors=GIVEN), "shrinkage", [None, 0.2], "wide"),
        (LDA(solver="eigen", priors=GIVEN, n_components=1), "shrinkage", [None, 0.2], "smooth"),
        (QDA(solver="eigen", priors=GIVEN), "shrinkage", [0.1, 0.3], "smooth"),
        (NearestCentroid(priors=GIVEN), "shrink_threshold", [None, 0.3], "smooth"),
        (MultinomialNB(class_prior=[0.1, 0.4, 0.2]), "alpha", ALPHAS, "counts"),
        (BernoulliNB(class_prior=GIVEN), "alpha", ALPHAS, "counts"),
        (CategoricalNB(class_prior=GIVEN), "alpha", ALPHAS, "categories"),
    ],
    ids=str,
)
def test_priors_given(estimator, parameter, values, table):
    X, y = table_of(table), three_classes(smooth_table(N, 4)[0])
    path = path_of(estimator, parameter, values)
    check_contract(path, X, y, X[:5], classes=np.unique(y), n_draws=2)
    check(path, X, y, FOLDS["one row out"])
    check(path, X, y, FOLDS["folds"])


def test_a_row_that_makes_up_all_the_variance_of_its_class():
    """Without it the variance is zero, and rounding must not show beside a smoothing of 1e-9."""
    X, y = smooth_table(N, 4)[0], two_classes(smooth_table(N, 4)[0])
    X[:, 1], X[:, 2] = 0.0, 7.0
    X[np.flatnonzero(y == 1)[2], 1] = 1.0
    X[np.flatnonzero(y == 0)[4], 2] = 7.3
    check(path_of(GaussianNB(), "var_smoothing", [1e-9, 1e-4]), X, y, np.arange(N), within=1e-6)


def test_a_fold_that_makes_up_all_the_variance_of_a_class():
    X, y = smooth_table(N, 4)[0], two_classes(smooth_table(N, 4)[0])
    X[:, 1] = np.where(FOLDS["folds"] == 2, X[:, 1], 0.5)
    # Scores of a thousand million have six digits left of their differences, here and in scikit-learn.
    check(path_of(GaussianNB(), "var_smoothing", [1e-9, 1e-4]), X, y, FOLDS["folds"], within=1e-6)
    check(path_of(LDA(solver="lsqr"), "shrinkage", [0.3]), X, y, FOLDS["folds"])


@pytest.mark.parametrize("case", [case for case in CASES if case[3] in ("smooth", "counts", "categories")], ids=str)
def test_a_class_of_one_row_and_a_fold_of_a_whole_class(case):
    *learner, table = case
    if isinstance(learner[0], QDA):
        pytest.skip("a class of one row has no covariance")
    X, y = table_of(table), two_classes(smooth_table(N, 4)[0])
    y[4] = 2
    path = path_of(*learner)
    responses = [response for response in sorted(path.responses) if response != "decision_function"]
    check(path, X, y, np.arange(N), responses=responses)
    check(path, X, y, np.where(y == 1, 0, 1 + np.arange(N) % 8), responses=responses)


def test_one_class_is_left():
    X, y = smooth_table(N, 4)[0], (np.arange(N) == 3).astype(int)
    for estimator in (GaussianNB(), LDA(), NearestCentroid()):
        left_out = find_path(estimator).bind(X, np.arange(2)).left_out_predictions(y, np.arange(N))
        assert left_out[0, 3] == 0


def test_rows_that_nearly_determine_a_direction():
    """As many columns as rows but a few: downdates lose digits, and refits take their place."""
    X, y = smooth_table(16, 11)[0], np.arange(16) % 2
    X[5] *= 1e4
    check(path_of(LDA(), "shrinkage", None), X, y, np.arange(16))
    check(path_of(LDA(solver="lsqr"), "shrinkage", [None, 1e-4, 0.3]), X, y, np.arange(16))
    check(path_of(QDA(solver="eigen"), "shrinkage", [0.01, 0.5]), X, y, np.arange(16))


def test_columns_that_depend_on_each_other():
    X, y = smooth_table(N, 4)[0], three_classes(smooth_table(N, 4)[0])
    dummies = np.eye(3)[np.random.default_rng(0).integers(0, 3, N)]
    X = np.column_stack([X, dummies, X[:, 0] - X[:, 1]])
    check(path_of(LDA(), "shrinkage", None), X, y, np.arange(N))
    assert path_of(LDA(solver="lsqr"), "shrinkage", [0.3]).bind(X, np.arange(3)).knows_rows_left_out(y)
    assert not path_of(LDA(solver="lsqr"), "shrinkage", [None, 0.3]).bind(X, np.arange(3)).knows_rows_left_out(y)
    new = X + np.random.default_rng(1).normal(size=X.shape)
    check_contract(find_path(LDA()), X, y, new, classes=np.arange(3), n_draws=1)


def test_centres_on_one_line():
    """The solver "svd" drops directions in which class means hardly differ."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.arange(60) % 3
    X -= np.stack([X[y == k].mean(axis=0) for k in range(3)])[y]
    X += np.outer(y, [2.0, 1.0, 0.0]) + 1e-7 * np.eye(3)[y]
    check(find_path(LDA()), X, y, np.arange(60) % 6)
    check(find_path(LDA()), X, y, np.arange(60))


def test_the_last_category_of_a_column():
    X, y = categories(), two_classes(smooth_table(N, 4)[0])
    X[0, 2] = 5
    design = find_path(CategoricalNB()).bind(X, np.arange(2))
    assert design.left_out_predictions(y, np.arange(N)) is None
    check(find_path(CategoricalNB(min_categories=6)), X, y, np.arange(N))
    new = X.copy()
    new[:, 0] = 9
    with pytest.raises(FitError, match="out of bounds"):
        design.predict(y, new)


def test_classes_that_do_not_differ_go_to_the_first(never_refits):
    X, y = smooth_table(N, 4)[0], three_classes(smooth_table(N, 4)[0])
    path = find_path(NearestCentroid(shrink_threshold=50.0))
    assert (path.bind(X, np.arange(3)).left_out_predictions(y, np.arange(N)) == 0).all()
    check(path, X, y, np.arange(N), responses=["predict"])


@pytest.mark.parametrize("estimator", [MultinomialNB(), MultinomialNB(fit_prior=False), ComplementNB()], ids=str)
def test_rows_without_counts_go_to_the_first_of_classes_with_equal_priors(estimator, never_refits):
    X, y = counts(), np.arange(N) % 3
    X[::4] = 0.0
    check(find_path(estimator, "alpha", ALPHAS), X, y, np.arange(N))


def test_a_row_between_two_centroids():
    X = np.random.default_rng(0).normal(size=(20, 2)) * 3
    X[:, 1] = np.arange(20) % 3
    y = np.arange(20) % 2
    check_contract(find_path(NearestCentroid(), "shrink_threshold", [None, 0.03, 0.05]), X, y, responses=["predict"])


def test_scores_of_near_ties_are_asked_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = np.vstack([half := rng.normal(size=(12, 3)), -half])
    y = np.repeat([0, 1], 12)
    X = np.vstack([X, np.zeros((2, 3))])
    y = np.append(y, [0, 1])
    for estimator in (GaussianNB(), NearestCentroid(), LDA()):
        path = find_path(estimator)
        check(path, X, y, np.arange(26) % 13)


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (NearestCentroid(), sparse.csr_matrix(counts())),
        (BernoulliNB(binarize=None), counts()),
        (GaussianNB(priors=[0.5, 0.6]), smooth_table(N, 4)[0]),
        (MultinomialNB(alpha=np.ones(3)), counts()),
        (QDA(solver="eigen", shrinkage="auto"), smooth_table(N, 4)[0]),
    ],
    ids=str,
)
def test_left_to_refits_once_x_is_known(estimator, X):
    assert isinstance(find_path(estimator).bind(X, np.arange(2)), RefitDesign)


@pytest.mark.parametrize(
    "estimator",
    [
        LDA(solver="lsqr", shrinkage="auto"),
        LDA(solver="lsqr", covariance_estimator=QDA()),
        NearestCentroid(metric="manhattan"),
        MultinomialNB(alpha=0.0),
        GaussianNB(var_smoothing=-1.0),
    ],
    ids=str,
)
def test_left_to_refits(estimator):
    assert isinstance(find_path(estimator), RefitPath)


def test_a_covariance_matrix_without_full_rank_is_scikit_learns_own_error():
    X, y = smooth_table(N, 4)[0], two_classes(smooth_table(N, 4)[0])
    X[:, 3] = X[:, 0]
    design = find_path(QDA()).bind(X, np.arange(2))
    with pytest.raises(FitError, match="not full rank"):
        design.fitted(y[None])


def test_searches_agree_with_grid_search_cv():
    """String labels, a data frame, folds of scikit-learn; zero-one and logarithmic loss."""
    X = pd.DataFrame(smooth_table(60, 4)[0], columns=list("abcd"))
    y = np.array(["no", "perhaps", "yes"])[three_classes(X.to_numpy())]
    for estimator, grid in (
        (GaussianNB(), {"var_smoothing": SMOOTHING}),
        (LDA(solver="lsqr"), {"shrinkage": [0.0, 0.1, 0.5]}),
        (QDA(), {"reg_param": [0.1, 0.5]}),
        (NearestCentroid(), {"shrink_threshold": [None, 0.1, 0.5]}),
    ):
        for loss, scoring in (("zero-one", "accuracy"), ("log", "neg_log_loss")):
            theirs = GridSearchCV(estimator, grid, cv=5, scoring=scoring).fit(X, y)
            ours = outsample.GridSearch(estimator, grid, criterion=outsample.CrossValidation(5), loss=loss).fit(X, y)
            expected = theirs.cv_results_["mean_test_score"]
            risk = 1 - expected if loss == "zero-one" else -expected
            by_value = {str(p): r for p, r in zip(ours.curve_.params, ours.curve_.out_sample, strict=True)}
            wanted = {str(p): r for p, r in zip(theirs.cv_results_["params"], risk, strict=True)}
            assert by_value == pytest.approx(wanted, abs=1e-9)


def test_auto_takes_exact_leave_one_out():
    X, y = smooth_table(60, 4)[0], three_classes(smooth_table(60, 4)[0])
    for estimator in (GaussianNB(), LDA()):
        estimate = outsample.estimate(estimator, X, y, criterion="auto", random_state=0)
        left_out = cross_val_predict(estimator, X, y, cv=LeaveOneOut())
        assert estimate.out_sample == pytest.approx(np.mean(left_out != y), abs=1e-12)


def test_many_rows_are_worked_through_in_blocks(monkeypatch):
    monkeypatch.setattr(generative, "NUMBERS_AT_ONCE", 64)
    X, y = smooth_table(N, 4)[0], three_classes(smooth_table(N, 4)[0])
    for estimator, parameter, values in (
        (GaussianNB(), "var_smoothing", SMOOTHING),
        (LDA(solver="lsqr"), "shrinkage", SHARES),
        (QDA(), "reg_param", [0.1]),
        (NearestCentroid(), "shrink_threshold", [0.1]),
    ):
        check(find_path(estimator, parameter, values), X, y, np.arange(N))
    check(find_path(BernoulliNB(), "alpha", ALPHAS), counts(), y, np.arange(N))
