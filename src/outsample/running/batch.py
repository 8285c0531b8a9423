"""The units of a study: run by workers, each written to a store as soon as it is finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import joblib
import numpy as np

from outsample import __version__
from outsample.running.arrays import Array
from outsample.running.progress import Progress, TerminalProgress
from outsample.running.run import UnitStore
from outsample.running.store import Store, StorePath
from outsample.running.workers import results_of

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
    threads: bool = False,
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
    threads : use threads instead of processes, for functions that spend their time in compiled code.
    progress : called with (tasks done, tasks planned); None shows a bar on a terminal after a second.
    """
    workers = joblib.cpu_count() if n_jobs is None else n_jobs
    back_end: AbstractContextManager[Any] = joblib.parallel_config(backend="threading") if threads else nullcontext()
    keeping = nullcontext() if store is None else Store(store)
    with keeping as opened, _reporter(progress) as report, back_end:
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
