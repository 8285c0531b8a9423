"""Threads that are kept between calls, and stay apart from their caller while both work.

A processor of a virtual machine that has nothing to do for a moment is taken away by the host, and looks busy to the
kernel from then on. A thread that waited is therefore woken on the processor of whoever wakes it, and the two share it
for ten milliseconds or more before one of them is moved: longer than many a search takes.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any


class Crew:
    """Some threads beside the calling one.

    While they work together, the caller stays on its processor and the others leave it alone; afterwards all of them
    may use the same processors as before. Where the system has no such means, they run where it likes.
    """

    def __init__(self, n_threads: int, greet: Callable[[], None]) -> None:
        self._greet, self._pool = greet, ThreadPoolExecutor(n_threads, initializer=self._enter)
        self._n_threads, self._members = n_threads, list[int]()
        self._in_use = threading.Lock()

    def _enter(self) -> None:
        self._members.append(threading.get_native_id())
        self._greet()

    def start(self, work: Callable[[int], Any], parts: range) -> list[Future[Any]]:
        """Begin work(part) for each part, and let the caller go on."""
        return [self._pool.submit(work, part) for part in parts]

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep the calling thread on its processor and all others away from it.

        Of several callers at a time only the first has this, and nobody as long as there are threads to be made: they
        would begin with what their caller may use.
        """
        if len(self._members) < self._n_threads or not self._in_use.acquire(blocking=False):
            yield
            return
        before: dict[int, set[int]] = {}
        try:
            if (here := _processor()) is not None:
                with suppress(OSError):
                    self._separate(here, before)
            yield
        finally:
            for thread, allowed in before.items():
                with suppress(OSError):
                    os.sched_setaffinity(thread, allowed)
            self._in_use.release()

    def _separate(self, here: int, before: dict[int, set[int]]) -> None:
        """Close processors to threads; `before` gets those each could use."""
        caller = threading.get_native_id()
        for thread in (caller, *self._members):
            allowed = os.sched_getaffinity(thread)
            if chosen := {here} if thread == caller else allowed - {here}:
                before[thread] = allowed
                os.sched_setaffinity(thread, chosen)


def _find_processor() -> Callable[[], int] | None:
    """The system's function that tells where the calling thread runs; None where there is none."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    with suppress(OSError, AttributeError):
        return ctypes.CDLL(None).sched_getcpu
    return None


_where = _find_processor()


def _processor() -> int | None:
    """The processor the calling thread runs on; None where nobody knows."""
    number = _where() if _where is not None else -1
    return number if number >= 0 else None
