"""Nearest neighbours: one search gives what scikit-learn gives at every k."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import check_left_out, check_smoother, refitted_left_out
from contract import check_contract, reference_predictions, setting_id
from scipy import sparse
from sklearn.metrics import confusion_matrix, pairwise_distances
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from threadpoolctl import threadpool_limits

import outsample
from compiler_switch import printed_with_and_without_compiler
from outsample.data.learners import FitError
from outsample.paths.base import Design
from outsample.paths.dispatch import find_path
from outsample.paths.neighbors.votes import NeighborsPath
from outsample.paths.refit import RefitPath

SEARCHES = [
    {},
    {"weights": "distance"},
    {"algorithm": "brute"},
    {"algorithm": "brute", "weights": "distance"},
    {"algorithm": "kd_tree", "leaf_size": 3},
    {"algorithm": "ball_tree", "metric": "manhattan", "weights": "distance"},
    {"metric": "cosine"},
    {"metric": "chebyshev"},
    {"p": 3},
    {"metric": "mahalanobis", "metric_params": {"VI": np.diag([1.0, 2.0, 3.0])}, "algorithm": "brute"},
    {"metric": lambda a, b: float(np.abs(a - b).max() + abs(a[0] - b[0]))},
]


@pytest.fixture(autouse=True)
def _one_thread():
    """Tables are so small here that threads only wait for each other."""
    with threadpool_limits(1):
        yield


def table(n=40, p=3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)).astype(dtype), rng.standard_normal((9, p)).astype(dtype)


def path_of(estimator, ks):
    return NeighborsPath(estimator, "n_neighbors", ks)


@pytest.mark.parametrize("search", SEARCHES, ids=setting_id)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_classifier_against_scikit_learn(search, dtype):
    X, X_new = table(dtype=dtype)
    y = np.random.default_rng(1).integers(0, 3, len(X))
    path = path_of(KNeighborsClassifier(**search), [5, 1, 2, 3, 19, 20, 39, 40, 3])
    # Numbers as classes: scikit-learn 1.8 cannot predict strings with some of its metrics.
    check_contract(path, X, y, X_new, classes=np.array([2, 5, 9]))


@pytest.mark.parametrize("search", SEARCHES, ids=setting_id)
def test_regressor_against_scikit_learn(search):
    X, X_new = table(seed=2)
    path = path_of(KNeighborsRegressor(**search), [1, 4, 7, 19, 20, 40])
    responses = ["predict"]
    check_contract(path, X, X[:, 0] * 10 + 100, X_new, responses=responses)
    check_contract(path, X, np.column_stack([X[:, 0], X[:, 1] ** 2]), X_new, responses=responses)


def test_wide_table_takes_brute_force_like_scikit_learn():
    X, X_new = table(n=60, p=25, seed=3)
    y = np.random.default_rng(0).integers(0, 2, 60)
    check_contract(path_of(KNeighborsClassifier(), [1, 2, 10, 29, 30]), X, y, X_new)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_sparse_and_precomputed(weights):
    X, X_new = table(seed=4)
    y = np.random.default_rng(0).integers(0, 2, len(X))
    path = path_of(KNeighborsClassifier(weights=weights), [1, 3, 8])
    check_contract(path, sparse.csr_matrix(X), y, sparse.csr_matrix(X_new))
    path = path_of(KNeighborsClassifier(weights=weights, metric="precomputed"), [1, 3, 8])
    check_contract(path, pairwise_distances(X), y, pairwise_distances(X_new, X))


def test_tiny_tables_and_a_class_that_is_missing():
    X, X_new = table(n=3)
    path = path_of(KNeighborsClassifier(), [1, 2, 3])
    check_contract(path, X, np.array([2, 0, 2]), X_new, classes=np.array([10, 20, 30]))
    check_contract(path, X, np.array([1, 1, 1]), X_new, classes=np.array([10, 20, 30]), n_draws=1)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_every_difference_on_tied_data_is_a_true_tie(algorithm, weights):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (80, 3)).astype(float)
    X_new = rng.integers(0, 4, (60, 3)).astype(float)
    y = rng.standard_normal(80)
    path = path_of(KNeighborsRegressor(algorithm=algorithm, weights=weights), [1, 2, 3, 5, 9])
    sorted_distances = np.sort(pairwise_distances(X_new, X), axis=1)
    ours = path.bind(X).predict(y, X_new)
    theirs = reference_predictions(path, X, y, X_new, "predict", None)
    ks = np.array([params["n_neighbors"] for params in path.params])
    tied = np.isclose(sorted_distances[:, ks - 1], sorted_distances[:, ks], rtol=1e-12).T
    different = np.abs(ours - theirs) > 1e-9
    assert tied.any()
    assert not tied.all()
    assert not (different & ~tied).any()


def test_tied_neighbours_come_in_order_of_their_rows():
    X = np.array([[1.0], [0.0], [-1.0], [1.0]])
    y = np.array([1.0, 2.0, 4.0, 8.0])
    predicted = path_of(KNeighborsRegressor(), [1, 2, 3]).bind(X).predict(y, np.array([[0.0]]))
    np.testing.assert_allclose(predicted[:, 0], [(2 + 1 + 4) / 3, (2 + 1) / 2, 2])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_counts_and_moments_against_written_predictions(weights):
    X, _ = table(n=50, seed=6)
    rng = np.random.default_rng(0)
    design = path_of(KNeighborsClassifier(weights=weights), [1, 3, 7, 30]).bind(X, np.arange(3))
    Y = rng.integers(0, 3, (5, 50))
    np.testing.assert_allclose(design.confusions(Y), Design.confusions(design, Y), rtol=1e-12)
    design = path_of(KNeighborsRegressor(weights=weights), [1, 3, 7, 30]).bind(X)
    Y = rng.standard_normal((5, 50))
    np.testing.assert_allclose(design.moments(Y, 0.3), Design.moments(design, Y, 0.3), atol=1e-12)


def test_same_bits_for_any_number_of_draws_together():
    X, _ = table(n=50, seed=7)
    Y = np.random.default_rng(0).standard_normal((7, 50))
    design = path_of(KNeighborsRegressor(), [1, 3, 7]).bind(X)
    one_by_one = np.concatenate([design.moments(Y[d : d + 1], 0.0) for d in range(7)])
    np.testing.assert_array_equal(design.moments(Y, 0.0), one_by_one)


@pytest.mark.parametrize("search", [{}, {"weights": "distance", "algorithm": "brute"}], ids=setting_id)
def test_smoother_against_unit_vectors(search):
    X, _ = table(n=24, seed=8)
    X[3] = X[11]
    check_smoother(path_of(KNeighborsRegressor(**search), [2, 3, 12, 24]), X)


def test_classifiers_have_no_smoother():
    X, _ = table()
    assert path_of(KNeighborsClassifier(), [1, 2]).bind(X, np.arange(2)).smoother is None


@pytest.mark.parametrize("search", SEARCHES[:8], ids=setting_id)
def test_left_out_regression_against_refits(search):
    X, _ = table(n=36, seed=9)
    y = X[:, 0] + 5
    in_clusters = np.argsort(np.argsort(X[:, 0])) // 12
    for folds in (np.arange(36), np.arange(36) % 5, in_clusters):
        check_left_out(path_of(KNeighborsRegressor(**search), [1, 2, 5, 15, 24]), X, y, folds)


def test_left_out_classification_against_refits():
    X, _ = table(n=36, seed=10)
    classes = np.array(["ash", "elm", "oak"])
    y = np.random.default_rng(2).integers(0, 3, 36)
    path = path_of(KNeighborsClassifier(), [1, 2, 5, 15])
    for folds in (np.arange(36), np.arange(36) % 4 + 7):
        for response in ("predict", "predict_proba"):
            ours = path.bind(X, classes).left_out_predictions(y, folds, response)
            theirs = refitted_left_out(path, X, y, folds, response, classes)
            np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_a_duplicate_is_not_the_point_left_out():
    X = np.array([[0.0], [0.0], [0.0], [9.0], [9.5]])
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    left_out = path_of(KNeighborsRegressor(), [1, 2]).bind(X).left_out_predictions(y, np.arange(5))
    np.testing.assert_allclose(left_out[0, :3], [2.5, 2.0, 1.5])
    np.testing.assert_allclose(left_out[1], [2, 1, 1, 5, 4])


def test_left_out_needs_enough_other_rows():
    X, _ = table(n=10)
    design = path_of(KNeighborsRegressor(), [1, 6]).bind(X)
    with pytest.raises(ValueError, match="n_samples_fit = 5"):
        design.left_out_predictions(X[:, 0], np.arange(10) % 2)


def test_too_many_neighbours_is_scikit_learns_own_error():
    X, _ = table(n=10)
    with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
        path_of(KNeighborsRegressor(), [11]).bind(X).fitted(X[None, :, 0])


def test_metrics_learned_from_the_rows_have_no_shortcut():
    X, _ = table()
    design = path_of(KNeighborsRegressor(metric="seuclidean", algorithm="brute"), [1, 2]).bind(X)
    assert design.left_out_predictions(X[:, 0], np.arange(len(X))) is None


def test_served_or_left_to_refits():
    ks = [1, 2]
    assert isinstance(find_path(KNeighborsClassifier(), "n_neighbors", ks), NeighborsPath)
    assert isinstance(find_path(KNeighborsRegressor()), NeighborsPath)
    by_hand = KNeighborsClassifier(weights=lambda distances: 1 / (1 + distances))
    assert isinstance(find_path(by_hand, "n_neighbors", ks), RefitPath)
    subclass = type("Mine", (KNeighborsClassifier,), {})
    assert isinstance(find_path(subclass(), "n_neighbors", ks), RefitPath)
    assert path_of(KNeighborsClassifier(), [1, 5, 3]).complexity.tolist() == [1 / 5, 1 / 3, 1.0]


@pytest.mark.parametrize("draws", [1, 40])
def test_votes_of_two_classes_side_by_side(draws):
    """The quick count of two classes is the table of labels against predictions, ties among votes included."""
    X, _ = table(n=60)
    Y = np.random.default_rng(3).integers(0, 2, (draws, 60))
    path = path_of(KNeighborsClassifier(), [4, 1, 2, 10, 60])
    counted = path.bind(X, np.arange(2)).confusions(Y)
    for y, tables in zip(Y, counted, strict=True):
        for params, found in zip(path.params, tables, strict=True):
            predicted = KNeighborsClassifier(**params).fit(X, y).predict(X)
            np.testing.assert_allclose(found, confusion_matrix(y, predicted, labels=[0, 1]) / 60, atol=1e-15)


@pytest.mark.parametrize("ks", [[3, 50, 127], [2, 127, 128], [299, 300]])
def test_votes_of_many_neighbours_and_rows(ks):
    """More rows than a lane of votes can count, and more neighbours than its half."""
    X, _ = table(n=300)
    Y = np.random.default_rng(4).integers(0, 2, (11, 300))
    design = path_of(KNeighborsClassifier(), ks).bind(X, np.arange(2))
    written = [
        [confusion_matrix(y, p, labels=[0, 1]) / 300 for p in ps] for y, ps in zip(Y, design.fitted(Y), strict=True)
    ]
    np.testing.assert_allclose(design.confusions(Y), written, atol=1e-15)


PLAIN_RUN = """
import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from outsample.paths.neighbors.votes import NeighborsPath
rng = np.random.default_rng(0)
X, codes, values = rng.integers(0, 5, (20, 2)) * 1.0, rng.integers(0, 3, (3, 20)), rng.standard_normal((3, 20))
folds = np.arange(20) % 4
for weights in ("uniform", "distance"):
    sorter = NeighborsPath(KNeighborsClassifier(weights=weights), "n_neighbors", [1, 3, 6]).bind(X, np.arange(3))
    two = NeighborsPath(KNeighborsClassifier(weights=weights), "n_neighbors", [1, 3, 6]).bind(X, np.arange(2))
    mean = NeighborsPath(KNeighborsRegressor(weights=weights), "n_neighbors", [1, 3, 6]).bind(X)
    for numbers in (
        two.confusions(codes % 2), sorter.confusions(codes), sorter.fitted(codes),
        sorter.fitted(codes, "predict_proba"),
        sorter.left_out_predictions(codes[0], folds), mean.fitted(values), mean.moments(values, 0.1),
        mean.left_out_predictions(values[0], folds), mean.smoother.leverages,
    ):
        print(repr(np.round(np.asarray(numbers, dtype=float), 10).tolist()))
"""


def test_same_answers_with_the_compiler_off():
    answers = printed_with_and_without_compiler(PLAIN_RUN)
    assert answers[0] == answers[1]
    assert len(answers[0]) > 1000


@pytest.mark.parametrize("wrong", [{"leaf_size": -1}, {"n_neighbors": 0}, {"algorithm": "x"}])
def test_a_bad_parameter_is_reported_under_the_name_of_the_users_own_estimator(wrong):
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(FitError, match=f"'{next(iter(wrong))}' parameter of KNeighborsClassifier"):
        outsample.estimate(KNeighborsClassifier(**wrong), X, np.arange(30) % 2)
