"""The table from types to paths names what exists, loads what it names only then, and designs do what they declare."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from inspect import signature

import numpy as np
import pytest
from corner_cases import binary, real, smooth_table
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from outsample.paths.base import Design, GridPath
from outsample.paths.dispatch import FAST_PATHS, WHOLE_PIPELINES, find_path, public_name


@pytest.mark.parametrize("name", FAST_PATHS)
def test_every_type_in_the_table_is_known_by_that_name_and_has_the_parameters(name):
    module, _, kind = name.rpartition(".")
    learner = getattr(pytest.importorskip(module), kind)
    assert public_name(learner) == name
    # CatBoost lists only those of its parameters that were set.
    assert FAST_PATHS[name].keys() <= learner().get_params().keys() | signature(learner).parameters.keys()


def test_every_path_in_the_table_exists():
    for place in {place for paths in FAST_PATHS.values() for place in paths.values()} | {*WHOLE_PIPELINES.values()}:
        module, _, name = place.partition(":")
        assert issubclass(getattr(import_module(f"outsample.paths.{module}"), name), GridPath)
    assert WHOLE_PIPELINES.keys() <= FAST_PATHS.keys()


def test_a_subclass_that_borrows_the_name_of_its_parent_is_refitted():
    borrowed = type("Ridge", (Ridge,), {"__module__": Ridge.__module__})
    assert public_name(borrowed) == ""
    assert find_path(borrowed(), "alpha", [1.0, 2.0]).name == "RefitPath"


LOADED = """
import sys
from sklearn.linear_model import Ridge
from outsample.paths.dispatch import find_path
fast = lambda: {m.removeprefix("outsample.paths.") for m in sys.modules if m.startswith("outsample.paths.")}
assert fast() == {"base", "dispatch", "order", "refit"}, fast()
find_path(Ridge(), "alpha", [1.0, 2.0])
assert "linear.ridge" in fast()
assert not {m.partition(".")[0] for m in fast()} & {"trees", "neighbors", "penalised", "ensembles"}, fast()
assert "lightgbm" not in sys.modules and "xgboost" not in sys.modules
"""


def test_fast_paths_are_imported_when_their_estimator_comes():
    subprocess.run([sys.executable, "-c", LOADED], check=True, timeout=300)


CASES = {
    "tree": (DecisionTreeClassifier(), "max_leaf_nodes", [2, 3]),
    "tree of one value refitted": (DecisionTreeClassifier(random_state=0), "max_leaf_nodes", [2, 3, None]),
    "tree with random columns": (DecisionTreeRegressor(max_features=1, random_state=0), "max_leaf_nodes", [2, 3]),
    "depth": (DecisionTreeRegressor(random_state=0), "max_depth", [1, 2]),
    "pruning": (DecisionTreeClassifier(random_state=0), "ccp_alpha", [0.1, 0.2]),
    "neighbours": (KNeighborsClassifier(), "n_neighbors", [1, 2]),
    "means of neighbours": (KNeighborsRegressor(), "n_neighbors", [1, 2]),
    "ridge": (Ridge(), "alpha", [1.0, 2.0]),
    "ridge classifier": (RidgeClassifier(), "alpha", [1.0, 2.0]),
    "kernel ridge": (KernelRidge(), "alpha", [1.0, 2.0]),
    "polynomials": (make_pipeline(PolynomialFeatures(), LinearRegression()), "polynomialfeatures__degree", [1, 2]),
    "components": (make_pipeline(PCA(), LinearRegression()), "pca__n_components", [1, 2]),
    "ridge behind polynomials": (make_pipeline(PolynomialFeatures(), Ridge()), "ridge__alpha", [1.0, 2.0]),
    "scaled ridge": (make_pipeline(StandardScaler(), Ridge()), "ridge__alpha", [1.0, 2.0]),
    "lasso": (Lasso(), "alpha", [0.1, 0.2]),
    "logistic regression": (LogisticRegression(), "C", [1.0, 2.0]),
    "support vectors": (SVR(), "C", [1.0, 2.0]),
    "forest": (RandomForestRegressor(random_state=0), "n_estimators", [1, 2]),
    "refitted": (Ridge(), "tol", [1e-3, 1e-4]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_design_does_what_it_declares(name):
    estimator, parameter, values = CASES[name]
    X, _ = smooth_table(30)
    classifies = hasattr(estimator, "predict_proba") or isinstance(estimator, RidgeClassifier)
    y = binary(X) if classifies else real(X)
    classes = np.arange(2) if classifies else None
    design = find_path(estimator, parameter, values).bind(X, classes)
    able = design.abilities
    assert able.smoother == (design.smoother is not None)
    assert able.leaves_out == (design.left_out_predictions(y, np.arange(30)) is not None)
    for statistic, method in (("confusion", "confusions"), ("moments", "moments")):
        own = getattr(type(design), method) is not getattr(Design, method)
        assert own or statistic not in able.sums
    if able.scores:
        assert design.scores(y, 0, None, y, None).shape == (2,)
    else:
        with pytest.raises(TypeError, match="a model's own score needs the fitted model"):
            design.scores(y, 0, None, y, None)


@pytest.mark.parametrize("learner", [Ridge(), DecisionTreeRegressor(max_leaf_nodes=3, random_state=0)])
def test_a_pipeline_of_one_step_predicts_new_rows(learner):
    X, X_new = smooth_table(30)
    alone, piped = (find_path(model).bind(X).predict(real(X), X_new) for model in (learner, make_pipeline(learner)))
    np.testing.assert_array_equal(piped, alone)
