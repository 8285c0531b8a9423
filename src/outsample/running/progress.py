"""Progress of long work: how many of the planned fits are done. Loads nothing that `--help` would wait for."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

SECONDS_BEFORE_SHOWN = 1.0


class Progress(Protocol):
    """A function that is told how far the work is."""

    def __call__(self, done: int, planned: int) -> None:
        """`done` of `planned` learner fits are finished."""


class TerminalProgress:
    """A progress bar on standard error, shown once the work takes longer than a second and only on a terminal."""

    def __init__(self, label: str, always: bool = False) -> None:
        self._label, self._always = label, always
        self._started = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, done: int, planned: int) -> None:
        waited = time.perf_counter() - self._started
        long = done < planned and waited > SECONDS_BEFORE_SHOWN and sys.stderr.isatty()
        if self._bar is None and (self._always or long):
            self._open(planned)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=planned)

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _open(self, planned: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("fits"),
            TimeRemainingColumn(),
        )
        # Text also in notebooks, where rich would look for a package of widgets.
        console = Console(stderr=True, force_jupyter=False)
        self._bar = RichProgress(*columns, console=console, transient=True)
        self._task = self._bar.add_task(self._label, total=planned)
        self._bar.start()


def silent(done: int, planned: int) -> None:
    """Progress that is not shown."""
