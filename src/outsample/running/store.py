"""Finished units of long work in one SQLite file, as plain numbers and JSON.

Nothing is pickled, so opening a store from someone else runs no code. A store belongs to one search or study; one that
was begun with other data, settings, criterion or versions is refused. Every entry has a checksum, and a damaged entry
is an error: it is not silently computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
import scipy
import sklearn

from outsample import __version__
from outsample.running.arrays import Array
from outsample.running.progress import Progress, TerminalProgress
from outsample.running.run import NOT_CHOSEN, Run, UnitStore
from outsample.running.workers import results_of

# SQLite files carry the number of the application they belong to in bytes 68–71 of their header
# (https://www.sqlite.org/fileformat.html). A change of the schema needs another number.
APPLICATION = int.from_bytes(b"outs", "big")
_MAGIC, _APPLICATION_AT = b"SQLite format 3\x00", slice(68, 72)

_SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION};
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS units
    (unit TEXT PRIMARY KEY, layout TEXT NOT NULL, numbers BLOB NOT NULL, checksum TEXT NOT NULL);
COMMIT;
"""


# Versions that decide random numbers and the last digits of results; a store written with others is refused.
VERSIONS = {
    "outsample": __version__,
    "python": platform.python_version(),
    "scikit-learn": sklearn.__version__,
    "numpy": np.__version__,
    "scipy": scipy.__version__,
}


StorePath = str | os.PathLike[str] | None


class StoreError(OSError):
    """A store that cannot be read or written, or whose content is damaged."""


class Store:
    """The arrays of finished units in an SQLite file, on disk as soon as `put` returns."""

    def __init__(self, path: StorePath) -> None:
        self.path = _checked_path(path)
        exists = _is_store(self.path)
        try:
            self._connection = sqlite3.connect(self.path, isolation_level=None, timeout=60)
        except sqlite3.Error as error:
            raise ValueError(f"store: {self.path} cannot be used as a store: {error}") from error
        try:
            self._open(exists)
        except BaseException:
            self._connection.close()
            raise

    def _open(self, exists: bool) -> None:
        with self._sqlite_errors("opened"):
            if exists:
                self._check_integrity()
            self._connection.executescript(_SCHEMA)
            self._connection.execute("PRAGMA journal_mode=WAL")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def get(self, unit: str) -> tuple[Array, ...] | None:
        """The arrays of a finished unit, None when it is not finished."""
        with self._sqlite_errors("read"):
            query = "SELECT layout, numbers, checksum FROM units WHERE unit = ?"
            row = self._connection.execute(query, (unit,)).fetchone()
        if row is None:
            return None
        layout, numbers, expected = row
        if not isinstance(numbers, bytes) or checksum(unit, layout, numbers) != expected:
            raise self._damage(f"unit {unit} is not as it was written")
        return _arrays_of(layout, numbers)

    def put(self, unit: str, arrays: Sequence[Array]) -> None:
        """Keep the arrays of a finished unit."""
        layout, numbers = _layout_and_bytes(arrays)
        row = (unit, layout, numbers, checksum(unit, layout, numbers))
        with self._sqlite_errors("written"):
            self._connection.execute("INSERT OR REPLACE INTO units VALUES (?, ?, ?, ?)", row)

    def append(self, series: str, arrays: Sequence[Array]) -> int:
        """Keep arrays as the next entry of a series, 1, 2, …, and return its number.

        No two entries, of whichever processes, get the same number.
        """
        layout, numbers = _layout_and_bytes(arrays)
        with self._sqlite_errors("written"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                number = self._length(series) + 1
                unit = f"{series}/{number}"
                row = (unit, layout, numbers, checksum(unit, layout, numbers))
                self._connection.execute("INSERT INTO units VALUES (?, ?, ?, ?)", row)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
        return number

    def length(self, series: str) -> int:
        """Number of entries of a series."""
        with self._sqlite_errors("read"):
            return self._length(series)

    def _length(self, series: str) -> int:
        query = "SELECT COUNT(*) FROM units WHERE substr(unit, 1, ?) = ?"
        (count,) = self._connection.execute(query, (len(series) + 1, f"{series}/")).fetchone()
        return int(count)

    @contextmanager
    def _sqlite_errors(self, done: str) -> Iterator[None]:
        """Raise errors of SQLite as a StoreError with one sentence that names the store."""
        try:
            yield
        except sqlite3.OperationalError as error:
            message = f"store: {self.path} could not be {done}: {error}; what was finished before is kept"
            raise StoreError(message) from error
        except sqlite3.Error as error:
            raise self._damage(str(error)) from error

    def _damage(self, what: str) -> StoreError:
        return StoreError(f"store: {self.path} is damaged: {what}; remove the file to begin anew")

    def _check_integrity(self) -> None:
        """Raise StoreError for a damaged file: units lost to damage would look like unfinished ones."""
        (found,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise self._damage(found)

    def attach(self, run: Run, facts: Callable[[], dict[str, Any]]) -> Run:
        """The run with this store attached, after checking that the store was begun with the same facts.

        A run without a random state continues with the seed that the store was begun with.
        """
        try:
            found = facts()
        except ValueError as error:
            raise ValueError(f"store: {self.path} cannot be used for this search: {error}") from error
        self.begin(found | {"versions": VERSIONS})
        return replace(run, store=self, seed=self._own_seed(run.seed))

    def begin(self, facts: dict[str, Any]) -> None:
        """Record the facts (values fit for JSON) in a new store; raise ValueError where an old one has other facts."""
        for name, value in facts.items():
            known = self._fact(name, value)
            if known != json.loads(json.dumps(value)):
                raise ValueError(f"store: {self.path} was begun with other {name}; use another file or remove it")

    def _own_seed(self, seed: np.random.SeedSequence) -> np.random.SeedSequence:
        given = {"entropy": str(seed.entropy), "chosen": seed.spawn_key != NOT_CHOSEN}
        known = self._fact("seed", given)
        if known["entropy"] == given["entropy"]:
            return seed
        if given["chosen"] or known["chosen"]:
            raise ValueError(f"store: {self.path} was begun with another random_state; use another file or remove it")
        return np.random.SeedSequence(int(known["entropy"]), spawn_key=NOT_CHOSEN)

    def _fact(self, name: str, value: Any) -> Any:
        """The value recorded under a name; `value` is recorded where there is none yet."""
        text = json.dumps(value)
        with self._sqlite_errors("written"):
            row = (name, text, checksum(name, text))
            self._connection.execute("INSERT OR IGNORE INTO facts VALUES (?, ?, ?)", row)
            query = "SELECT value, checksum FROM facts WHERE name = ?"
            found, expected = self._connection.execute(query, (name,)).fetchone()
        if checksum(name, found) != expected:
            raise self._damage(f"what it says of its {name} is not as it was written")
        return json.loads(found)


def checksum(*texts: str | bytes) -> str:
    """128 bits, in hexadecimal digits, that differ if any of the texts differs."""
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        written = text.encode() if isinstance(text, str) else text
        digest.update(b"%d:" % len(written) + written)
    return digest.hexdigest()


def _checked_path(path: object) -> str:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str) or not os.fspath(path):
        raise ValueError(f"store must be the path of a file or None, got {path!r}")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"store: {path} cannot be used as a store: there is no folder {folder}")
    return os.fspath(path)


def _is_store(path: str) -> bool:
    """Whether there is a store at the path; raises ValueError for a file of another kind, which is not touched."""
    if not os.path.exists(path):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(100)
    except OSError as error:
        raise ValueError(f"store: {path} cannot be used as a store: {error.strerror}") from error
    if head and not head.startswith(_MAGIC):
        raise ValueError(f"store: {path} cannot be used as a store: it is a file of another kind")
    if head and int.from_bytes(head[_APPLICATION_AT], "big") != APPLICATION:
        raise ValueError(f"store: {path} cannot be used as a store: it is the database of another program or version")
    return bool(head)


def _layout_and_bytes(arrays: Sequence[Array]) -> tuple[str, bytes]:
    """(dtypes and shapes as JSON, the numbers of all arrays one after the other)."""
    arrays = [np.asarray(a, order="C") for a in arrays]
    layout = [{"dtype": a.dtype.str, "shape": a.shape} for a in arrays]
    return json.dumps(layout), b"".join(a.tobytes() for a in arrays)


def _arrays_of(layout: str, numbers: bytes) -> tuple[Array, ...]:
    """The arrays that `_layout_and_bytes` wrote; never of objects, whose reading could run code."""
    arrays, start = [], 0
    for entry in json.loads(layout):
        dtype = np.dtype(str(entry["dtype"]))
        if dtype.kind not in "fiub":
            raise StoreError(f"store: unit of dtype {dtype} is not plain numbers")
        count = int(np.prod(entry["shape"], dtype=np.int64))
        flat = np.frombuffer(numbers, dtype, count, start)
        arrays.append(flat.reshape(entry["shape"]).copy())
        start += count * dtype.itemsize
    return tuple(arrays)


Unit = tuple[Array, ...]


class _NamedUnits:
    """Units of a store, by the position of their name in a list."""

    def __init__(self, store: UnitStore, names: Sequence[str]) -> None:
        self._store, self._names = store, names

    def get(self, index: int) -> Unit | None:
        return self._store.get(self._names[index])

    def put(self, index: int, result: Unit) -> None:
        self._store.put(self._names[index], result)


def finished_units(
    function: Callable[..., Unit],
    tasks: Sequence[tuple[Any, ...]],
    names: Sequence[str],
    *,
    facts: dict[str, Any],
    store: StorePath = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Unit]:
    """The arrays of function(*task) for every task, in order; tasks finished in the store are not run again.

    Parameters
    ----------
    function : returns a tuple of arrays of plain numbers.
    names : one per task, unique in the store.
    facts : seed, settings and versions, fit for JSON; a store begun with other facts is refused.
    store : path of an SQLite file, or None to keep nothing.
    n_jobs : workers; None is one per core.
    progress : called with (tasks done, tasks planned); None shows a bar on a terminal after a second.
    """
    workers = joblib.cpu_count() if n_jobs is None else n_jobs
    keeping = nullcontext() if store is None else Store(store)
    with keeping as opened, _reporter(progress) as report:
        if opened is not None:
            opened.begin(facts)
        kept = None if opened is None else _NamedUnits(opened, names)
        results: list[Unit] = []
        for result in results_of(function, tasks, workers, kept, batch_size=1):
            results.append(result)
            report(len(results), len(tasks))
        return results


def _reporter(progress: Progress | None) -> AbstractContextManager[Any]:
    return TerminalProgress("studying") if progress is None else nullcontext(progress)


def common_facts(seed: int, **settings: object) -> dict[str, Any]:
    """Facts that every study has: its seed, its settings, and the versions that decide its random numbers."""
    versions = {"outsample": __version__, "numpy": np.__version__}
    return {"seed": seed, "settings": settings, "versions": versions}
