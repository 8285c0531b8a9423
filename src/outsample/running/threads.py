"""Threads for compiled kernels that release Python's global lock, and how many of them this process may use.

Threads are kept between calls, because starting one costs about a millisecond. The operating system decides on which
processor they run.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 — named like the one it stands for
        """`functools.cached_property` without its lock.

        Before Python 3.12 that class holds one lock for all objects of a class while it computes. A fit inside may
        start threads that need the same attribute of another object, for example in the estimate of an ensemble of
        searches, and the threads would deadlock. Here, threads that ask at the same moment may each compute the value,
        and all of them get the one that was stored first.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._compute(instance))


S = TypeVar("S")
T = TypeVar("T")

_here = threading.local()
# joblib sets these in its worker processes, so that all workers together have one thread per processor.
_LIMITS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")


def n_threads() -> int:
    """How many threads to use: the smallest of all limits that are set.

    These are the number of processors of this process or its container, NUMBA_NUM_THREADS and OMP_NUM_THREADS,
    `joblib.parallel_config(inner_max_num_threads=…)`, and the limit of OpenMP, which `threadpool_limits` sets.
    """
    inner = getattr(get_active_backend()[0], "inner_max_num_threads", None)
    openmp = [pool.num_threads for pool in thread_pools().lib_controllers if pool.user_api == "openmp"]
    limits = (joblib.cpu_count(), inner, *map(_from_environment, _LIMITS), *openmp)
    return min(int(limit) for limit in limits if limit)


def _from_environment(name: str) -> int | None:
    """The number of threads that an environment variable allows; None where it is not a number."""
    first = os.environ.get(name, "").split(",")[0].strip()
    return int(first) if first.isdecimal() else None


@cache
def thread_pools() -> ThreadpoolController:
    """The thread pools of the BLAS and OpenMP libraries that are loaded."""
    return ThreadpoolController()


class _OneBlasThread:
    """A context in which BLAS runs on one thread, because its rounding depends on the number of threads.

    The limit holds for the whole process. The first to enter sets it and the last to leave lifts it, so that nested
    contexts cost nothing and one thread does not lift the limit while another needs it. Threadpoolctl 3.8 and later
    let one thread alone set limits, and ignore all others until it gives that up; here any thread may be the first or
    the last.
    """

    def __init__(self) -> None:
        self._lock, self._asking = threading.Lock(), 0
        self._limit: Any = None

    def renew_lock(self) -> None:
        """Replace the lock, which a thread of the parent process may have held: that thread does not exist here."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._asking == 0:
                _let_any_thread_set_limits()
                self._limit = thread_pools().limit(limits=1, user_api="blas")
            self._asking += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._asking -= 1
            if self._asking == 0:
                _let_any_thread_set_limits()
                self._limit.restore_original_limits()
                _let_any_thread_set_limits()


def _let_any_thread_set_limits() -> None:
    """Take the right to set limits from the thread that has it."""
    for pool in thread_pools().lib_controllers:
        if hasattr(pool, "clear_controlling_thread"):
            pool.clear_controlling_thread(force=True)


one_blas_thread = _OneBlasThread()


@cache
def _helpers() -> ThreadPoolExecutor:
    """The helper threads beside the calling one, each started when it is first needed."""
    return ThreadPoolExecutor(max(1, int(joblib.cpu_count()) - 1), initializer=_mark_helper)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)
    os.register_at_fork(after_in_child=one_blas_thread.renew_lock)


def _mark_helper() -> None:
    _here.is_helper = True


def _is_helper() -> bool:
    return getattr(_here, "is_helper", False)


def side_by_side(work: Callable[[int], T], threads: int) -> list[T]:
    """[work(0), …, work(threads − 1)]: the first in the calling thread, the others in helper threads beside it.

    Called from a helper thread, it does all of them in that thread: helpers never wait for helpers, so that nested
    calls cannot deadlock.
    """
    if threads == 1 or _is_helper():
        return [work(thread) for thread in range(threads)]
    others = [_helpers().submit(work, thread) for thread in range(1, threads)]
    return [work(0), *(other.result() for other in others)]


def over_slices(work: Callable[[int, int], None], length: int, threads: int) -> None:
    """work(first, last) on nearly equal slices of 0 … length − 1, one per thread."""
    threads = max(1, min(threads, length))
    side_by_side(lambda thread: work(thread * length // threads, (thread + 1) * length // threads), threads)


def in_turn(work: Callable[[S, int], T], tasks: Sequence[S], threads: int) -> list[T]:
    """[work(task, thread) for each task], where a thread that has finished its task takes the next one."""
    return list(in_order(work, tasks, threads))


def in_order(work: Callable[[S, int], T], tasks: Sequence[S], threads: int) -> Iterator[T]:
    """The results of `in_turn`, each handed on as soon as it and all before it are there.

    Where the caller stops early, no further task is begun. The first error of a task is raised once no thread works
    any more.
    """
    waiting, done = deque(enumerate(tasks)), dict[int, T]()
    handed_on = 0

    def take_one(thread: int) -> bool:
        try:
            k, task = waiting.popleft()
        except IndexError:
            return False
        done[k] = work(task, thread)
        return True

    def do_all(thread: int) -> None:
        while take_one(thread):
            pass

    alone = threads == 1 or _is_helper()
    others = [] if alone else [_helpers().submit(do_all, thread) for thread in range(1, min(threads, len(tasks)))]
    try:
        while take_one(0):
            while handed_on in done:
                yield done.pop(handed_on)
                handed_on += 1
    finally:
        waiting.clear()
        for other in others:
            other.result()
    for k in range(handed_on, len(tasks)):
        yield done.pop(k)
