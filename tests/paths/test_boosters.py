from __future__ import annotations

import functools
import subprocess
import sys

import numpy as np
import pandas
import pytest
from contract import assert_equal_predictions, check_contract
from corner_cases import awkward_table, binary, real, smooth_table, three_classes, weights, with_holes
from scipy import sparse
from sklearn.model_selection import GridSearchCV

from outsample import CrossValidation, GridSearch
from outsample.paths import boosters
from outsample.paths.boosters import CatBoostPath, LightGBMPath, XGBoostPath
from outsample.paths.dispatch import find_path
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
    # Two classes tie within rounding, so that numpy's exponential function would decide, or LightGBM's.
    "lightgbm, balanced": (LightGBMPath, lightgbm.LGBMClassifier(class_weight="balanced", **LGBM)),
    "lightgbm, one side": (LightGBMPath, lightgbm.LGBMClassifier(boosting_type="goss", learning_rate=0.5, **LGBM)),
    "lightgbm, aliases": (
        LightGBMPath,
        lightgbm.LGBMClassifier(
            bagging_fraction=0.7, bagging_freq=2, feature_fraction_bynode=0.6, extra_trees=True, **LGBM
        ),
    ),
    "xgboost": (XGBoostPath, xgboost.XGBClassifier(**XGB)),
    "xgboost, exact": (XGBoostPath, xgboost.XGBClassifier(tree_method="exact", base_score=0.3, **XGB)),
    "xgboost, lossguide": (XGBoostPath, xgboost.XGBClassifier(grow_policy="lossguide", max_leaves=5, **XGB)),
    "xgboost, rows and columns drawn": (
        XGBoostPath,
        xgboost.XGBClassifier(subsample=0.6, colsample_bytree=0.5, num_parallel_tree=2, **XGB),
    ),
}
REGRESSORS = {
    "lightgbm": (LightGBMPath, lightgbm.LGBMRegressor(**LGBM)),
    "lightgbm, absolute error": (LightGBMPath, lightgbm.LGBMRegressor(objective="mae", **LGBM)),
    "lightgbm, poisson": (LightGBMPath, lightgbm.LGBMRegressor(objective="poisson", **LGBM)),
    "lightgbm, quantile": (LightGBMPath, lightgbm.LGBMRegressor(objective="quantile", alpha=0.8, **LGBM)),
    "xgboost": (XGBoostPath, xgboost.XGBRegressor(**XGB)),
    "xgboost, poisson": (XGBoostPath, xgboost.XGBRegressor(objective="count:poisson", **XGB)),
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
    check_contract(path, X, np.abs(real(X)), X_new, responses=["predict"], n_draws=2)


@pytest.mark.parametrize(
    ("kind", "estimator"),
    [
        (LightGBMPath, lightgbm.LGBMClassifier(is_unbalance=True, **LGBM)),
        (LightGBMPath, lightgbm.LGBMClassifier(scale_pos_weight=3.0, **LGBM)),
        (LightGBMPath, lightgbm.LGBMClassifier(objective="binary", **LGBM)),
        (XGBoostPath, xgboost.XGBClassifier(scale_pos_weight=3.0, **XGB)),
        (XGBoostPath, xgboost.XGBClassifier(objective="binary:logistic", max_delta_step=1, **XGB)),
    ],
)
def test_two_uneven_classes(kind, estimator):
    X, X_new = smooth_table(n=80)
    y = (binary(X) * (X[:, 1] > 0)).astype(int)
    path = find_path(estimator, "n_estimators", SIZES)
    assert type(path) is kind
    check_contract(path, X, y, X_new, n_draws=2)


def test_class_weights_by_name():
    X, X_new = smooth_table()
    estimator = lightgbm.LGBMClassifier(class_weight={"no": 1.0, "yes": 4.0}, **LGBM)
    path = LightGBMPath(estimator, "n_estimators", SIZES)
    check_contract(path, X, binary(X), X_new, classes=np.array(["no", "yes"]), n_draws=2)


def with_categories(X):
    """X as a data frame whose second column is a category, as LightGBM and XGBoost read it."""
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame["b"] = pandas.Categorical(np.array(["u", "v", "w"])[np.digitize(X[:, 1], [-0.5, 0.5])], ["u", "v", "w"])
    return frame


@pytest.mark.parametrize(
    ("kind", "estimator"),
    [
        (LightGBMPath, lightgbm.LGBMClassifier(min_data_per_group=2, **LGBM)),
        (XGBoostPath, xgboost.XGBClassifier(enable_categorical=True, **XGB)),
    ],
)
def test_categories(kind, estimator):
    X, X_new = smooth_table()
    path = kind(estimator, "n_estimators", SIZES)
    check_contract(path, with_categories(X), three_classes(X), with_categories(X_new), n_draws=2)


def test_ties_within_rounding_are_left_to_lightgbm():
    X, _ = smooth_table()
    model = lightgbm.LGBMClassifier(n_estimators=9, **LGBM).fit(X, three_classes(X))
    tied = np.tile([0.5 - 1e-14, 0.5 + 1e-14, 0.0], (len(X), 1))
    for size in (2, 9):
        labels = boosters._labels(model, X, size, tied.copy())
        np.testing.assert_array_equal(labels, model.predict(X, num_iteration=size))
    clear = np.tile([0.2, 0.5, 0.3], (len(X), 1))
    assert (boosters._labels(model, X, 9, clear) == 1).all()


def test_several_outputs_of_xgboost():
    X, X_new = smooth_table()
    y = np.column_stack([real(X), real(X, seed=9)])
    ours = XGBoostPath(xgboost.XGBRegressor(**XGB), "n_estimators", SIZES).bind(X)
    theirs = RefitPath(xgboost.XGBRegressor(**XGB), "n_estimators", SIZES).bind(X)
    assert_equal_predictions(ours.predict(y, X_new), theirs.predict(y, X_new))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_every_stage_with_few_calls(name, monkeypatch):
    kind, estimator = CLASSIFIERS[name]
    X, _ = smooth_table()
    monkeypatch.setattr(type(estimator), "fit", counted := Calls(type(estimator).fit))
    kind(estimator, "n_estimators", range(1, 41)).bind(X, np.arange(2)).predict(binary(X), X, "predict_proba")
    assert counted.calls == 1


class Calls:
    """A method that counts how often it is called."""

    def __init__(self, method):
        self.method, self.calls = method, 0

    def __get__(self, instance, owner):
        return self if instance is None else self._bound(instance)

    def _bound(self, instance):
        def call(*args, **kwargs):
            self.calls += 1
            return self.method(instance, *args, **kwargs)

        return functools.wraps(self.method)(call)


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
        lightgbm.LGBMRegressor(boosting_type="rf"),
        lightgbm.LGBMRegressor(objective="cross_entropy"),
        lightgbm.LGBMRegressor(objective=lambda y, prediction: (prediction - y, np.ones_like(y))),
        lightgbm.LGBMClassifier(objective="multiclassova"),
        lightgbm.LGBMRegressor(linear_tree=True),
        lightgbm.LGBMClassifier(early_stopping_round=3),
        lightgbm.LGBMClassifier(n_iter_no_change=3),
        lightgbm.LGBMRanker(),
        xgboost.XGBClassifier(booster="dart"),
        xgboost.XGBClassifier(booster="gblinear"),
        xgboost.XGBClassifier(early_stopping_rounds=3),
        xgboost.XGBClassifier(objective="binary:hinge"),
        xgboost.XGBRegressor(multi_strategy="multi_output_tree"),
        type("Mine", (xgboost.XGBRegressor,), {})(),
    ):
        assert find_path(estimator, "n_estimators", [1, 2]).name == "RefitPath"
    assert find_path(lightgbm.LGBMRegressor(), "num_leaves", [4, 8]).name == "RefitPath"


def test_an_unset_number_of_stages_is_left_to_the_estimator():
    assert isinstance(find_path(xgboost.XGBRegressor()), RefitPath)
    assert isinstance(find_path(xgboost.XGBRegressor(n_estimators=7)), XGBoostPath)


def test_no_package_is_imported_for_others():
    code = (
        "import sys\n"
        "from sklearn.linear_model import Lasso\n"
        "from outsample.paths.dispatch import find_path\n"
        "find_path(Lasso(), 'alpha', [1.0])\n"
        "assert not {'lightgbm', 'xgboost', 'catboost'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


CAT = {
    "thread_count": 1,
    "verbose": 0,
    "allow_writing_files": False,
    "random_seed": 0,
    "learning_rate": 0.2,
    "depth": 3,
}


def catboost_models():
    """{name: (class name, settings)}; the package is loaded by the tests that use it."""
    return {
        "classifier": ("CatBoostClassifier", {}),
        "bayesian, columns drawn": ("CatBoostClassifier", {"rsm": 0.5, "bagging_temperature": 2.0}),
        "rows drawn": ("CatBoostClassifier", {"bootstrap_type": "Bernoulli", "subsample": 0.6}),
        "ordered": ("CatBoostClassifier", {"boosting_type": "Ordered"}),
        "balanced, by leaves": ("CatBoostClassifier", {"auto_class_weights": "Balanced", "grow_policy": "Lossguide"}),
        "regressor": ("CatBoostRegressor", {}),
        "absolute error": ("CatBoostRegressor", {"loss_function": "MAE", "boost_from_average": True}),
    }


@pytest.mark.parametrize("name", catboost_models())
def test_catboost_against_its_own_fits(name):
    catboost = pytest.importorskip("catboost")
    kind, settings = catboost_models()[name]
    X, X_new = smooth_table()
    path = find_path(getattr(catboost, kind)(**CAT, **settings), "iterations", SIZES)
    assert type(path) is CatBoostPath
    if kind == "CatBoostRegressor":
        check_contract(path, X, real(X), X_new, responses=["predict"], weight=weights(len(X)), n_draws=2)
    else:
        check_contract(path, X, three_classes(X), X_new, n_draws=2)
        check_contract(path, X, binary(X), X_new, classes=np.array(["no", "yes"]), weight=weights(len(X)), n_draws=1)


def test_catboost_with_holes_and_frames():
    catboost = pytest.importorskip("catboost")
    X, X_new = smooth_table()
    path = find_path(catboost.CatBoostClassifier(**CAT), "n_estimators", SIZES)
    check_contract(path, with_holes(X), binary(X), with_holes(X_new), n_draws=1)
    check_contract(path, pandas.DataFrame(X), binary(X), pandas.DataFrame(X_new), n_draws=1)


def test_catboost_served_or_left_to_refits():
    catboost = pytest.importorskip("catboost")
    plain = {"thread_count": 1, "verbose": 0}
    for settings in (
        {},  # its own learning rate depends on the number of iterations
        {"learning_rate": 0.1, "langevin": True},
        {"learning_rate": 0.1, "model_shrink_rate": 0.1},
        {"learning_rate": 0.1, "early_stopping_rounds": 3},
        {"learning_rate": 0.1, "loss_function": "MultiClassOneVsAll"},
    ):
        assert find_path(catboost.CatBoostClassifier(**plain, **settings), "iterations", [2, 4]).name == "RefitPath"
    assert find_path(catboost.CatBoostRegressor(learning_rate=0.1)).name == "RefitPath"
    assert find_path(catboost.CatBoostRegressor(learning_rate=0.1, iterations=5)).name == "CatBoostPath"


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "neg_log_loss", "f1"])
def test_searches_over_stages_against_grid_search(name, scoring):
    _, estimator = CLASSIFIERS[name]
    X, _ = smooth_table(n=90)
    grid = {"n_estimators": [2, 5, 9], "max_depth": [1, 2]}
    ours = GridSearch(estimator, grid, criterion=CrossValidation(3), loss=scoring, refit=False).fit(X, binary(X))
    theirs = GridSearchCV(estimator, grid, scoring=scoring, cv=3, refit=False).fit(X, binary(X))
    scores = theirs.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], scores, rtol=1e-9)
    if scoring in ("roc_auc", "average_precision"):
        np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], scores)
        np.testing.assert_array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert ours.path_ == {"lightgbm": "LightGBMPath", "xgboost": "XGBoostPath"}[name]
    assert ours.n_fits_ == 2 * (3 + 1)
