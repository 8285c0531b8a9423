"""Threads that are kept between calls and wake on another processor than their caller's.

A processor of a virtual machine that has nothing to do is taken away by the host, and looks busy to the kernel from
then on. A thread that slept for long is therefore woken on the processor of whoever wakes it, and the two share it for
ten milliseconds or more before one of them is moved: longer than many a search takes.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

# Seconds after which a thread that does nothing may be woken on the wrong processor.
_LONG = 0.005


class Crew:
    """Some threads beside the calling one.

    Before they are woken after a while, the caller's processor is closed to them; as soon as they are awake, they may
    use it again. Where the system has no such means, they wake where it likes.
    """

    def __init__(self, n_threads: int, greet: Callable[[], None]) -> None:
        self._greet, self._pool = greet, ThreadPoolExecutor(n_threads, initializer=self._enter)
        self._members: list[int] = []
        self._kept_away: dict[int, set[int]] = {}
        self._lock, self._last_active = threading.Lock(), -_LONG

    def start(self, work: Callable[[int], Any], parts: range) -> list[Future[Any]]:
        """Begin work(part) for each part, and let the caller go on."""
        if time.monotonic() - self._last_active > _LONG:
            self._keep_away_from(_processor())
        return [self._pool.submit(self._done, work, part) for part in parts]

    def _enter(self) -> None:
        self._members.append(threading.get_native_id())
        self._greet()

    def _keep_away_from(self, processor: int | None) -> None:
        """Close a processor to sleeping threads."""
        if processor is None:
            return
        with self._lock, suppress(OSError):
            for member in self._members:
                allowed = self._kept_away.get(member) or os.sched_getaffinity(member)
                if others := allowed - {processor}:
                    self._kept_away[member] = allowed
                    os.sched_setaffinity(member, others)

    def _done(self, work: Callable[[int], Any], part: int) -> Any:
        """The work of one part, done by a thread that may use every processor it could use before."""
        with self._lock, suppress(OSError):
            if allowed := self._kept_away.pop(threading.get_native_id(), None):
                os.sched_setaffinity(0, allowed)
        try:
            return work(part)
        finally:
            self._last_active = time.monotonic()


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
