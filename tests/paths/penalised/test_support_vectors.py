from __future__ import annotations

import numpy as np
import pytest
from contract import assert_equal_predictions, check_contract
from corner_cases import awkward_table, binary, real, smooth_table, three_classes, weights
from scipy import sparse
from sklearn.svm import SVC, SVR

from outsample.paths.dispatch import find_path
from outsample.paths.penalised import support_vectors
from outsample.paths.penalised.support_vectors import SupportVectorPath
from outsample.paths.refit import RefitDesign, RefitPath

pytestmark = pytest.mark.usefixtures("one_thread")

CS = [1.0, 0.05, 20.0, 1.0]
KERNELS = {
    "rbf": {"kernel": "rbf"},
    "narrow rbf": {"kernel": "rbf", "gamma": 2.0},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05},
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("labels", [binary, three_classes])
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_classifiers_against_scikit_learn(kernel, labels, table):
    X, X_new = table()
    check_contract(SupportVectorPath(SVC(**KERNELS[kernel]), "C", CS), X, labels(X), X_new)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_regressors_against_scikit_learn(kernel, table):
    X, X_new = table()
    check_contract(SupportVectorPath(SVR(**KERNELS[kernel]), "C", CS), X, real(X), X_new, responses=["predict"])


@pytest.mark.parametrize(
    "options",
    [
        {"decision_function_shape": "ovo"},
        {"break_ties": True},
        {"class_weight": "balanced"},
        {"class_weight": {"amber": 1.0, "blue": 3.0, "cyan": 0.5}},
        {"shrinking": False},
    ],
    ids=str,
)
def test_options_weights_and_string_labels(options):
    X, X_new = smooth_table()
    path = SupportVectorPath(SVC(**options), "C", CS)
    names = np.array(["amber", "blue", "cyan"])
    check_contract(path, X, three_classes(X), X_new, classes=names, weight=weights(len(X)), n_draws=2)


def test_weighted_regressor():
    X, X_new = smooth_table()
    path = SupportVectorPath(SVR(epsilon=0.3), "C", CS)
    check_contract(path, X, real(X), X_new, weight=weights(len(X)), responses=["predict"])


def test_sparse_single_precision_and_constant_tables():
    X, X_new = awkward_table()
    path = SupportVectorPath(SVC(), "C", CS)
    for cast in (sparse.csr_array, lambda t: t.astype(np.float32), np.ones_like):
        check_contract(path, cast(X), binary(X), cast(X_new), n_draws=2)


def test_new_rows_in_several_blocks(monkeypatch):
    X, X_new = smooth_table()
    monkeypatch.setattr(support_vectors, "_BLOCK_BYTES", 5 * 8 * len(X))
    check_contract(SupportVectorPath(SVC(), "C", CS), X, binary(X), X_new, n_draws=1)


def test_kernel_matrices_beyond_the_budget_are_never_made(monkeypatch):
    X, _ = smooth_table()
    monkeypatch.setattr(support_vectors, "_MAX_GRAM_BYTES", 60 * 59 * 8)
    assert isinstance(SupportVectorPath(SVC(), "C", CS).bind(X, np.array([0, 1])), RefitDesign)


def test_draws_that_lack_a_class():
    X, _ = smooth_table(n=30)
    classes = np.array(["a", "b", "c"])
    Y = np.stack([three_classes(X), np.where(binary(X) == 1, 2, 0), np.full(30, 1)])
    ours = SupportVectorPath(SVC(), "C", CS).bind(X, classes)
    theirs = RefitPath(SVC(), "C", CS).bind(X, classes)
    for response in sorted(SupportVectorPath.responses):
        assert_equal_predictions(ours.fitted(Y, response), theirs.fitted(Y, response), response)


def test_served_or_left_to_refits():
    assert find_path(SVC()).params == ({"C": 1.0},)
    assert find_path(SVR(), "C", [1, 2]).name == "SupportVectorPath"
    assert find_path(SVC(), "gamma", [1, 2]).name == "RefitPath"
    for options in ({"probability": True}, {"kernel": "precomputed"}, {"kernel": np.dot}):
        assert find_path(SVC(**options), "C", [1, 2]).name == "RefitPath"
