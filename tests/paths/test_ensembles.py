from __future__ import annotations

import numpy as np
import pytest
from contract import assert_equal_predictions, check_contract
from corner_cases import awkward_table, binary, real, smooth_table, three_classes, weights, with_holes
from scipy import sparse
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from outsample.paths.dispatch import find_path
from outsample.paths.ensembles import EnsemblePath
from outsample.paths.refit import RefitPath

pytestmark = pytest.mark.usefixtures("one_thread")

SIZES = [5, 1, 3, 3]

CLASSIFIERS = {
    "forest": RandomForestClassifier(random_state=0),
    "shallow forest": RandomForestClassifier(random_state=1, max_depth=2, max_samples=0.5),
    "forest without bags": RandomForestClassifier(random_state=0, bootstrap=False, max_leaf_nodes=5),
    "balanced bags": RandomForestClassifier(random_state=0, class_weight="balanced_subsample", max_depth=3),
    "extra trees": ExtraTreesClassifier(random_state=0, min_samples_leaf=3),
    "extra trees in bags": ExtraTreesClassifier(random_state=0, bootstrap=True, max_depth=3),
    "bags": BaggingClassifier(random_state=0),
    "bags of rows and columns": BaggingClassifier(
        DecisionTreeClassifier(max_depth=2, splitter="random"),
        random_state=0,
        max_samples=0.4,
        max_features=0.6,
        bootstrap_features=True,
    ),
    "votes": BaggingClassifier(RidgeClassifier(), random_state=0, bootstrap=False, max_samples=0.5),
    "small bags": BaggingClassifier(DecisionTreeClassifier(max_depth=1), random_state=0, max_samples=4),
}
REGRESSORS = {
    "forest": RandomForestRegressor(random_state=0, min_samples_leaf=2),
    "forest of some columns": RandomForestRegressor(random_state=0, max_features=2, max_depth=3),
    "extra trees": ExtraTreesRegressor(random_state=0, min_samples_leaf=2),
    "bags": BaggingRegressor(random_state=0, max_features=0.5),
    "bags of lines": BaggingRegressor(LinearRegression(), random_state=0, max_samples=0.5),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    ("table", "labels", "responses"),
    [(smooth_table, three_classes, None), (awkward_table, binary, ["predict"])],
    ids=["smooth, three classes", "awkward, two classes"],
)
def test_classifiers_against_scikit_learn(name, table, labels, responses):
    X, X_new = table()
    path = EnsemblePath(CLASSIFIERS[name], "n_estimators", SIZES)
    check_contract(path, X, labels(X), X_new, responses=responses, n_draws=2)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_regressors_against_scikit_learn(name, table):
    X, X_new = table()
    path = EnsemblePath(REGRESSORS[name], "n_estimators", SIZES)
    check_contract(path, X, real(X), X_new, responses=["predict"], n_draws=2)


@pytest.mark.parametrize("name", ["shallow forest", "extra trees", "bags of rows and columns"])
def test_weights_and_string_labels(name):
    X, X_new = smooth_table()
    check_contract(
        EnsemblePath(CLASSIFIERS[name], "n_estimators", SIZES),
        X,
        three_classes(X),
        X_new,
        classes=np.array(["amber", "blue", "cyan"]),
        weight=weights(len(X)),
    )


def test_class_weights_by_name():
    X, X_new = smooth_table()
    by_name = RandomForestClassifier(random_state=0, class_weight={"no": 1.0, "yes": 5.0}, max_depth=2)
    path = EnsemblePath(by_name, "n_estimators", SIZES)
    check_contract(path, X, binary(X), X_new, classes=np.array(["no", "yes"]))


def test_several_outputs():
    X, X_new = smooth_table()
    y = np.column_stack([real(X), real(X, seed=9)])
    path = EnsemblePath(RandomForestRegressor(random_state=0, max_depth=3), "n_estimators", SIZES)
    check_contract(path, X, y, X_new, responses=["predict"], n_draws=2)


@pytest.mark.parametrize("estimator", [RandomForestClassifier(random_state=0), BaggingClassifier(random_state=0)])
def test_missing_sparse_and_single_precision(estimator):
    X, X_new = awkward_table()
    path = EnsemblePath(estimator, "n_estimators", SIZES)
    for cast in (with_holes, sparse.csr_array, sparse.csc_array, lambda t: t.astype(np.float32)):
        check_contract(path, cast(X), binary(X), cast(X_new), n_draws=2)


def test_members_that_saw_fewer_classes():
    """A bag of four rows often lacks a class; its estimator then knows fewer columns."""
    X, X_new = smooth_table(n=20)
    bags = BaggingClassifier(KNeighborsClassifier(2), random_state=0, max_samples=4)
    check_contract(EnsemblePath(bags, "n_estimators", SIZES), X, three_classes(X), X_new, n_draws=2)


def test_tiny_table_and_many_jobs():
    X, X_new = smooth_table(n=4, p=2)
    path = EnsemblePath(RandomForestClassifier(random_state=0, n_jobs=2), "n_estimators", SIZES)
    check_contract(path, X, np.array([0, 1, 1, 0]), X_new, n_draws=2)


def test_out_of_bag_score_is_left_out():
    """Three estimators leave rows without an out-of-bag score, which scikit-learn would warn about."""
    X, X_new = smooth_table()
    scored = RandomForestClassifier(random_state=0, oob_score=True)
    plain = RandomForestClassifier(random_state=0)
    ours = EnsemblePath(scored, "n_estimators", [1, 3]).bind(X, np.array([0, 1]))
    theirs = RefitPath(plain, "n_estimators", [1, 3]).bind(X, np.array([0, 1]))
    assert_equal_predictions(ours.predict(binary(X), X_new), theirs.predict(binary(X), X_new))


@pytest.mark.parametrize("estimator", [ExtraTreesClassifier(random_state=0), BaggingClassifier(random_state=0)])
def test_draws_that_lack_a_class(estimator):
    X, _ = smooth_table(n=30)
    classes = np.array(["a", "b", "c"])
    Y = np.stack([three_classes(X), np.where(binary(X) == 1, 2, 0), np.full(30, 1)])
    ours = EnsemblePath(estimator, "n_estimators", [1, 4]).bind(X, classes)
    theirs = RefitPath(estimator, "n_estimators", [1, 4]).bind(X, classes)
    for response in sorted(EnsemblePath.responses):
        assert_equal_predictions(ours.fitted(Y, response), theirs.fitted(Y, response), response)


def test_seeds_reach_an_unset_random_state():
    X, _ = smooth_table()
    estimator = BaggingRegressor()
    Y = np.stack([real(X)] * 2)
    ours = EnsemblePath(estimator, "n_estimators", SIZES).bind(X).fitted(Y, seeds=[7, 8])
    theirs = RefitPath(estimator, "n_estimators", SIZES).bind(X).fitted(Y, seeds=[7, 8])
    assert_equal_predictions(ours, theirs)
    assert not np.array_equal(ours[0], ours[1])


def test_served_or_left_to_refits():
    assert find_path(RandomForestClassifier()).name == "EnsemblePath"
    assert find_path(BaggingRegressor(), "n_estimators", SIZES).name == "EnsemblePath"
    assert find_path(RandomForestClassifier(), "max_depth", [2, 3]).name == "RefitPath"
