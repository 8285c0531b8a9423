"""Threads for kernels that release Python's lock, and how many of them this process may use.

Threads are kept between calls, because starting one costs a millisecond. They run wherever the system puts them.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 — named like the one it stands for
        """A method whose result becomes an attribute of the object at first use, computed without holding a lock.

        Before Python 3.12 `functools.cached_property` holds one lock for all objects of a class while it computes. A
        fit that runs inside may start threads that need the same attribute of another object, as where an estimate
        judges an ensemble of searches: they would wait for each other for ever. Here threads that ask at the same
        moment may each compute it, and all of them get the result that was ready first.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._compute(instance))


_here = threading.local()
# joblib sets them in its worker processes, so that all workers together use every processor once.
_LIMITS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")


def n_threads() -> int:
    """How many threads to use: no more than anyone who may say so allows.

    These are the processors of this process or its container, NUMBA_NUM_THREADS and OMP_NUM_THREADS,
    `joblib.parallel_config(inner_max_num_threads=…)`, and the limit of OpenMP, which `threadpool_limits` sets.
    """
    inner = getattr(get_active_backend()[0], "inner_max_num_threads", None)
    openmp = [pool.num_threads for pool in thread_pools().lib_controllers if pool.user_api == "openmp"]
    told = (joblib.cpu_count(), inner, *map(_from_environment, _LIMITS), *openmp)
    return min(int(limit) for limit in told if limit)


def _from_environment(name: str) -> int | None:
    """The number of threads an environment variable allows; None where it does not say."""
    first = os.environ.get(name, "").split(",")[0].strip()
    return int(first) if first.isdecimal() else None


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
    """The threads beside the calling one, each started when it is first needed."""
    return ThreadPoolExecutor(max(1, int(joblib.cpu_count()) - 1), initializer=_mark_helper)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)
    os.register_at_fork(after_in_child=one_blas_thread.forked)


def _mark_helper() -> None:
    _here.is_helper = True


def _is_helper() -> bool:
    return getattr(_here, "is_helper", False)


def side_by_side(work: Callable[[int], Any], parts: int) -> list[Any]:
    """[work(0), …, work(parts − 1)]; the first in the calling thread, the others in threads beside it.

    Work that itself asks for threads does its parts one after the other: helpers never wait for helpers.
    """
    if parts == 1 or _is_helper():
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


def in_stages(
    prepare: Callable[[range], Sequence[Any]], work: Callable[[Any, int], Any], blocks: Sequence[range], parts: int
) -> Iterator[Any]:
    """[work(task, part) for each task], handed on in order while others are still done.

    `blocks` cut the numbers of all tasks, from 0 on, into ranges; prepare(block) gives the tasks of one. Whichever
    thread is free takes the next task, or prepares a block when few tasks are left.
    """
    stages = _Stages(prepare, work, blocks, parts)
    alone = parts == 1 or _is_helper()
    others = [] if alone else [_helpers().submit(stages.take_turns, part) for part in range(1, parts)]
    try:
        while stages.step(0):
            yield from stages.results()
    finally:
        stages.stop()
        for other in others:
            other.result()
    yield from stages.results()


class _Stages:
    """What the threads of `in_stages` share: blocks to prepare, tasks to do, results to hand on."""

    def __init__(
        self,
        prepare: Callable[[range], Sequence[Any]],
        work: Callable[[Any, int], Any],
        blocks: Sequence[range],
        parts: int,
    ) -> None:
        self._prepare, self._work, self._few = prepare, work, parts
        self._blocks, self._tasks = deque(blocks), deque[tuple[int, Any]]()
        self._done: dict[int, Any] = {}
        self._preparing, self._handed_on, self._stopped = 0, 0, False
        self._changed = threading.Condition()

    def step(self, part: int) -> bool:
        """Prepare a block or do a task; False when nothing is left to begin."""
        block = task = None
        with self._changed:
            self._changed.wait_for(lambda: self._blocks or self._tasks or not self._preparing)
            if self._blocks and len(self._tasks) < self._few:
                block = self._blocks.popleft()
                self._preparing += 1
            elif self._tasks:
                task = self._tasks.popleft()
        if block is not None:
            self._prepare_block(block)
        elif task is not None:
            self._done[task[0]] = self._work(task[1], part)
        return block is not None or task is not None

    def _prepare_block(self, block: range) -> None:
        tasks: Sequence[Any] = ()
        try:
            tasks = self._prepare(block)
        finally:
            with self._changed:
                if not self._stopped:
                    self._tasks.extend(zip(block, tasks, strict=False))
                self._preparing -= 1
                self._changed.notify_all()

    def take_turns(self, part: int) -> None:
        """Work until nothing is left."""
        while self.step(part):
            pass

    def stop(self) -> None:
        """Begin nothing more."""
        with self._changed:
            self._stopped = True
            self._blocks.clear()
            self._tasks.clear()

    def results(self) -> Iterator[Any]:
        """What is done and next in order."""
        while self._handed_on in self._done:
            yield self._done.pop(self._handed_on)
            self._handed_on += 1
