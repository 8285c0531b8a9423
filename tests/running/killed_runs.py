"""Run a search with a store, kill it with SIGKILL at random moments, start it again, and count what was repeated.

    python killed_runs.py FOLDER WORK

Every fit is noted in a log, by the data it was given, once it has ended. A run that is not interrupted tells which
fits each unit of the store is made of. Before each start the store tells which units are finished; a fit to the data
of a finished unit after that is a repetition. Forests that grow are not kept: a round of one is made of all its trees.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

from outsample import Bootstrap, CrossValidation, GridSearch, NestedCrossValidation, Permutation, Race
from outsample.running.store import Store

KILLS = 22
MOST_FITS = {"honest": 90, "race": 4, "race over size": 90}
GRID = {"max_leaf_nodes": [2, 3, 5]}
BAGS = {"estimator__max_leaf_nodes": [2, 3, 4, 5, 8]}
SLEEP = 0.004


def digest_of(X, y) -> str:
    return hashlib.sha256(np.ascontiguousarray(y).tobytes() + np.ascontiguousarray(X).tobytes()).hexdigest()


class NotedTree(DecisionTreeClassifier):
    """A tree that writes down which labels it was fitted to."""

    def __init__(self, log="", max_leaf_nodes=None, random_state=0):
        super().__init__(max_leaf_nodes=max_leaf_nodes, random_state=random_state)
        self.log = log

    def fit(self, X, y):
        time.sleep(SLEEP)
        super().fit(X, y)
        with open(self.log, "a") as log:
            log.write(f"{digest_of(X, y)}-{self.max_leaf_nodes}\n")
        return self


WORK = {
    "permutation": {"criterion": Permutation(40)},
    "kfold": {"criterion": CrossValidation(30)},
    "race": {"criterion": Race(30, confidence=0.99, tolerance=0.001)},
    "632+": {"criterion": Bootstrap(40, "632+")},
    "nested-kfold": {"criterion": NestedCrossValidation(5, 3)},
    "race over size": {"criterion": Race(confidence=1 - 1e-12, tolerance=0)},
    "honest": {"criterion": CrossValidation(8), "honest": "nested"},
}


def search(folder: Path, work: str, store: str) -> GridSearch:
    X, y = load_iris(return_X_y=True)
    learner, grid = NotedTree(log=str(folder / "fits.log")), GRID
    if work == "race over size":
        learner, grid = BaggingClassifier(learner, n_estimators=48), BAGS
    return GridSearch(learner, grid, random_state=0, refit=False, store=folder / store, **WORK[work]).fit(X, y)


def result(found: GridSearch) -> list[str]:
    honest = getattr(found, "honest_score_", None)
    numbers = [*found.curve_.out_sample.tolist(), *([] if honest is None else [honest.out_sample])]
    return [value.hex() for value in numbers]


def planned_units(folder: Path, work: str) -> tuple[list[str], dict[str, set[str]]]:
    """(result, what the fits of each unit are given) of a search that is not interrupted."""
    put, units, seen = Store.put, {}, 0

    def noted_put(store, unit, arrays):
        nonlocal seen
        put(store, unit, arrays)
        known = fits(folder)
        units[unit], seen = set(known[seen:]), len(known)
        if work == "race over size":
            settings = {given.split("-")[1] for given in units[unit]}
            units[unit] |= {given for given in known if given.split("-")[1] in settings}

    Store.put = noted_put
    found = search(folder, work, "whole.db")
    Store.put = put
    return result(found), units


def finished_units(store: Path) -> list[str]:
    """Names of the units the store holds, as draws/…/7 or folds/…/3."""
    if not store.exists():
        return []
    with contextlib.closing(sqlite3.connect(store)) as connection, connection:
        try:
            rows = connection.execute("SELECT unit FROM units").fetchall()
        except sqlite3.OperationalError:
            return []
    return [unit for (unit,) in rows]


def fits(folder: Path) -> list[str]:
    """What each fit so far was given."""
    log = folder / "fits.log"
    return log.read_text().split("\n")[:-1] if log.exists() else []


def finished_digests(store: Path, units: dict[str, set[str]]) -> set[str]:
    """What fits of finished units, and of no other unit, were given."""
    finished = set(finished_units(store))
    inside = set().union(*(units[unit] for unit in finished))
    return inside - set().union(*(given for unit, given in units.items() if unit not in finished))


def killed_run(folder: Path, work: str, rng: random.Random) -> bool:
    """Start the search in a child process, kill it some fits later; whether it was killed before it ended."""
    enough = len(fits(folder)) + rng.randint(1, MOST_FITS.get(work, 8))
    child = os.fork()
    if child == 0:
        search(folder, work, "runs.db")
        os._exit(0)
    while len(fits(folder)) < enough and os.waitpid(child, os.WNOHANG) == (0, 0):
        time.sleep(0.0005)
    time.sleep(rng.uniform(0.0, 2 * SLEEP))
    try:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    except (ChildProcessError, ProcessLookupError):
        return False
    return True


def main(folder: Path, work: str) -> None:
    rng, store = random.Random(0), folder / "runs.db"
    uninterrupted, units = planned_units(folder, work)
    planned = len(fits(folder))
    (folder / "fits.log").unlink()
    kills = repeated = 0
    while kills < KILLS:
        before, finished = len(fits(folder)), finished_digests(store, units)
        if not killed_run(folder, work, rng):
            break
        repeated += sum(digest in finished for digest in fits(folder)[before:])
        kills += 1
    before, finished = len(fits(folder)), finished_digests(store, units)
    resumed = result(search(folder, work, "runs.db"))
    repeated += sum(digest in finished for digest in fits(folder)[before:])
    report = {
        "kills": kills,
        "planned": planned,
        "spent": len(fits(folder)),
        "finished before the last start": len(finished),
        "repeated": repeated,
        "resumed": resumed,
        "uninterrupted": uninterrupted,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
