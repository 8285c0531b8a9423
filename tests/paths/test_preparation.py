"""Work on X that candidates share: the same answers as a fit of the whole model by scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR

from outsample.paths import preparation
from outsample.paths.dispatch import find_path
from outsample.paths.preparation import KernelMatrix, LeadingSteps, Shared, preparations_of
from outsample.paths.refit import RefitPath

TRAIN, TEST = np.arange(120), np.arange(120, 160)
KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.03},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
]


def classes(n_classes=3):
    return make_classification(160, 12, n_informative=6, n_classes=n_classes, random_state=0)


def values():
    return make_regression(160, 12, noise=5.0, random_state=0)


def refit(model):
    return RefitPath.over(model, [{}])


def shared_answers(model, X, y, response="predict", weight=None):
    """What a model says of the rows left out, fitted behind its preparations."""
    path = refit(model)
    tables = Shared().prepared(path, preparations_of(path), "all", lambda: (X[TRAIN], X[TEST]))
    rest, X_train, X_test = tables
    names, own = np.unique(y) if is_classifier(model) else None, None if weight is None else weight[TRAIN]
    return rest.bind(X_train, names, own).predict(y[TRAIN], X_test, response, 0)[0]


@pytest.mark.parametrize("settings", KERNELS, ids=str)
@pytest.mark.parametrize("machine", [SVC(C=3.0), NuSVC(nu=0.3), SVR(C=30.0), NuSVR(C=30.0)], ids=str)
def test_machines_on_a_kernel_matrix_against_scikit_learn(machine, settings):
    X, y = classes() if is_classifier(machine) else values()
    model = clone(machine).set_params(**settings)
    (found,) = preparations_of(refit(model))
    assert isinstance(found, KernelMatrix)
    assert found(X[TRAIN], X[TEST]) is not None
    own = clone(model).fit(X[TRAIN], y[TRAIN])
    response = "decision_function" if is_classifier(model) else "predict"
    np.testing.assert_allclose(shared_answers(model, X, y, response), getattr(own, response)(X[TEST]), rtol=1e-7)


@pytest.mark.parametrize("settings", KERNELS, ids=str)
def test_sparse_tables_on_a_kernel_matrix_against_scikit_learn(settings):
    X, y = classes()
    X, model = sparse.csr_matrix(np.where(X > 0.5, X, 0.0)), SVC(C=3.0, **settings)
    own = clone(model).fit(X[TRAIN], y[TRAIN])
    scores = shared_answers(model, X, y, "decision_function")
    np.testing.assert_allclose(scores, own.decision_function(X[TEST]), rtol=1e-7)


@pytest.mark.parametrize("settings", [{"class_weight": "balanced"}, {"class_weight": {1: 5.0}}, {"break_ties": True}])
def test_weights_on_a_kernel_matrix_against_scikit_learn(settings):
    X, y = classes()
    if "break_ties" in settings:
        settings = {**settings, "decision_function_shape": "ovr"}
    weight, model = np.random.default_rng(0).random(len(y)), SVC(**settings)
    own = clone(model).fit(X[TRAIN], y[TRAIN], sample_weight=weight[TRAIN])
    np.testing.assert_array_equal(shared_answers(model, X, y, weight=weight), own.predict(X[TEST]))
    scores = shared_answers(model, X, y, "decision_function", weight)
    np.testing.assert_allclose(scores, own.decision_function(X[TEST]), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")
def test_probabilities_on_a_kernel_matrix_against_scikit_learn():
    X, y = classes(2)
    model = SVC(probability=True, random_state=3)
    own = clone(model).fit(X[TRAIN], y[TRAIN])
    np.testing.assert_allclose(shared_answers(model, X, y, "predict_proba"), own.predict_proba(X[TEST]), rtol=1e-7)


@pytest.mark.parametrize("steps", [[StandardScaler()], [StandardScaler(), PCA(10, svd_solver="randomized")]])
def test_models_behind_steps_against_scikit_learn(steps):
    X, y = classes()
    model = make_pipeline(*steps, SVC())
    assert [type(found) for found in preparations_of(refit(model))] == [LeadingSteps, KernelMatrix]
    alone = refit(model).bind(X[TRAIN], np.unique(y)).predict(y[TRAIN], X[TEST], "decision_function", 0)[0]
    np.testing.assert_allclose(shared_answers(model, X, y, "decision_function"), alone, rtol=1e-9)


def test_a_fast_path_behind_steps_against_the_whole_path():
    X, y = classes()
    path = find_path(
        make_pipeline(StandardScaler(), KNeighborsClassifier()), "kneighborsclassifier__n_neighbors", [1, 5]
    )
    rest, *tables = Shared().prepared(path, preparations_of(path), "all", lambda: (X[TRAIN], X[TEST]))
    assert rest is path.last
    whole = path.bind(X[TRAIN], np.unique(y)).predict(y[TRAIN], X[TEST])
    np.testing.assert_array_equal(rest.bind(tables[0], np.unique(y)).predict(y[TRAIN], tables[1]), whole)


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        SVC(kernel="precomputed"),
        SVC(kernel=lambda a, b: a @ b.T),
        type("OwnSVC", (SVC,), {})(),
        make_pipeline(SelectKBest(), SVC()),
        KNeighborsClassifier(),
    ],
)
def test_nothing_is_prepared_for_others(model):
    assert preparations_of(refit(model)) == []
    assert preparations_of(RefitPath.over(model, [{"no_such_parameter": 1}])) == []


def test_tables_that_are_left_to_the_machine(monkeypatch):
    X, _ = classes()
    (kernel,) = preparations_of(refit(SVC(kernel="poly", degree=500, gamma=50.0)))
    assert kernel(X[TRAIN], X[TEST]) is None
    (kernel,) = preparations_of(refit(SVC()))
    missing = np.where(X > 2.5, np.nan, X)
    for table in (X[:, :9], missing, np.full(X.shape, "a")):
        assert kernel(table[TRAIN], table[TEST]) is None
    assert preparations_of(refit(SVC(gamma=-1.0)))[0](1e3 * X[TRAIN], X[TEST]) is None
    monkeypatch.setattr(preparation, "_LARGEST_MATRIX", 160 * 120 * 8 - 1)
    assert kernel(X[TRAIN], X[TEST]) is None


def test_the_key_is_made_of_what_the_work_depends_on():
    def key(**settings):
        (found,) = preparations_of(refit(SVC(**settings)))
        return found.key

    assert key(C=1.0, gamma=0.1) == key(C=9.0, gamma=0.1, degree=7, class_weight="balanced")
    different = [key(), key(gamma=0.1), key(kernel="linear"), key(kernel="poly"), key(kernel="poly", degree=2)]
    different += [key(kernel="poly", coef0=1.0), key(kernel="sigmoid"), key(kernel="sigmoid", coef0=1.0)]
    assert len(set(different)) == len(different)
    scaled, other = (make_pipeline(StandardScaler(with_mean=mean), SVC()) for mean in (True, False))
    assert preparations_of(refit(scaled))[0].key != preparations_of(refit(other))[0].key


def test_the_same_work_is_done_once_and_nothing_travels_to_other_processes():
    X, _ = classes()
    made, shared = [], Shared()

    def tables():
        made.append(1)
        return X[TRAIN], X[TEST]

    def matrix(**settings):
        path = refit(make_pipeline(StandardScaler(), SVC(**settings)))
        return shared.prepared(path, preparations_of(path), "all", tables)[1]

    first = matrix(C=1.0, gamma=0.1)
    assert matrix(C=2.0, gamma=0.1) is first
    assert matrix(C=2.0, gamma=0.2) is not first
    assert made == [1]
    shared = pickle.loads(pickle.dumps(shared))
    matrix()
    assert made == [1, 1]
