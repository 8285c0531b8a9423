"""Own code as part of what a store knows: whatever may change the numbers of an own class changes its fingerprint."""

from __future__ import annotations

import importlib
import sys

import pytest
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from outsample import CrossValidation, GridSearch
from outsample.running.units import fingerprint, package_version

SOURCE = '''
import functools
import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.metaestimators import available_if
import {name}_helpers as helpers

LEAVES = 2
BASE = DecisionTreeClassifier(max_features=2)
SIZES = {{"first": 10}}
COUNTED = 0


def doubled(number):
    """Used below."""
    return number * 2


class Middle(DecisionTreeClassifier):
    shrinkage = 0.5
    layers = [3, 4]
    fits = 0

    def fit(self, X, y, sample_weight=None):
        global COUNTED
        COUNTED += 1
        type(self).fits += 1
        self.base_ = clone(BASE)
        self.max_leaf_nodes = max(2, doubled(LEAVES) + SIZES["first"] - helpers.less(8))
        return super().fit(X, y, sample_weight)


class Own(Middle):
    def predict(self, X):
        return self._turned(super().predict(X), by=0)

    @property
    def width(self):
        return 1

    @staticmethod
    def _turned(y, by=0):  # a comment
        return (y + by) % 3

    @available_if(lambda self: True)
    def nothing(self):
        return 0
'''
HELPERS = "def less(number):\n    return number + 1\n"
EDITS = {
    "a method": ("self._turned(super().predict(X), by=0)", "self._turned(super().predict(X), by=1)"),
    "a default": ("def _turned(y, by=0)", "def _turned(y, by=2)"),
    "a static method": ("(y + by) % 3", "(y + by) % 2"),
    "a property": ("return 1\n", "return 3\n"),
    "a decorated method": ("return 0\n", "return 5\n"),
    "a condition of a method": ("lambda self: True", "lambda self: False"),
    "a method of a base": ("super().fit(X, y, sample_weight)", "super().fit(X, y)"),
    "a base": (
        "from sklearn.tree import DecisionTreeClassifier",
        "from sklearn.tree import ExtraTreeClassifier as DecisionTreeClassifier",
    ),
    "a constant of a class": ("shrinkage = 0.5", "shrinkage = 0.6"),
    "a list of a class": ("[3, 4]", "[3, 5]"),
    "a function beside it": ("number * 2", "number * 3"),
    "a constant beside it": ("LEAVES = 2", "LEAVES = 3"),
    "a dictionary beside it": ('"first": 10', '"first": 11'),
    "a learner beside it": ("max_features=2", "max_features=3"),
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes the module anew, and gives its class as another process would see it."""
    monkeypatch.syspath_prepend(tmp_path)

    def own(name, source=SOURCE, helpers=HELPERS):
        for module, text in ((f"{name}_helpers", helpers), (name, source.format(name=name))):
            (tmp_path / f"{module}.py").write_text(text)
            sys.modules.pop(module, None)
        importlib.invalidate_caches()
        package_version.cache_clear()
        return importlib.import_module(name).Own

    return own


@pytest.mark.parametrize("edit", EDITS)
def test_every_edit_of_own_code_is_another_fingerprint(written, edit):
    before = fingerprint(make_pipeline(StandardScaler(), written("mine")()))
    assert EDITS[edit][0] in SOURCE
    assert fingerprint(make_pipeline(StandardScaler(), written("mine", SOURCE.replace(*EDITS[edit]))())) != before


def test_a_function_of_another_own_module_counts(written):
    before = fingerprint(written("mine")())
    assert fingerprint(written("mine", helpers=HELPERS.replace("+ 1", "+ 2"))()) != before


@pytest.mark.parametrize(("old", "new"), [("  # a comment", ""), ("COUNTED = 0", "COUNTED = 0\nUNUSED = 1")])
def test_what_changes_no_number_does_not_count(written, old, new):
    before = fingerprint(written("mine")())
    assert fingerprint(written("mine", SOURCE.replace(old, new))()) == before


def test_what_happened_is_no_part_of_the_code(written):
    own = written("mine")
    before = fingerprint(own())
    own().fit(*load_iris(return_X_y=True))
    own.layers.append(5)
    assert own.fits == 1
    assert fingerprint(own()) == before


def test_a_frozen_learner_is_told_by_its_code_and_its_fit(written):
    X, y = load_iris(return_X_y=True)
    before = fingerprint(FrozenEstimator(written("mine")(random_state=0).fit(X, y)))
    assert fingerprint(FrozenEstimator(written("mine")(random_state=0).fit(X, y))) == before
    assert fingerprint(FrozenEstimator(written("mine")(random_state=0).fit(X[:50], y[:50]))) != before
    assert (
        fingerprint(FrozenEstimator(written("mine", SOURCE.replace("% 3", "% 2"))(random_state=0).fit(X, y))) != before
    )


def test_a_store_refuses_the_numbers_of_an_edited_class(written, tmp_path):
    """It gave those of the class before."""
    X, y = load_iris(return_X_y=True)
    options = {"criterion": CrossValidation(5), "random_state": 0, "store": tmp_path / "runs.db"}
    GridSearch(written("mine")(), {"min_samples_leaf": [1, 5]}, **options).fit(X, y)
    with pytest.raises(ValueError, match=r"runs\.db was begun with other estimator"):
        GridSearch(
            written("mine", SOURCE.replace("by=0)\n\n", "by=1)\n\n"))(), {"min_samples_leaf": [1, 5]}, **options
        ).fit(X, y)
    GridSearch(written("mine")(), {"min_samples_leaf": [1, 5]}, **options).fit(X, y)


def test_a_store_refuses_the_numbers_of_an_edited_helper_of_a_score(tmp_path):
    X, y = load_iris(return_X_y=True)
    options = {"criterion": CrossValidation(5), "random_state": 0, "store": tmp_path / "runs.db"}
    score = {"__name__": "scores"}
    exec("def part(a, b): return (a == b).mean()\ndef own(model, X, y): return part(model.predict(X), y)", score)
    for text, refused in (("(a == b).mean()", False), ("(a != b).mean()", True)):
        exec(f"def part(a, b): return {text}", score)
        search = GridSearch(DecisionTreeClassifier(), {"min_samples_leaf": [1, 5]}, scoring=score["own"], **options)
        if refused:
            with pytest.raises(ValueError, match="begun with other loss"):
                search.fit(X, y)
        else:
            search.fit(X, y)


def test_the_version_of_the_package_of_a_class_counts(monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    model = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier())
    before = fingerprint(model)
    package_version.cache_clear()
    monkeypatch.setattr(lightgbm, "__version__", "0.1")
    assert fingerprint(model) != before
    package_version.cache_clear()
