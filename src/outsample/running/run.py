"""A run: the randomness, the workers, the memory and the store that one call works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from outsample.running.arrays import Array
from outsample.running.progress import Progress, silent
from outsample.running.seeds import RandomState, seed_sequence

MEMORY_BUDGET = 512 * 2**20


class UnitStore(Protocol):
    """Keeps arrays under names, on disk."""

    def get(self, unit: str) -> tuple[Array, ...] | None:
        """The arrays kept under a name, None when there are none."""

    def put(self, unit: str, arrays: Sequence[Array]) -> None:
        """Keep arrays under a name."""


@dataclass(frozen=True, eq=False)
class Run:
    """How one call works. Of these settings only the seed changes the answer.

    Attributes
    ----------
    seed : root of all randomness. Every draw has a fixed address below it (see `running.seeds`), so that all criteria,
        paths and workers see the same draws.
    n_jobs : joblib workers, for work that is not done in batches.
    memory : bytes that the predictions of one batch of draws may take.
    progress : called with (fits done, fits planned).
    store : where finished units of work are kept; None keeps nothing.
    """

    seed: np.random.SeedSequence
    n_jobs: int | None = None
    memory: int = MEMORY_BUDGET
    progress: Progress = silent
    store: UnitStore | None = None


def as_run(random_state: RandomState = None, n_jobs: int | None = None, progress: Progress = silent) -> Run:
    """The run of a public call, after checking its arguments."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    return Run(seed_sequence(random_state), n_jobs, progress=progress)


@dataclass(frozen=True)
class StoredUnits:
    """The finished units of one kind of work (`stream`) in a store, by position: each an array or a tuple of arrays."""

    store: UnitStore
    stream: str

    def get(self, index: int) -> Any | None:
        """The result at a position, None when it is not finished."""
        arrays = self.store.get(f"{self.stream}/{index}")
        if arrays is None:
            return None
        return arrays[0] if len(arrays) == 1 else arrays

    def put(self, index: int, result: Array | tuple[Array, ...]) -> None:
        """Keep the result at a position."""
        self.store.put(f"{self.stream}/{index}", result if isinstance(result, tuple) else (result,))
