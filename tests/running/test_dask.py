"""A real cluster of separate processes on this machine, one of which is killed in the middle of the work."""

from __future__ import annotations

import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, Permutation

distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")

pytestmark = pytest.mark.filterwarnings("default")

GRID = {"max_leaf_nodes": [2, 4, 8]}


class SlowTree(DecisionTreeClassifier):
    """A tree that takes its time, so that there is a middle of the work."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(0.02)
        return super().fit(X, y, sample_weight)


class CountedArray(np.ndarray):
    """An array that counts how often this process packs it up to send it away."""

    packed = 0

    def __reduce__(self):
        CountedArray.packed += 1
        return np.asarray(self).__reduce__()


@pytest.fixture
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as made:
        yield made


def search(X, y):
    tree = SlowTree(random_state=0)
    return GridSearch(tree, GRID, criterion=Permutation(30), random_state=0, refit=False).fit(X, y)


def kill_a_worker_after(client, seconds):
    def kill():
        time.sleep(seconds)
        worker_pids = client.run(os.getpid)
        os.kill(next(iter(worker_pids.values())), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_same_answer_with_a_killed_worker(cluster):
    X, y = load_breast_cancer(return_X_y=True)
    expected = search(X, y).curve_
    with distributed.Client(cluster) as client, joblib.parallel_config(backend="dask"):
        killer = kill_a_worker_after(client, 0.5)
        found = search(X, y).curve_
        killer.join()
    np.testing.assert_array_equal(found.draws, expected.draws)
    np.testing.assert_array_equal(found.out_sample, expected.out_sample)


def race_of(criterion, estimator, grid, X, y):
    return GridSearch(estimator, grid, criterion=criterion, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (SlowTree(random_state=0), {"max_leaf_nodes": [2, 4, 8, 16], "min_samples_leaf": [1, 10]}),
        (RandomForestClassifier(48, random_state=0), {"max_features": [2, 10], "min_samples_leaf": [1, 20]}),
    ],
)
def test_same_race(cluster, estimator, grid):
    X, y = load_breast_cancer(return_X_y=True)
    expected = race_of("race", estimator, grid, X, y)
    with distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        found = race_of("race", estimator, grid, X, y)
    for name in ("risk", "n_splits", "gap"):
        np.testing.assert_array_equal(getattr(found.race_, name), getattr(expected.race_, name))
    np.testing.assert_array_equal(found.curve_.left_out.losses, expected.curve_.left_out.losses)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_x_travels_once_not_with_every_task(cluster):
    X, y = load_breast_cancer(return_X_y=True)
    CountedArray.packed = 0
    with distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        search(X.view(CountedArray), y)
    assert 1 <= CountedArray.packed <= 4


def test_any_search_on_a_cluster(cluster):
    """scikit-learn's own loop (with cv=), folds of ours, a race, and the default."""
    X, y = load_breast_cancer(return_X_y=True)
    model, strengths = make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 1.0]}
    ways = ({"cv": 3}, {"criterion": "kfold"}, {"criterion": "race"}, {})
    searches = [GridSearch(model, strengths, random_state=0, **options) for options in ways]
    alone = [each.fit(X, y).cv_results_["mean_test_score"] for each in searches]
    with distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        there = [each.fit(X, y).cv_results_["mean_test_score"] for each in searches]
    for found, expected in zip(there, alone, strict=True):
        np.testing.assert_array_equal(found, expected)
