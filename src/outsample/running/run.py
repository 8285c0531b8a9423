"""A run: the seeds, the workers, the memory, the progress and the store that one call works with.

Every unit of work has its own seed, at a fixed address below the root seed of its run, so that the answer is the same
for any number of workers and any order of work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from outsample.checks import number_of_jobs
from outsample.running.arrays import Array
from outsample.running.kept_fits import KeptFits
from outsample.running.progress import Progress, silent

MEMORY_BUDGET = 512 * 2**20


# Addresses directly below the root seed of a run. Labels, rows and learners have separate streams, so that a criterion
# sees the same draws whichever other criteria are computed.
LABEL_DRAWS, LEARNER_DRAWS, REAL_FIT, ROW_SPLITS = range(4)


# What a user may pass as random_state: all that scikit-learn takes, and a SeedSequence.
RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None

# Address of a root seed that nobody chose. Learners are seeded below it, and differ from run to run as scikit-learn's
# do; rows and labels are drawn below the root 0, so that folds are the same from run to run as scikit-learn's are.
NOT_CHOSEN = (2**32 - 1,)


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """The root seed of a run, from an integer, None, a Generator, a RandomState or a SeedSequence."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if random_state is None:
        return np.random.SeedSequence(spawn_key=NOT_CHOSEN)
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31 - 1)))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    raise ValueError(f"random_state must be None, a non-negative integer or a generator, got {random_state!r}")


def child_seed(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """The seed of draws of rows or labels at a fixed address; unlike `spawn`, asking twice gives the same child."""
    return _child(np.random.SeedSequence(0) if seed.spawn_key == NOT_CHOSEN else seed, key)


def child_generator(seed: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """A generator of such draws."""
    return np.random.default_rng(child_seed(seed, *key))


def splitter_seed(seed: np.random.SeedSequence, *key: int) -> int:
    """The same as a 31-bit integer, for scikit-learn's splitters."""
    return _as_integer(child_seed(seed, *key))


def child_integer(seed: np.random.SeedSequence, *key: int) -> int:
    """The random state of a learner, a 31-bit integer from the child of a seed at a fixed address."""
    return _as_integer(_child(seed, key))


def _child(seed: np.random.SeedSequence, key: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def _as_integer(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1)[0] >> 1)


class ChildIntegers(Sequence[int]):
    """`child_integer` at several addresses, each computed on demand because most learners use no randomness."""

    def __init__(self, seed: np.random.SeedSequence, branch: int, indices: range) -> None:
        self._seed, self._branch, self._indices = seed, branch, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, position: Any) -> Any:
        return child_integer(self._seed, self._branch, self._indices[position])


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
    seed : root of all randomness. Every draw has a fixed address below it (see `child_seed`), so that all criteria,
        paths and workers see the same draws; without a random state rows and labels are always drawn in the same way.
    n_jobs : joblib workers, for work that is not done in batches.
    memory : bytes that the predictions of one batch of draws may take.
    progress : called with (fits done, fits planned).
    store : where finished units of work are kept; None keeps nothing.
    fits : models fitted to all rows on the way.
    """

    seed: np.random.SeedSequence
    n_jobs: int | None = None
    memory: int = MEMORY_BUDGET
    progress: Progress = silent
    store: UnitStore | None = None
    fits: KeptFits = field(default_factory=KeptFits)


def as_run(random_state: RandomState = None, n_jobs: int | None = None, progress: Progress = silent) -> Run:
    """The run of a public call, after checking its arguments."""
    number_of_jobs(n_jobs)
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
