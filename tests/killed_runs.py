"""Run a search with a store, kill it with SIGKILL at random moments, start it again, and count what was repeated.

    python killed_runs.py FOLDER CRITERION

Every fit is noted in a log, by the labels it was given, once it has ended. Before each start the store tells which
units are finished; a fit to the labels of a finished unit after that is a repetition.
"""

from __future__ import annotations

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
from sklearn.tree import DecisionTreeClassifier

from outsample import GridSearch, Permutation
from outsample.criteria import CRITERIA

KILLS = 22
GRID = {"max_leaf_nodes": [2, 3, 5]}
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
            log.write(f"{digest_of(X, y)} {self.max_leaf_nodes}\n")
        return self


def search(folder: Path, criterion: str, store: str | None) -> GridSearch:
    X, y = load_iris(return_X_y=True)
    chosen = Permutation(40) if criterion == "permutation" else CRITERIA["kfold"](30)
    tree = NotedTree(log=str(folder / "fits.log"))
    found = GridSearch(tree, GRID, criterion=chosen, random_state=0, refit=False, store=store and folder / store)
    return found.fit(X, y)


def result(found: GridSearch) -> list[str]:
    return [value.hex() for value in found.curve_.out_sample.tolist()]


def finished_units(store: Path) -> list[str]:
    """Names of the units the store holds, as "draws 7", "folds 3" or the fit to the real labels."""
    if not store.exists():
        return []
    with sqlite3.connect(store) as connection:
        try:
            rows = connection.execute("SELECT unit FROM units").fetchall()
        except sqlite3.OperationalError:
            return []
    return [unit for (unit,) in rows]


def fits(folder: Path) -> list[str]:
    """What each fit so far was given."""
    log = folder / "fits.log"
    return [line.split()[0] for line in log.read_text().split("\n")[:-1]] if log.exists() else []


def real_data() -> str:
    X, y = load_iris(return_X_y=True)
    return digest_of(X, y)


def finished_digests(store: Path, drawn: list[str]) -> set[str]:
    """What the fits of all finished units were given; unit i of a stream is the i-th thing drawn."""
    streams = [unit for unit in finished_units(store) if "draws" in unit or "folds" in unit]
    others = len(finished_units(store)) > len(streams)
    return {drawn[int(unit.rpartition("/")[2])] for unit in streams} | ({real_data()} if others else set())


def killed_run(folder: Path, criterion: str, rng: random.Random) -> bool:
    """Start the search in a child process, kill it some fits later; whether it was killed before it ended."""
    enough = len(fits(folder)) + rng.randint(1, 8)
    child = os.fork()
    if child == 0:
        search(folder, criterion, "runs.db")
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


def main(folder: Path, criterion: str) -> None:
    rng, store = random.Random(0), folder / "runs.db"
    uninterrupted = result(search(folder, criterion, None))
    planned = fits(folder)
    drawn = [digest for digest in dict.fromkeys(planned) if digest != real_data()]
    (folder / "fits.log").unlink()
    kills = repeated = 0
    while kills < KILLS:
        before, finished = len(fits(folder)), finished_digests(store, drawn)
        if not killed_run(folder, criterion, rng):
            raise SystemExit(f"the search ended after {kills} kills; give it more to do")
        repeated += sum(digest in finished for digest in fits(folder)[before:])
        kills += 1
    before, finished = len(fits(folder)), finished_digests(store, drawn)
    resumed = result(search(folder, criterion, "runs.db"))
    repeated += sum(digest in finished for digest in fits(folder)[before:])
    report = {
        "kills": kills,
        "planned": len(planned),
        "spent": len(fits(folder)),
        "finished before the last start": len(finished),
        "repeated": repeated,
        "resumed": resumed,
        "uninterrupted": uninterrupted,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
