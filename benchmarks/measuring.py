"""What all benchmarks share: medians taken side by side, and the machine they were taken on."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

Job = Callable[[], object]

PEERS = ("numpy", "scipy", "scikit-learn", "numba", "lightgbm", "xgboost", "catboost")


def side_by_side(jobs: Sequence[Job], repeats: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Median seconds of each job, all of them measured in turn in every repeat."""
    rounds = [[_seconds(job, clock) for job in jobs] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def median_seconds(job: Job, repeats: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median seconds of one job."""
    return side_by_side([job], repeats, clock)[0]


def _seconds(job: Job, clock: Callable[[], float]) -> float:
    start = clock()
    job()
    return clock() - start


def times(slow: float | None, fast: float | None, starred: bool = False) -> str:
    """How many times slower, as a cell of a table; a star where the slow side is partly interpolated."""
    if slow is None or fast is None:
        return "–"
    return f"{float(f'{slow / fast:.3g}'):,.10g} ×{'*' if starred else ''}"


def milliseconds(seconds: float) -> str:
    """A time as a cell of a table."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table and an empty line."""
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def machine() -> str:
    """Processor, cores and versions, in one sentence."""
    versions = ", ".join(f"{name} {number}" for name in PEERS if (number := _version(name)))
    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    if known.exists():
        for line in known.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
