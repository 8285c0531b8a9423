"""Finished units of long work in one SQLite file: plain numbers and JSON, never pickles.

Opening a stranger's store runs no code. A store belongs to one search or study: other data, settings, criterion or
versions are refused.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray

from outsample._version import __version__
from outsample.problem import Problem

Array = NDArray[Any]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS units (unit TEXT PRIMARY KEY, layout TEXT NOT NULL, numbers BLOB NOT NULL);
"""


class Store:
    """Numbers of finished units, durable as soon as they are put."""

    def __init__(self, path: Any) -> None:
        self.path = str(path)
        try:
            self._connection = sqlite3.connect(self.path, isolation_level=None, timeout=60)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise ValueError(f"store: {self.path} cannot be used as a store: {error}") from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def get(self, unit: str) -> tuple[Array, ...] | None:
        """The arrays of a finished unit, None when it is not finished."""
        row = self._connection.execute("SELECT layout, numbers FROM units WHERE unit = ?", (unit,)).fetchone()
        return None if row is None else _unpacked(*row)

    def put(self, unit: str, arrays: Sequence[Array]) -> None:
        """Keep the arrays of a finished unit."""
        layout, numbers = _packed(arrays)
        self._connection.execute("INSERT OR REPLACE INTO units VALUES (?, ?, ?)", (unit, layout, numbers))

    def entered(self, problem: Problem, estimator: Any, settings: Any, criterion: Any) -> Problem:
        """The problem with this store behind it, after checking that the store is this search's own.

        A search without a random state takes up the seed its store began with.
        """
        facts = {
            "data": joblib.hash((problem.X, problem.y, problem.weight, problem.groups)),
            "estimator": f"{type(estimator).__qualname__} {joblib.hash(estimator)}",
            "grid": joblib.hash(settings) if isinstance(settings, list) else "open-ended",
            "criterion": repr(criterion),
            "loss": problem.loss.name,
            "versions": {
                "outsample": __version__,
                "scikit-learn": sklearn.__version__,
                "numpy": np.__version__,
                "scipy": scipy.__version__,
            },
        }
        self.begin(facts)
        seed = self._own_seed(problem.seed)
        return replace(problem, store=self, seed=seed)

    def begin(self, facts: dict[str, Any]) -> None:
        """Settle what the store is about, values fit for JSON; a store begun with other facts is refused."""
        for name, value in facts.items():
            known = self._fact(name, value)
            if known != json.loads(json.dumps(value)):
                raise ValueError(f"store: {self.path} was begun with other {name}; use another file or remove it")

    def _own_seed(self, seed: np.random.SeedSequence) -> np.random.SeedSequence:
        chosen = isinstance(seed.entropy, int) and seed.entropy < 2**64
        given = {"entropy": str(seed.entropy), "chosen": chosen}
        known = self._fact("seed", given)
        if known["entropy"] == given["entropy"]:
            return seed
        if given["chosen"] or known["chosen"]:
            raise ValueError(f"store: {self.path} was begun with another random_state; use another file or remove it")
        return np.random.SeedSequence(int(known["entropy"]))

    def _fact(self, name: str, value: Any) -> Any:
        """What the store knows under a name; the first to ask settles it."""
        self._connection.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, json.dumps(value)))
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0])


class NoStore:
    """Nothing is kept."""

    def begin(self, facts: dict[str, Any]) -> None:
        """Nothing to settle."""

    def entered(self, problem: Problem, estimator: Any, settings: Any, criterion: Any) -> Problem:
        """The problem as it is."""
        return problem


def open_store(path: Any) -> AbstractContextManager[Any]:
    """The store at a path; with None, a stand-in that keeps nothing."""
    return nullcontext(NoStore()) if path is None else Store(path)


def _packed(arrays: Sequence[Array]) -> tuple[str, bytes]:
    arrays = [np.asarray(a, order="C") for a in arrays]
    layout = [{"dtype": a.dtype.str, "shape": a.shape} for a in arrays]
    return json.dumps(layout), b"".join(a.tobytes() for a in arrays)


def _unpacked(layout: str, numbers: bytes) -> tuple[Array, ...]:
    arrays, start = [], 0
    for part in json.loads(layout):
        dtype = np.dtype(str(part["dtype"]))
        if dtype.kind not in "fiub":
            raise ValueError(f"store: unit of dtype {dtype} is not plain numbers")
        count = int(np.prod(part["shape"], dtype=np.int64))
        flat = np.frombuffer(numbers, dtype, count, start)
        arrays.append(flat.reshape(part["shape"]).copy())
        start += count * dtype.itemsize
    return tuple(arrays)
