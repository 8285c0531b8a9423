"""What results say of fits against the fits that were really made: calls of `fit` are counted, and our own kernels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import outsample
from learners_that_count import COUNTER, CountingClassifier
from outsample import CrossValidation, GridSearch, Race
from outsample.paths.linear.ridge import RidgePath
from outsample.paths.penalised import elastic_net, logistic
from outsample.paths.trees.growth import Grower

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 4))
LABELS = (X[:, 0] + RNG.normal(size=70) > 0).astype(int)
VALUES = X @ [1.0, 0.5, 0.0, 0.0] + RNG.normal(size=70)

REFITTED = {
    "depths": (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 4], "min_samples_leaf": [1, 5]}, LABELS),
    "depths of a regression": (
        DecisionTreeRegressor(random_state=0),
        {"max_depth": [1, 2, 4], "min_samples_leaf": [1, 5]},
        VALUES,
    ),
    "machine": (SVC(), {"C": [0.1, 10.0], "gamma": [0.1, 1.0]}, LABELS),
    "network": (MLPClassifier(3, max_iter=5, random_state=0), {"alpha": [1e-3, 1.0, 10.0]}, LABELS),
    "stages": (GradientBoostingClassifier(random_state=0, n_estimators=3), {"learning_rate": [0.1, 1.0]}, LABELS),
    "behind a scaler": (
        make_pipeline(StandardScaler(), MLPClassifier(3, max_iter=5, random_state=0)),
        {"mlpclassifier__alpha": [1e-3, 1.0]},
        LABELS,
    ),
}
# Grids of several parameters, so that no path of ours takes them whole.
CRITERIA = [
    "auto",
    "race",
    Race(max_fits=25),
    "kfold",
    CrossValidation(3, shuffle=True, pooled=True),
    "holdout",
    outsample.Permutation(5),
    outsample.TwoStagePermutation(4),
    "rows-and-labels",
    outsample.Bootstrap(4),
    outsample.Bootstrap(4, kind="632+"),
    outsample.CovariancePenalty(n_draws=3),
    outsample.NestedCrossValidation(3, repeats=1),
    "resubstitution",
]


@pytest.fixture
def calls(monkeypatch):
    """Calls of `fit`, but for those inside others, of the learners above."""
    made = {"fits": 0, "inside": 0}

    def count(kind):
        original = kind.fit

        def fit(self, X, *args, **kwargs):
            # Asked without a table, scikit-learn says whether it refuses a parameter.
            made["fits"] += made["inside"] == 0 and X is not None
            made["inside"] += 1
            try:
                return original(self, X, *args, **kwargs)
            finally:
                made["inside"] -= 1

        monkeypatch.setattr(kind, "fit", fit)

    for kind in (DecisionTreeClassifier, DecisionTreeRegressor, SVC, MLPClassifier):
        count(kind)
    for kind in (GradientBoostingClassifier, StackingClassifier, GaussianNB, Lasso):
        count(kind)
    for kind in (LogisticRegression, RandomForestClassifier, ElasticNet, Ridge, LinearRegression):
        count(kind)
    return made


@pytest.fixture
def grown(monkeypatch):
    """Trees grown by our own kernel."""
    made = {"trees": 0}
    original = Grower._tree

    def tree(self, *args, **kwargs):
        made["trees"] += 1
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Grower, "_tree", tree)
    return made


def searched(name, criterion, table=REFITTED, **more):
    estimator, grid, y = table[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GridSearch(estimator, grid, criterion=criterion, refit=False, random_state=0, **more).fit(X, y)


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("name", REFITTED)
def test_fits_of_searches_against_calls_of_fit(calls, grown, name, criterion):
    search = searched(name, criterion)
    assert search.n_fits_ == calls["fits"] + grown["trees"] > 0
    if search.curve_.race is not None:
        assert search.race_.n_fits <= search.n_fits_


def test_fits_inside_a_learner_do_not_count(calls):
    stack = StackingClassifier([("t", DecisionTreeClassifier(max_depth=2)), ("b", GaussianNB())], cv=2)
    search = GridSearch(stack, {"t__max_depth": [1, 2]}, criterion="kfold", refit=False, random_state=0).fit(X, LABELS)
    assert search.n_fits_ == calls["fits"] > 0


@pytest.mark.parametrize("parameter", ["max_depth", "max_leaf_nodes", "ccp_alpha"])
@pytest.mark.parametrize("criterion", ["auto", "race", "kfold", "permutation", "two-stage", "rows-and-labels"])
@pytest.mark.parametrize("y", [LABELS, VALUES], ids=["classes", "values"])
def test_fits_of_trees_against_calls_of_fit_and_trees_grown(calls, grown, parameter, criterion, y):
    tree = (DecisionTreeClassifier if y is LABELS else DecisionTreeRegressor)(random_state=0)
    values = [0.001, 0.01] if parameter == "ccp_alpha" else [2, 3, 5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearch(tree, {parameter: values}, criterion=criterion, refit=False, random_state=0).fit(X, y)
    assert search.n_fits_ == calls["fits"] + grown["trees"] > 0


@pytest.mark.parametrize("criterion", ["alo", "permutation", "holdout", "auto"])
@pytest.mark.parametrize("learner", [Lasso(), ElasticNet(), LogisticRegression()], ids=lambda it: type(it).__name__)
def test_fits_of_penalised_models_against_solutions(calls, monkeypatch, learner, criterion):
    solved = {"models": 0}

    def count(module, name):
        original = getattr(module, name)

        def solve(*args):
            solved["models"] += 1
            return original(*args)

        monkeypatch.setattr(module, name, solve)

    count(elastic_net, "minimise")
    count(logistic, "solve_binary")
    classes = isinstance(learner, LogisticRegression)
    grid = {"C" if classes else "alpha": [0.01, 0.1, 1.0]}
    y = LABELS if classes else VALUES
    search = GridSearch(learner, grid, criterion=criterion, refit=False, random_state=0).fit(X, y)
    assert search.n_fits_ == calls["fits"] + solved["models"] > 0


KERNELS = {
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 9]}, LABELS),
    "neighbours of a regression": (KNeighborsRegressor(), {"n_neighbors": [1, 3, 9]}, VALUES),
    "ridge": (Ridge(), {"alpha": [0.1, 1.0]}, VALUES),
    "bayes": (GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, LABELS),
    "process": (GaussianProcessRegressor(optimizer=None), {"alpha": [0.1, 1.0]}, VALUES),
}


@pytest.mark.parametrize("name", KERNELS)
def test_one_search_or_decomposition_is_one_fit_for_all_settings_and_rows_left_out(name):
    counted = {
        criterion: searched(name, criterion, KERNELS).n_fits_
        for criterion in ("loo", "resubstitution", outsample.Permutation(7), outsample.HoldOut(0.3))
    }
    assert list(counted.values()) == [1, 1, 1 + 7, 1 + 1] or (
        # The permutation estimate of fits that are linear in y needs no draw.
        name in ("ridge", "process", "neighbours of a regression") and list(counted.values()) == [1, 1, 1, 1 + 1]
    )


def test_decompositions_of_a_ridge_race_against_those_made(monkeypatch):
    made = {"bound": 0}
    original = RidgePath.bind

    def bind(self, *args, **kwargs):
        made["bound"] += 1
        return original(self, *args, **kwargs)

    monkeypatch.setattr(RidgePath, "bind", bind)
    search = searched("ridge", outsample.Bootstrap(8), KERNELS)
    assert search.n_fits_ == made["bound"] == 8 + 1


def test_a_forest_that_gets_all_its_trees_in_a_race_is_one_fit():
    trees = {"fitted": 0}
    forest = RandomForestClassifier(96, random_state=0)
    search = GridSearch(forest, {"min_samples_leaf": [1, 2, 30]}, random_state=0, refit=False).fit(X, LABELS)
    trees["fitted"] = int(search.cv_results_["n_trees"].sum())
    assert search.n_fits_ == -(-trees["fitted"] // 96)


@pytest.mark.parametrize("criterion", ["race", "kfold", "rows-and-labels", "bootstrap", "permutation", "nested-kfold"])
@pytest.mark.parametrize("name", ["depths", "machine", "network"])
def test_workers_count_as_one_process_does(name, criterion):
    alone, together = (searched(name, criterion, n_jobs=n_jobs).n_fits_ for n_jobs in (None, 2))
    assert alone == together


def test_a_resumed_search_counts_what_it_fits_itself(calls, tmp_path):
    first = searched("machine", "kfold", store=tmp_path / "kept")
    spent = calls["fits"]
    again = searched("machine", "kfold", store=tmp_path / "kept")
    assert (first.n_fits_, again.n_fits_) == (spent, calls["fits"] - spent) == (spent, 0)
    np.testing.assert_array_equal(first.curve_.out_sample, again.curve_.out_sample)


@pytest.mark.parametrize("criterion", ["auto", "kfold", "permutation", "bootstrap", "rows-and-labels"])
def test_fits_of_estimates_against_a_learner_that_counts(criterion):
    COUNTER.fits.clear()
    found = outsample.estimate(CountingClassifier(), X, LABELS, criterion=criterion, random_state=0)
    assert COUNTER.fits == {"classifier": found.n_fits}


def test_the_other_questions_against_a_learner_that_counts():
    COUNTER.fits.clear()
    learner, spent = CountingClassifier(), 0

    def further():
        nonlocal spent
        before, spent = spent, COUNTER.fits["classifier"]
        return spent - before

    assert outsample.permutation_test(learner, X, LABELS, cv=3, n_draws=9, random_state=0).n_fits == further()
    compared = outsample.compare_models({"one": learner, "other": GaussianNB()}, X, LABELS, cv=4, random_state=0)
    assert compared.n_fits[0] == further() == 4
    assert outsample.effective_vc_dimension(learner, X, n_draws=5, random_state=0).n_fits >= further() > 0
    curve = outsample.learning_curve(learner, X, LABELS, train_sizes=[20, 40], cv=4, random_state=0)
    assert sum(found.n_fits for found in curve.estimates) == further() == 8
    assert outsample.rademacher_complexity(learner, X, LABELS, n_draws=6, random_state=0).n_fits == further() == 6
