"""Estimators that scikit-learn-intelex puts in the place of scikit-learn's, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("sklearnex") is None, reason="scikit-learn-intelex is not installed")

START = """
from sklearnex import patch_sklearn
patch_sklearn(verbose=False)
import warnings
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC
import outsample
from outsample.paths.dispatch import find_path, is_patched, kind_of
from outsample.paths.refit import RefitPath
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
signal = X[:, 0] + X[:, 1] * X[:, 2]
real, two = signal + rng.normal(size=200), np.array(["a", "b"])[(signal + rng.normal(size=200) > 0).astype(int)]
warnings.simplefilter("error")
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_a_patched_forest_is_a_forest():
    run("""
forest = RandomForestClassifier(50, random_state=0)
assert is_patched(type(forest)) and kind_of(type(forest)) == "sklearn.ensemble.RandomForestClassifier"
grid = {"max_features": [1, 4], "n_estimators": [30, 50]}
search = outsample.GridSearch(forest, grid, criterion=outsample.OutOfBag(keep_predictions=True), loss="log",
                              random_state=0).fit(X, two)
assert (search.path_, search.n_fits_) == ("RefitPath", 4)
assert any("scikit-learn-intelex" in note for note in search.curve_.notes)
plain = clone(forest).set_params(**search.best_params_)
assert search.best_estimator_.get_params() == plain.get_params()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = plain.set_params(oob_score=True).fit(X, two)
best = [params == search.best_params_ for params in search.curve_.params].index(True)
assert np.array_equal(search.curve_.out_of_fold[best], theirs.oob_decision_function_)
assert np.array_equal(search.predict_proba(X), theirs.predict_proba(X))
plain.set_params(oob_score=False)
folds = outsample.estimate(plain, X, two, criterion="kfold", random_state=0)
assert abs(folds.out_sample - outsample.estimate(plain, X, two, criterion="oob", random_state=0).out_sample) < 0.08
""")


def test_patched_regressors_where_scikit_learn_serves_and_where_trees_are_too_few():
    run("""
forest = RandomForestRegressor(60, random_state=0)
for y in (real, np.c_[real, -real]):
    assert 0.5 < outsample.estimate(forest, X, y, criterion="oob", random_state=0).out_sample < 2
try:
    outsample.estimate(RandomForestRegressor(5), X, real, criterion="oob")
except RuntimeError as error:
    assert "n_estimators=5 is too few" in str(error)
else:
    raise AssertionError
""")


def test_fast_paths_where_the_numbers_are_the_same():
    run("""
new = rng.normal(size=(50, 5))
codes = np.unique(two, return_inverse=True)[1]
for estimator, parameter, values in (
    (Ridge(), "alpha", [0.1, 10.0]),
    (KNeighborsRegressor(), "n_neighbors", [1, 5, 20]),
    (KNeighborsClassifier(), "n_neighbors", [1, 5, 20]),
    (LogisticRegression(tol=1e-10), "C", [0.1, 1.0]),
    (SVC(), "C", [0.1, 1.0]),
    (RandomForestClassifier(10, random_state=0), "n_estimators", [5, 10]),
):
    classes = np.array(["a", "b"]) if is_classifier(estimator) else None
    y = real if classes is None else codes
    path = find_path(estimator, parameter, values)
    fast = type(estimator).__name__ not in ("SVC", "RandomForestClassifier")
    assert (path.name != "RefitPath") == fast, path.name
    refitted = RefitPath(estimator, parameter, values)
    ours, theirs = (p.bind(X, classes).predict(y, new, "predict", 0) for p in (path, refitted))
    assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9), estimator
assert find_path(LinearRegression()).name == "LeastSquaresPath"
""")


def test_a_bag_of_patched_learners():
    run("""
bag = BaggingClassifier(KNeighborsClassifier(3), 40, random_state=0)
theirs = clone(bag).set_params(oob_score=True).fit(X, two).oob_decision_function_
search = outsample.GridSearch(bag, {"n_estimators": [40]}, criterion=outsample.OutOfBag(keep_predictions=True),
                              loss="log", random_state=0).fit(X, two)
known = ~np.isnan(search.curve_.out_of_fold[0])
assert np.array_equal(search.curve_.out_of_fold[0][known], theirs[known])
""")
