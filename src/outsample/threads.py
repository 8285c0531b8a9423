"""Threads for kernels that release the lock: kept between calls, because starting one costs a millisecond."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController

_here = threading.local()


@cache
def n_threads() -> int:
    """Processors this process may use."""
    return int(joblib.cpu_count())


@cache
def thread_pools() -> ThreadpoolController:
    """The thread pools of the linear algebra and OpenMP libraries loaded by now."""
    return ThreadpoolController()


class _OneBlasThread:
    """Linear algebra on one thread as long as anyone asks for it: its rounding depends on the number of threads.

    The limit holds for the whole process. Whoever asks first sets it and whoever is last to leave lifts it, so that
    asking again inside costs nothing and one thread does not lift it for another.
    """

    def __init__(self) -> None:
        self._lock, self._asking = threading.Lock(), 0
        self._limit: Any = None

    def forked(self) -> None:
        """Forget whoever held the lock in the parent process: that thread does not exist here."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._asking == 0:
                self._limit = thread_pools().limit(limits=1, user_api="blas")
            self._asking += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._asking -= 1
            if self._asking == 0:
                self._limit.restore_original_limits()


one_blas_thread = _OneBlasThread()


@cache
def _helpers() -> ThreadPoolExecutor:
    """The threads beside the calling one."""
    return ThreadPoolExecutor(max(1, n_threads() - 1), initializer=_mark_helper)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)
    os.register_at_fork(after_in_child=one_blas_thread.forked)


def _mark_helper() -> None:
    _here.is_helper = True


def side_by_side(work: Callable[[int], Any], parts: int) -> list[Any]:
    """[work(0), …, work(parts − 1)]; the first in the calling thread, the others in threads beside it.

    Work that itself asks for threads does its parts one after the other: helpers never wait for helpers.
    """
    if parts == 1 or getattr(_here, "is_helper", False):
        return [work(part) for part in range(parts)]
    others = [_helpers().submit(work, part) for part in range(1, parts)]
    return [work(0), *(other.result() for other in others)]


def over_slices(work: Callable[[int, int], None], length: int, parts: int) -> None:
    """work(first, last) on `parts` nearly equal slices of 0 … length − 1, side by side."""
    parts = max(1, min(parts, length))
    side_by_side(lambda part: work(part * length // parts, (part + 1) * length // parts), parts)


def in_turn(work: Callable[[Any, int], Any], tasks: Any, parts: int) -> list[Any]:
    """[work(task, part) for each task]: whichever thread has done its task takes the next one."""
    results: list[Any] = [None] * len(tasks)
    waiting, lock = iter(range(len(tasks))), threading.Lock()

    def next_task() -> int | None:
        with lock:
            return next(waiting, None)

    def take_turns(part: int) -> None:
        while (k := next_task()) is not None:
            results[k] = work(tasks[k], part)

    side_by_side(take_turns, max(1, min(parts, len(tasks))))
    return results
