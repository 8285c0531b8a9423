from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from contract import assert_equal_predictions, check_contract
from corner_cases import awkward_table, binary, real, smooth_table, three_classes, weights, with_holes
from scipy import sparse

from outsample.paths import ensembles as boosters
from outsample.paths.dispatch import find_path
from outsample.paths.ensembles import LightGBMPath, XGBoostPath
from outsample.paths.refit import RefitPath

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

pytestmark = pytest.mark.usefixtures("one_thread")

SIZES = [8, 1, 3, 3]
LGBM = {"n_jobs": 1, "verbose": -1, "min_child_samples": 4, "random_state": 0}
XGB = {"n_jobs": 1, "random_state": 0, "max_depth": 2}

CLASSIFIERS = {
    "lightgbm": (LightGBMPath, lightgbm.LGBMClassifier(**LGBM)),
    "lightgbm, rows and columns drawn": (
        LightGBMPath,
        lightgbm.LGBMClassifier(subsample=0.6, subsample_freq=1, colsample_bytree=0.5, **LGBM),
    ),
    # Leaves of 5: with 4, two classes tie within rounding, and numpy's exponential function decides, or LightGBM's.
    "lightgbm, balanced": (
        LightGBMPath,
        lightgbm.LGBMClassifier(class_weight="balanced", **LGBM | {"min_child_samples": 5}),
    ),
    "xgboost": (XGBoostPath, xgboost.XGBClassifier(**XGB)),
    "xgboost, rows and columns drawn": (
        XGBoostPath,
        xgboost.XGBClassifier(subsample=0.6, colsample_bytree=0.5, num_parallel_tree=2, **XGB),
    ),
}
REGRESSORS = {
    "lightgbm": (LightGBMPath, lightgbm.LGBMRegressor(**LGBM)),
    "lightgbm, absolute error": (LightGBMPath, lightgbm.LGBMRegressor(objective="mae", **LGBM)),
    "xgboost": (XGBoostPath, xgboost.XGBRegressor(**XGB)),
    "xgboost, absolute error": (XGBoostPath, xgboost.XGBRegressor(objective="reg:absoluteerror", **XGB)),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    ("table", "labels", "responses"),
    [(smooth_table, three_classes, None), (awkward_table, binary, ["predict"])],
    ids=["smooth, three classes", "awkward, two classes"],
)
def test_classifiers_against_their_own_fits(name, table, labels, responses):
    kind, estimator = CLASSIFIERS[name]
    X, X_new = table()
    check_contract(kind(estimator, "n_estimators", SIZES), X, labels(X), X_new, responses=responses, n_draws=2)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("table", [smooth_table, awkward_table])
def test_regressors_against_their_own_fits(name, table):
    kind, estimator = REGRESSORS[name]
    X, X_new = table()
    path = kind(estimator, "n_estimators", SIZES)
    check_contract(path, X, real(X), X_new, responses=["predict"], n_draws=2)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_weights_missing_values_sparse_and_single_precision(name):
    kind, estimator = CLASSIFIERS[name]
    X, X_new = smooth_table()
    path = kind(estimator, "n_estimators", SIZES)
    check_contract(path, X, binary(X), X_new, weight=weights(len(X)), n_draws=2)
    for cast in (with_holes, sparse.csr_matrix, lambda t: t.astype(np.float32)):
        check_contract(path, cast(X), binary(X), cast(X_new), n_draws=1)


def test_string_labels():
    X, X_new = smooth_table()
    path = LightGBMPath(CLASSIFIERS["lightgbm"][1], "n_estimators", SIZES)
    check_contract(path, X, binary(X), X_new, classes=np.array(["no", "yes"]), n_draws=2)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_too_few_rows_to_split(name):
    X, X_new = smooth_table(n=6)
    kind, _ = CLASSIFIERS[name]
    estimator = {
        "lightgbm": lightgbm.LGBMClassifier(n_jobs=1, verbose=-1),
        "xgboost": xgboost.XGBClassifier(n_jobs=1, min_child_weight=50),
    }[name]
    path = kind(estimator, "n_estimators", SIZES)
    check_contract(path, X, np.array([0, 1, 1, 0, 1, 1]), X_new, n_draws=2)


def test_leaves_looked_up_a_few_iterations_at_a_time(monkeypatch):
    X, X_new = smooth_table()
    monkeypatch.setattr(boosters, "_LEAF_TABLE_BYTES", 8 * len(X) * 3 * 2)
    path = LightGBMPath(CLASSIFIERS["lightgbm"][1], "n_estimators", [5, 8])
    check_contract(path, X, three_classes(X), X_new, n_draws=1)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_draws_that_lack_a_class(name):
    kind, estimator = CLASSIFIERS[name]
    X, _ = smooth_table(n=30)
    ours = kind(estimator, "n_estimators", SIZES).bind(X, np.arange(3))
    only_two = RefitPath(estimator, "n_estimators", SIZES).bind(X, np.arange(2))
    y = binary(X)
    theirs = only_two.fitted(y[None], "predict_proba")
    fitted = ours.fitted(np.stack([2 * y, np.full(30, 1)]), "predict_proba")
    assert_equal_predictions(fitted[:1, :, :, [0, 2]], theirs)
    np.testing.assert_array_equal(fitted[0, :, :, 1], 0.0)
    np.testing.assert_array_equal(fitted[1, :, :, 1], 1.0)


def test_served_or_left_to_refits():
    assert find_path(lightgbm.LGBMClassifier()).name == "LightGBMPath"
    assert find_path(xgboost.XGBClassifier(), "n_estimators", [1, 2]).name == "XGBoostPath"
    for estimator in (
        lightgbm.LGBMRegressor(boosting_type="dart"),
        lightgbm.LGBMRegressor(objective="poisson"),
        lightgbm.LGBMRegressor(linear_tree=True),
        lightgbm.LGBMRanker(),
        xgboost.XGBClassifier(booster="dart"),
        type("Mine", (xgboost.XGBRegressor,), {})(),
    ):
        assert find_path(estimator, "n_estimators", [1, 2]).name == "RefitPath"
    assert find_path(lightgbm.LGBMRegressor(), "num_leaves", [4, 8]).name == "RefitPath"


def test_an_unset_number_of_stages_is_left_to_the_estimator():
    assert isinstance(find_path(xgboost.XGBRegressor()), RefitPath)
    assert isinstance(find_path(xgboost.XGBRegressor(n_estimators=7)), XGBoostPath)


def test_neither_package_is_imported_for_others():
    code = (
        "import sys\n"
        "from sklearn.linear_model import Lasso\n"
        "from outsample.paths.dispatch import find_path\n"
        "find_path(Lasso(), 'alpha', [1.0])\n"
        "assert not {'lightgbm', 'xgboost'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
