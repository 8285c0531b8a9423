"""The store: nothing finished is lost or repeated, whenever the process is killed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, Permutation
from outsample.criteria import CRITERIA
from outsample.store import Store

KILLED_RUNS = Path(__file__).with_name("killed_runs.py")


@pytest.mark.parametrize("criterion", ["permutation", "kfold"])
def test_killed_and_resumed_many_times(tmp_path, criterion):
    """At least twenty SIGKILLs at random moments; see killed_runs.py for what each run must not repeat."""
    done = subprocess.run(
        [sys.executable, str(KILLED_RUNS), str(tmp_path), criterion], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["kills"] >= 20
    assert report["finished before the last start"] > 0
    assert report["repeated"] == 0
    assert report["resumed"] == report["uninterrupted"]


@pytest.fixture
def begun(tmp_path):
    """A store that holds a finished search."""
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "runs.db"
    options = {"criterion": Permutation(4), "random_state": 0, "store": path}
    GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}, **options).fit(X, y)
    return X, y, path, options


def test_finished_search_is_read_back_without_a_fit(begun):
    X, y, _, options = begun
    plain = GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}, **(options | {"store": None})).fit(X, y)
    again = GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}, **options).fit(X, y)
    np.testing.assert_array_equal(again.curve_.draws, plain.curve_.draws)
    np.testing.assert_array_equal(again.curve_.out_sample, plain.curve_.out_sample)


OTHERS = {
    "data": lambda X, y, options: (X + 1, y, DecisionTreeClassifier(), [2, 4], options),
    "estimator": lambda X, y, options: (X, y, DecisionTreeClassifier(min_samples_leaf=3), [2, 4], options),
    "grid": lambda X, y, options: (X, y, DecisionTreeClassifier(), [2, 5], options),
    "criterion": lambda X, y, options: (
        X,
        y,
        DecisionTreeClassifier(),
        [2, 4],
        options | {"criterion": Permutation(5)},
    ),
    "loss": lambda X, y, options: (X, y, DecisionTreeClassifier(), [2, 4], options | {"loss": "log"}),
    "random_state": lambda X, y, options: (X, y, DecisionTreeClassifier(), [2, 4], options | {"random_state": 1}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_store_refuses_what_is_not_its_own(begun, what):
    X, y, _, options = begun
    X, y, tree, values, options = OTHERS[what](X, y, options)
    with pytest.raises(ValueError, match=rf"runs\.db was begun with (an)?other {what}"):
        GridSearch(tree, {"max_leaf_nodes": values}, **options).fit(X, y)


def test_a_store_refuses_other_versions(begun):
    X, y, path, options = begun
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE facts SET value = ? WHERE name = 'versions'", (json.dumps({"numpy": "0.1"}),))
    with pytest.raises(ValueError, match="other versions"):
        GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}, **options).fit(X, y)


def test_without_a_random_state_the_store_remembers_the_seed(tmp_path):
    X, y = load_iris(return_X_y=True)
    store = tmp_path / "runs.db"
    searches = [GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 9]}, store=store).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(searches[0].curve_.draws, searches[1].curve_.draws)


def test_a_store_holds_plain_numbers_and_text_only(begun):
    _, _, path, _ = begun
    with sqlite3.connect(path) as connection:
        for (layout,) in connection.execute("SELECT layout FROM units"):
            assert all(np.dtype(part["dtype"]).kind in "fiub" for part in json.loads(layout))
        for (value,) in connection.execute("SELECT value FROM facts"):
            json.loads(value)


def test_a_stranger_cannot_smuggle_objects_in(tmp_path):
    with Store(tmp_path / "runs.db") as store:
        store.put("0/draws/0/0", [np.zeros(1)])
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        connection.execute("UPDATE units SET layout = ?", (json.dumps([{"dtype": "|O", "shape": [1]}]),))
    with Store(tmp_path / "runs.db") as store, pytest.raises(ValueError, match="not plain numbers"):
        store.get("0/draws/0/0")


def test_a_file_that_is_no_store(tmp_path):
    (tmp_path / "notes.txt").write_text("hello " * 1000)
    with pytest.raises(ValueError, match=r"store: .*notes\.txt cannot be used as a store"):
        GridSearch(LogisticRegression(), {"C": [1.0]}, store=tmp_path / "notes.txt").fit(*load_iris(return_X_y=True))


def test_every_criterion_works_with_a_store(tmp_path):
    X, y = load_iris(return_X_y=True)
    keep = (y != 2) & (np.arange(len(y)) % 2 == 0)
    for name in CRITERIA:
        try:
            plain = GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 3]}, criterion=name, random_state=0)
            expected = plain.fit(X[keep], y[keep]).curve_.out_sample
        except ValueError:
            continue
        stored = GridSearch(
            DecisionTreeClassifier(),
            {"max_leaf_nodes": [2, 3]},
            criterion=name,
            random_state=0,
            store=tmp_path / f"{name.replace('+', 'plus')}.db",
        )
        np.testing.assert_array_equal(stored.fit(X[keep], y[keep]).curve_.out_sample, expected, err_msg=name)
        np.testing.assert_array_equal(stored.fit(X[keep], y[keep]).curve_.out_sample, expected, err_msg=name)
