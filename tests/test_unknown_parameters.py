"""Parameters that libraries gain: whatever is set and not known here is left to the estimator's own `fit`."""

from __future__ import annotations

import inspect
from importlib import import_module

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import outsample
from outsample.data.parameters import KNOWN_PARAMETERS, unknown_settings
from outsample.data.steps import ignores_y, split_pipeline
from outsample.paths.dispatch import FAST_PATHS, find_path
from outsample.paths.out_of_bag import objection
from outsample.paths.penalised.objectives import knows
from outsample.resampling.bags import weight_repeats

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LABELS = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
VALUES = X[:, 0] + RNG.normal(size=60)
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0])).astype(float)

LISTED = [name for name in FAST_PATHS if not name.startswith("outsample.")]


@pytest.fixture
def gains(monkeypatch):
    """Lets a class gain the parameter `invented`, in place: its objects are of the same type as before."""

    def gain(kind):
        original = kind.__init__
        parameters = [p for p in inspect.signature(original).parameters.values() if p.name != "invented"]
        invented = inspect.Parameter("invented", inspect.Parameter.KEYWORD_ONLY, default=None)
        named = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
        rest = [p for p in parameters if p.kind is p.VAR_KEYWORD]

        def initialised(self, *args, invented=None, **kwargs):
            original(self, *args, **kwargs)
            self.invented = invented

        initialised.__signature__ = inspect.Signature([*named, invented, *rest])
        monkeypatch.setattr(kind, "__init__", initialised)
        if "_parameter_constraints" in vars(kind) or hasattr(kind, "_parameter_constraints"):
            monkeypatch.setattr(
                kind,
                "_parameter_constraints",
                kind._parameter_constraints | {"invented": "no_validation"},
                raising=False,
            )

    return gain


def kind_named(name):
    module, _, kind = name.rpartition(".")
    return getattr(pytest.importorskip(module), kind)


@pytest.mark.parametrize("name", [it for it in LISTED if it.startswith("sklearn.")])
def test_a_parameter_that_is_not_known_means_refits_for_every_class_with_a_fast_path(gains, name):
    kind = kind_named(name)
    gains(kind)
    for parameter in FAST_PATHS[name]:
        if parameter not in inspect.signature(kind).parameters:
            continue
        usual, other = kind(), kind(invented=1)
        values = [getattr(usual, parameter)] * 2
        assert unknown_settings(usual) == []
        assert unknown_settings(other) == ["invented"]
        assert find_path(other, parameter, values).refits
        assert find_path(other).refits
        behind = make_pipeline(StandardScaler(), other)
        assert find_path(behind, f"{behind.steps[-1][0]}__{parameter}", values).refits


@pytest.mark.parametrize("name", [it for it in LISTED if not it.startswith("sklearn.")])
def test_a_parameter_that_is_not_known_means_refits_for_boosters(name):
    kind = kind_named(name)
    size = next(iter(FAST_PATHS[name]))
    rate = {"learning_rate": 0.1}
    assert not find_path(kind(**rate), size, [2, 3]).refits
    other = kind(**rate)
    usual = other.get_params()
    other.get_params = lambda deep=True: {**usual, "invented": 1}
    assert unknown_settings(other) == ["invented"]


@pytest.mark.parametrize("name", LISTED)
def test_every_class_with_a_fast_path_is_listed_with_all_its_parameters(name):
    kind = kind_named(name)
    assert kind.__name__ in KNOWN_PARAMETERS
    assert unknown_settings(kind()) == []


@pytest.mark.parametrize(
    ("kind", "own", "grid", "y"),
    [
        (DecisionTreeClassifier, {"random_state": 0}, {"max_leaf_nodes": [2, 4, 8]}, LABELS),
        (DecisionTreeClassifier, {"random_state": 0}, {"max_depth": [1, 3]}, LABELS),
        (KNeighborsClassifier, {}, {"n_neighbors": [1, 5]}, LABELS),
        (Ridge, {}, {"alpha": [0.1, 10.0]}, VALUES),
        (Lasso, {}, {"alpha": [0.01, 0.1]}, VALUES),
    ],
    ids=["leaves", "depths", "neighbours", "ridge", "lasso"],
)
def test_numbers_with_an_unknown_parameter_are_those_of_refits(gains, monkeypatch, kind, own, grid, y):
    made = []
    gains(kind)
    original = kind.fit

    def fit(self, *args, **kwargs):
        made.append(self.invented)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(kind, "fit", fit)
    other = kind(**own, invented=1)
    settings = {"criterion": outsample.CrossValidation(4), "refit": False, "random_state": 0}
    ours = outsample.GridSearch(other, grid, **settings).fit(X, y)
    assert (ours.path_, ours.n_fits_) == ("RefitPath", len(made))
    assert set(made) == {1}
    refitted = outsample.GridSearch(other, grid, fast=False, **settings).fit(X, y)
    np.testing.assert_array_equal(ours.curve_.out_sample, refitted.curve_.out_sample)


def test_approximate_leave_one_out_refits_where_a_parameter_is_not_known(gains):
    gains(PoissonRegressor)
    found, exact = (
        outsample.estimate(PoissonRegressor(invented=1), X[:20], COUNTS[:20], criterion=criterion, random_state=0)
        for criterion in ("alo", "loo")
    )
    assert (found.out_sample, found.n_fits) == (exact.out_sample, exact.n_fits) == (exact.out_sample, 21)
    taken = outsample.estimate(PoissonRegressor(invented=1), X, COUNTS, random_state=0)
    assert taken.criterion == "race"


def test_whoever_else_reads_settings_leaves_unknown_ones_alone(gains):
    for kind in (StandardScaler, Pipeline, RandomForestClassifier, LogisticRegression, SVC, PCA):
        gains(kind)
    assert ignores_y(StandardScaler())
    assert not ignores_y(StandardScaler(invented=1))
    assert not ignores_y(PCA(invented=1))
    steps = [("scale", StandardScaler()), ("learn", Ridge())]
    assert split_pipeline(Pipeline(steps))[0] is not None
    assert split_pipeline(Pipeline(steps, invented=1))[0] is None
    assert find_path(Pipeline([("scale", StandardScaler(invented=1)), ("learn", Ridge())])).refits
    assert objection(RandomForestClassifier()) is None
    assert "invented" in objection(RandomForestClassifier(invented=1))
    assert knows(LogisticRegression())
    assert not knows(LogisticRegression(invented=1))
    assert weight_repeats(LogisticRegression())
    assert not weight_repeats(LogisticRegression(invented=1))


def test_a_subclass_that_adds_a_parameter_is_refitted():
    class Gained(DecisionTreeClassifier):
        def __init__(self, max_leaf_nodes=None, invented=None):
            super().__init__(max_leaf_nodes=max_leaf_nodes)
            self.invented = invented

    assert find_path(Gained(invented=1), "max_leaf_nodes", [2, 3]).refits


def test_modules_of_listed_classes_can_be_imported():
    for name in LISTED:
        if name.startswith("sklearn."):
            assert hasattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2])
