"""Workers: many independent tasks, done in the calling process or by the workers of any joblib back end.

The answer is the same to the last bit for any number of jobs and any back end: every task has its own child seed,
results come back in order, and linear algebra inside a task always runs on one thread.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from typing import Any, Protocol, TypeVar

import joblib

from outsample.checks import number_of_jobs
from outsample.running.fits import count_fits, counted_fits, uncounted_fits
from outsample.running.threads import one_blas_thread

T = TypeVar("T")

RETRIES = 3
SECONDS_BETWEEN_LOOKS, SECONDS_BEFORE_WORK = 0.5, 0.05


class Finished(Protocol):
    """Results of earlier runs in a store, by the position of their task."""

    def get(self, index: int) -> Any | None:
        """The result of a task, None when it is not finished."""

    def put(self, index: int, result: Any) -> None:
        """Keep the result of a task."""


class _SharedFunction:
    """The function of all tasks and the process that started them.

    It pretends to be large, because dask sends large arguments to each worker once and small ones with every task.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.process = function, os.getpid()

    def __sizeof__(self) -> int:
        return 2**20


def _indexed_result(shared: _SharedFunction, index: int, arguments: tuple[Any, ...]) -> tuple[int, Any, float]:
    """(position, result, fits) of one task, in a worker."""
    _end_with(shared.process, os.getpid())
    with one_blas_thread, uncounted_fits(), counted_fits() as spent:
        result = shared.function(*arguments)
    return index, result, spent.parts


@cache
def _end_with(process: int, worker: int) -> None:
    """Make a worker end soon after the process that started it, even if that was killed; set up once per worker.

    Threads and the workers of a cluster, which that process did not start, are left alone.
    """
    parent = multiprocessing.parent_process()
    if os.name == "posix" and parent is not None and parent.pid == process:
        threading.Thread(target=_end_after, args=(process,), daemon=True).start()


def _end_after(process: int) -> None:
    started_by = os.getppid()  # that process, or a fork server that starts workers for it and ends with it
    while os.getppid() == started_by and _is_alive(process):
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def results_of(
    function: Callable[..., T],
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    finished: Finished | None = None,
    batch_size: int | str = "auto",
) -> Iterator[T]:
    """Results of function(*task) in the order of the tasks, computed in place for one job, else by joblib's workers.

    Parameters
    ----------
    finished : where each result is kept as soon as it is there; tasks with a result there are not run again.
    batch_size : joblib's; with 1 no result waits for that of another task.

    When a worker dies, or what hands tasks to workers, the tasks that are lost are run again, up to `RETRIES` times.
    """
    number_of_jobs(n_jobs)
    listed = list(tasks)
    todo = {i: task for i, task in enumerate(listed) if finished is None or finished.get(i) is None}
    ready: dict[int, T] = {}

    alone = len(todo) == 1 or joblib.effective_n_jobs(n_jobs) == 1
    done = _in_place(function, todo) if alone else _by_workers(function, todo, n_jobs, batch_size)
    for following in range(len(listed)):
        # Results come in any order; those of earlier runs are fetched when it is their turn.
        while following in todo and following not in ready:
            index, result = next(done)
            if finished is not None:
                finished.put(index, result)
            ready[index] = result
        yield ready.pop(following) if following in todo else finished.get(following)  # type: ignore[union-attr, misc]


def _in_place(function: Callable[..., T], tasks: dict[int, tuple[Any, ...]]) -> Iterator[tuple[int, T]]:
    """(position, result) of each task, one after the other; a task that works in batches uses threads itself."""
    for index, task in tasks.items():
        # Left before the result is handed on: a caller that raises an error would keep the limit as long as the error.
        with one_blas_thread:
            result = function(*task)
        yield index, result


def _by_workers(
    function: Callable[..., T], tasks: dict[int, tuple[Any, ...]], n_jobs: int | None, batch_size: int | str
) -> Iterator[tuple[int, T]]:
    """(position, result) of each task, in the order in which they end."""
    shared, left = _SharedFunction(function), dict(tasks)
    for attempt in range(RETRIES + 1):
        parallel = _workers(n_jobs, batch_size)
        units = (joblib.delayed(_indexed_result)(shared, i, task) for i, task in left.copy().items())
        lost = threading.Event()
        try:
            with _given_up_when_nobody_works(parallel, lost):
                for index, result, fits in parallel(units):
                    count_fits(fits)
                    del left[index]
                    yield index, result
            return
        except Exception as error:
            given_up = lost.is_set() and isinstance(error, multiprocessing.TimeoutError)
            if attempt == RETRIES or not (given_up or _is_loss_of_worker(error)):
                raise


def _workers(n_jobs: int | None, batch_size: int | str) -> Any:
    """joblib's workers, which return results as they are finished, or all at the end where the back end cannot."""
    try:
        return joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=batch_size)
    except ValueError:
        return joblib.Parallel(n_jobs=n_jobs, batch_size=batch_size)


@contextmanager
def _given_up_when_nobody_works(parallel: Any, lost: threading.Event) -> Iterator[None]:
    """End the wait of `parallel` by a TimeoutError, and set `lost`, once a part is dead that has to hand on results.

    joblib itself would wait for ever.
    """
    over = threading.Event()

    def watch() -> None:
        needed: list[Any] = []
        while not over.wait(SECONDS_BETWEEN_LOOKS if needed else SECONDS_BEFORE_WORK):
            needed = needed or _needed(parallel)
            if not all(part.is_alive() for part in needed):
                for worker in _left_behind(parallel):
                    worker.terminate()
                lost.set()
                parallel.timeout = 0.0
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _needed(parallel: Any) -> list[Any]:
    """The parts of joblib's own back ends that must live for results to come; nothing of others.

    A thread of loky replaces its processes. A pool replaces them, too, but forgets what they were doing.
    """
    manager = getattr(_executor(parallel), "_executor_manager_thread", None)
    pool = getattr(getattr(parallel, "_backend", None), "_pool", None)
    return list(getattr(pool, "_pool", [])) if manager is None else [manager]


def _left_behind(parallel: Any) -> list[Any]:
    """Processes that only the dead thread of loky would have ended."""
    return list(getattr(_executor(parallel), "_processes", {}).values())


def _executor(parallel: Any) -> Any:
    return getattr(getattr(parallel, "_backend", None), "_workers", None)


def _is_loss_of_worker(error: BaseException) -> bool:
    """Whether an error means that a worker died, rather than that a task failed."""
    cluster = type(error).__module__.startswith("distributed")
    return cluster or isinstance(error, CancelledError | BrokenProcessPool)
