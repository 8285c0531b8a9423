"""The store: nothing finished is lost or repeated, whenever the process is killed."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from outsample import CrossValidation, GridSearch, Permutation
from outsample.criteria.base import CRITERIA
from outsample.running.store import Store, StoreError, checksum

KILLED_RUNS = Path(__file__).with_name("killed_runs.py")


@pytest.mark.parametrize(
    ("work", "kills"),
    [
        ("permutation", 20),
        ("kfold", 20),
        ("race", 12),
        ("race over size", 5),
        ("632+", 20),
        ("nested-kfold", 20),
        ("honest", 3),
    ],
)
def test_killed_and_resumed_many_times(tmp_path, work, kills):
    """SIGKILLs at random moments; see killed_runs.py for what each run must not repeat."""
    done = subprocess.run(
        [sys.executable, str(KILLED_RUNS), str(tmp_path), work], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["kills"] >= kills
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
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM facts WHERE name = 'versions'")
    with Store(path) as store:
        store.begin({"versions": {"numpy": "0.1"}})
    with pytest.raises(ValueError, match="other versions"):
        GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}, **options).fit(X, y)


def test_without_a_random_state_the_store_remembers_the_seed(tmp_path):
    X, y = load_iris(return_X_y=True)
    store = tmp_path / "runs.db"
    searches = [GridSearch(KNeighborsClassifier(), {"n_neighbors": [1, 9]}, store=store).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(searches[0].curve_.draws, searches[1].curve_.draws)


def test_a_store_holds_plain_numbers_and_text_only(begun):
    _, _, path, _ = begun
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for (layout,) in connection.execute("SELECT layout FROM units"):
            assert all(np.dtype(part["dtype"]).kind in "fiub" for part in json.loads(layout))
        for (value,) in connection.execute("SELECT value FROM facts"):
            json.loads(value)


def test_a_stranger_cannot_smuggle_objects_in(tmp_path):
    with Store(tmp_path / "runs.db") as store:
        store.put("draws/0", [np.zeros(1)])
    layout = json.dumps([{"dtype": "|O", "shape": [1]}])
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as connection, connection:
        row = layout, checksum("draws/0", layout, np.zeros(1).tobytes())
        connection.execute("UPDATE units SET layout = ?, checksum = ?", row)
    with Store(tmp_path / "runs.db") as store, pytest.raises(StoreError, match="not plain numbers"):
        store.get("draws/0")


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


@pytest.mark.parametrize("store", [True, 7, b"runs.db", ""])
def test_a_store_that_is_no_path(store):
    with pytest.raises(ValueError, match=rf"store must be the path of a file or None, got {store!r}"):
        GridSearch(LogisticRegression(), {"C": [1.0]}, store=store).fit(*load_iris(return_X_y=True))


def test_nothing_is_written_into_a_stranger_s_database(tmp_path):
    path = tmp_path / "addresses.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE friends (name TEXT); INSERT INTO friends VALUES ('Ada');")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"addresses\.db cannot be used as a store: it is the database of another"):
        GridSearch(LogisticRegression(), {"C": [1.0]}, store=path).fit(*load_iris(return_X_y=True))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["addresses.db"]


def test_a_store_in_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"runs\.db cannot be used as a store: there is no folder"):
        Store(tmp_path / "nowhere" / "runs.db")


@pytest.mark.parametrize("table", ["units", "facts"])
def test_damage_is_named_and_never_computed_anew(begun, table):
    X, y, path, options = begun
    column = "numbers" if table == "units" else "value"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        ((old,),) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1")
        new = bytes([old[0] ^ 1]) + old[1:] if table == "units" else old.replace('"', "'", 1)
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, old))
    with pytest.raises(StoreError, match=r"store: .*runs\.db is damaged: .* is not as it was written"):
        GridSearch(DecisionTreeClassifier(), {"max_leaf_nodes": [2, 4]}, **options).fit(X, y)


def test_any_damaged_byte_is_noticed_or_does_no_harm(begun):
    """Bytes are changed one at a time: never is a unit lost without a word, nor a number changed."""
    _, _, path, _ = begun
    whole, expected, noticed = path.read_bytes(), finished_numbers(path), 0
    used = np.flatnonzero(np.frombuffer(whole, np.uint8))
    for place in np.random.default_rng(0).choice(used, size=60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with contextlib.suppress(StoreError, ValueError):
            assert finished_numbers(path, expected) == expected
            noticed -= 1
        noticed += 1
    assert noticed > 0


def finished_numbers(path, names=None):
    """What a store says of each unit."""
    with Store(path) as store:
        if names is None:
            names = [unit for (unit,) in store._connection.execute("SELECT unit FROM units")]
        return {unit: [array.tobytes() for array in store.get(unit) or ()] for unit in names}


def test_a_full_disk_is_named(tmp_path):
    with Store(tmp_path / "runs.db") as store:
        store.put("first", [np.arange(3.0)])
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"runs\.db could not be written: .*disk is full; what was finished"):
            store.put("second", [np.zeros(10**5)])
    with Store(tmp_path / "runs.db") as store:
        np.testing.assert_array_equal(store.get("first")[0], np.arange(3.0))


FULL_DISK = """
import resource, sys
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.ensemble import ExtraTreesClassifier
from outsample import CrossValidation, GridSearch
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
criterion = CrossValidation(20, keep_predictions=True)
trees = ExtraTreesClassifier(2, random_state=0)
grid = {"max_depth": [1, 2, 3, 4, 5], "min_samples_leaf": [1, 2, 3, 4, 5]}
GridSearch(trees, grid, criterion=criterion, loss="log", store=sys.argv[1]).fit(*load_iris(return_X_y=True))
"""


def test_a_search_says_that_the_disk_is_full(tmp_path):
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path / "runs.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1].startswith("outsample.running.store.StoreError: store: ")
    assert "runs.db could not be written" in done.stderr.splitlines()[-1]


def test_more_than_a_thousand_settings_do_not_meet_in_the_store(tmp_path):
    """A constant that is no class is rejected, which sends all others to units of their own."""
    y = np.repeat([0, 1, 2], [12, 6, 2])
    grids = [
        {"strategy": ["constant"], "constant": [7, *[0] * 1003]},
        {"strategy": ["constant"], "constant": [7, 1, 1, 1], "random_state": [0]},
    ]
    search = GridSearch(DummyClassifier(), grids, criterion=CrossValidation(2), store=tmp_path / "runs.db")
    with pytest.warns(FitFailedWarning):
        scores = search.fit(np.zeros((20, 1)), y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, [np.nan, *[0.6] * 1003, np.nan, 0.3, 0.3, 0.3])


def test_fits_that_measure_an_order_are_told_from_those_that_judge(tmp_path):
    """The criterion draws labels as the order does, but other ones."""
    X, y = load_iris(return_X_y=True)
    grid, criterion = {"criterion": ["gini", "entropy"], "splitter": ["best", "random"]}, CRITERIA["two-stage"](6)
    options = {"criterion": criterion, "rule": "one-standard-error", "random_state": 0}
    searches = [
        GridSearch(DecisionTreeClassifier(), grid, store=store, **options).fit(X, y)
        for store in (None, tmp_path / "runs.db", tmp_path / "runs.db")
    ]
    for stored in searches[1:]:
        np.testing.assert_array_equal(stored.curve_.out_sample, searches[0].curve_.out_sample)
        np.testing.assert_array_equal(stored.curve_.complexity, searches[0].curve_.complexity)


def test_folds_and_losses_are_told_apart_by_their_numbers_not_by_how_they_are_printed(tmp_path):
    X, y = make_classification(2500, random_state=0)
    rows, store = np.arange(2500), tmp_path / "runs.db"
    folds = [[(np.delete(rows, np.s_[k : k + 50]), rows[k : k + 50])] for k in (1200, 1300)]
    GridSearch(KNeighborsClassifier(), {"n_neighbors": [1]}, criterion=CrossValidation(folds[0]), store=store).fit(X, y)
    other = GridSearch(KNeighborsClassifier(), {"n_neighbors": [1]}, criterion=CrossValidation(folds[1]), store=store)
    with pytest.raises(ValueError, match="begun with other criterion"):
        other.fit(X, y)
    matrices, store = ([[0, 1], [2, 0]], [[0, 2], [1, 0]]), tmp_path / "losses.db"
    GridSearch(KNeighborsClassifier(), {"n_neighbors": [1]}, loss=matrices[0], store=store).fit(X, y)
    with pytest.raises(ValueError, match="begun with other loss"):
        GridSearch(KNeighborsClassifier(), {"n_neighbors": [1]}, loss=matrices[1], store=store).fit(X, y)


def test_what_no_other_process_can_compare_is_refused(tmp_path):
    odd = FunctionTransformer(kw_args={"parts": (i for i in range(3))})
    search = GridSearch(
        make_pipeline(odd, LogisticRegression()), {"logisticregression__C": [1.0]}, store=tmp_path / "a"
    )
    with pytest.raises(
        ValueError, match=r"store: .* cannot be used for this search: .* cannot be told from other values"
    ):
        search.fit(*load_iris(return_X_y=True))
