"""Precomputed kernels and distances: a part of the rows is a part of the columns too."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import linear_kernel, pairwise_distances, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC, SVR

import outsample
from outsample import Bootstrap, CrossValidation, GridSearch, NestedCrossValidation
from outsample.criteria.base import CRITERIA

X, y = load_iris(return_X_y=True)
# No two distances are equal, so that neighbours have one order.
X = X[:, :3] + np.random.default_rng(0).normal(0, 0.05, (150, 3))
K, D = rbf_kernel(X, gamma=0.3), pairwise_distances(X)
FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)
A, b = (part[:90] for part in load_diabetes(return_X_y=True))
G = linear_kernel(A * 10)

# The learner on pairs, the learner on rows that is the same one, what the pairs are.
CLASSIFIERS = {
    "kernel": (SVC(kernel="precomputed"), SVC(kernel="rbf", gamma=0.3), K),
    "distances": (
        KNeighborsClassifier(7, metric="precomputed", weights="distance"),
        KNeighborsClassifier(7, weights="distance"),
        D,
    ),
    "search": (
        GridSearchCV(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3),
        GridSearchCV(SVC(kernel="rbf", gamma=0.3), {"C": [0.1, 1.0]}, cv=3),
        K,
    ),
    "search of our own": (
        GridSearch(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}, criterion=CrossValidation(3)),
        GridSearch(SVC(kernel="rbf", gamma=0.3), {"C": [0.1, 1.0]}, criterion=CrossValidation(3)),
        K,
    ),
}
RESAMPLED = {
    "kfold": CrossValidation(4),
    "holdout": "holdout",
    "nested": NestedCrossValidation(4, 2),
    "632+": Bootstrap(10, "632+"),
    "optimism": Bootstrap(10, "optimism"),
    "rows and labels": "rows-and-labels",
    "auto": "auto",
    "two-stage": "two-stage",
    "covariance": "covariance",
    "permutation": "permutation",
}


def estimated(learner, table, labels, criterion, **more):
    found = outsample.estimate(learner, table, labels, criterion=criterion, random_state=0, **more)
    return found.in_sample, found.out_sample


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_folds_of_pairs_are_those_of_cross_val_score(kind):
    learner, _, pairs = CLASSIFIERS[kind]
    found = outsample.estimate(learner, pairs, y, criterion=CrossValidation(FOLDS), random_state=0)
    assert 1 - found.out_sample == pytest.approx(cross_val_score(learner, pairs, y, cv=FOLDS).mean(), abs=1e-12)


def test_folds_behind_a_centred_kernel_are_those_of_cross_val_score():
    learner = make_pipeline(KernelCenterer(), SVR(kernel="precomputed", C=100.0))
    found = outsample.estimate(learner, G, b, criterion=CrossValidation(4), loss="neg_mean_squared_error")
    scores = cross_val_score(learner, G, b, cv=4, scoring="neg_mean_squared_error")
    assert found.out_sample == pytest.approx(scores.mean(), rel=1e-12)


@pytest.mark.parametrize("criterion", RESAMPLED)
@pytest.mark.parametrize("kind", ["kernel", "distances"])
def test_pairs_are_judged_as_the_rows_they_come_from(kind, criterion):
    on_pairs, on_rows, pairs = CLASSIFIERS[kind]
    chosen = RESAMPLED[criterion]
    assert estimated(on_pairs, pairs, y, chosen) == pytest.approx(estimated(on_rows, X, y, chosen), abs=1e-12)


@pytest.mark.parametrize("criterion", [*RESAMPLED, "loo", "gcv", "label-bootstrap"])
def test_kernel_ridge_of_pairs_is_kernel_ridge_of_rows(criterion):
    chosen = RESAMPLED.get(criterion, criterion)
    ours = estimated(KernelRidge(0.5, kernel="precomputed"), G, b, chosen)
    assert ours == pytest.approx(estimated(KernelRidge(0.5), A * 10, b, chosen), rel=1e-6)


@pytest.mark.parametrize("fast", [True, False])
def test_leave_one_out_of_pairs_is_the_same_by_refitting(fast):
    few = np.arange(0, 150, 3)
    learner = KNeighborsClassifier(5, metric="precomputed")
    found = estimated(learner, D[np.ix_(few, few)], y[few], "loo", fast=fast)
    assert found == estimated(KNeighborsClassifier(5), X[few], y[few], "loo", fast=False)


TWO = np.flatnonzero(y < 2)[::4]
FOR_OTHER_LEARNERS = {"alo", "oob", "aic", "bic", "cp", "fpe", "gcv", "vc", "vc-bound", "vc-entropy-bound"}
SLOW = {"nested-kfold", "bootstrap", "bag-bootstrap", "632", "optimism-bootstrap"}


@pytest.mark.parametrize("name", sorted(set(CRITERIA) - FOR_OTHER_LEARNERS - SLOW))
def test_every_criterion_judges_pairs_as_rows(name):
    ours = estimated(SVC(kernel="precomputed"), K[np.ix_(TWO, TWO)], y[TWO], name)
    assert ours == pytest.approx(estimated(SVC(kernel="rbf", gamma=0.3), X[TWO], y[TWO], name), abs=1e-12)


@pytest.mark.parametrize("name", sorted(FOR_OTHER_LEARNERS))
def test_criteria_of_other_learners_refuse_pairs_by_name(name):
    with pytest.raises(ValueError, match=f"{name}|linear"):
        estimated(SVC(kernel="precomputed"), K[np.ix_(TWO, TWO)], y[TWO], name)


def test_a_grid_over_pairs_is_that_of_grid_search_cv():
    grid = {"C": [0.1, 1.0, 10.0], "class_weight": [None, "balanced"]}
    ours = GridSearch(SVC(kernel="precomputed"), grid, criterion=CrossValidation(FOLDS)).fit(K, y)
    theirs = GridSearchCV(SVC(kernel="precomputed"), grid, cv=FOLDS).fit(K, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12)


def test_a_grid_in_which_only_some_settings_read_pairs_is_that_of_grid_search_cv():
    grid = {"kernel": ["precomputed", "linear"], "C": [0.01, 1.0]}
    ours = GridSearch(SVC(), grid, criterion=CrossValidation(FOLDS)).fit(K, y)
    theirs = GridSearchCV(SVC(), grid, cv=FOLDS).fit(K, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-12)


@pytest.mark.parametrize("honest", ["nested", "permutation", "bootstrap", "tibshirani"])
def test_the_error_of_a_whole_search_over_pairs_is_that_over_rows(honest):
    def score(learner, table):
        search = GridSearch(learner, {"C": [0.1, 1.0]}, criterion="kfold", honest=honest, random_state=0)
        return search.fit(table, y).honest_score_.out_sample

    assert score(SVC(kernel="precomputed"), K) == pytest.approx(score(SVC(kernel="rbf", gamma=0.3), X), abs=1e-12)


def test_tests_and_complexities_of_pairs_are_those_of_rows():
    def found(learner, table):
        cross_validated = outsample.permutation_test(learner, table, y, n_draws=5, cv=FOLDS, random_state=0)
        two = np.flatnonzero(y < 2)[::5]
        part = table[np.ix_(two, two)] if table is K else table[two]
        complexity = outsample.rademacher_complexity(learner, part, y[two], n_draws=3, random_state=0)
        dimension = outsample.effective_vc_dimension(learner, part, n_draws=10, random_state=0)
        compared = outsample.compare(learner, table, y, criteria=["kfold", "632"], random_state=0)
        return [
            *cross_validated.null,
            complexity.value,
            *dimension.discrepancy,
            *compared.to_frame()["out_sample"],
        ]

    assert found(SVC(kernel="precomputed"), K) == pytest.approx(found(SVC(kernel="rbf", gamma=0.3), X), abs=1e-12)


def test_regret_over_pairs_is_regret_over_rows():
    def study(learner, table):
        learners = {"svm": (learner, {"C": [0.01, 1.0]})}
        return outsample.regret_study(learners, {"iris": (table, y)}, ["kfold"], n_splits=2, n_jobs=1).errors

    pairs, rows = study(SVC(kernel="precomputed"), K), study(SVC(kernel="rbf", gamma=0.3), X)
    np.testing.assert_allclose(pairs["svm", "iris"], rows["svm", "iris"], atol=1e-12)


@pytest.mark.parametrize("kind", [pd.DataFrame, np.ndarray.tolist])
def test_pairs_in_any_table(kind):
    learner = SVC(kernel="precomputed")
    assert estimated(learner, kind(K), y, CrossValidation(FOLDS)) == estimated(learner, K, y, CrossValidation(FOLDS))


@pytest.mark.filterwarnings("ignore:Precomputed sparse input was not sorted")
@pytest.mark.parametrize("n_stored", [12, 40, 150])
def test_a_sparse_graph_of_distances_is_split_as_in_cross_val_score(n_stored):
    graph = sparse.csr_matrix(np.where(np.sort(D, axis=1)[:, [n_stored - 1]] >= D, D, 0))
    learner = KNeighborsClassifier(2, metric="precomputed")
    found = outsample.estimate(learner, graph, y, criterion=CrossValidation(FOLDS), random_state=0)
    assert 1 - found.out_sample == pytest.approx(cross_val_score(learner, graph, y, cv=FOLDS).mean(), abs=1e-12)


def test_pairs_that_are_not_square_are_refused():
    with pytest.raises(ValueError, match=r"X must be a square table for SVC.*\(150, 3\)"):
        outsample.estimate(SVC(kernel="precomputed"), X, y)


def test_columns_of_pairs_are_not_tested_one_by_one():
    with pytest.raises(ValueError, match=r"SVC reads pairs of rows.*use permutation_test"):
        outsample.permutation_test_columns(SVC(kernel="precomputed"), K, y)


def test_approximate_leave_one_out_refuses_pairs_by_name():
    learner = make_pipeline(KernelCenterer(), outsample.LeadingColumns(2), KernelRidge())
    with pytest.raises(ValueError, match='criterion "alo" cannot leave a row out of precomputed kernels'):
        outsample.estimate(learner, G, b, criterion="alo")
