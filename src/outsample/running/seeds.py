"""Seeds: every unit of work has its own, at a fixed address below the root seed of a run.

An address is a spawn key of numpy's SeedSequence. It depends on what is drawn, not on the order of drawing, so that the
numbers are the same for any number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Addresses directly below the root seed of a run. Labels, rows and learners have separate streams, so that a criterion
# sees the same draws whichever other criteria are computed.
LABEL_DRAWS, LEARNER_DRAWS, REAL_FIT, ROW_SPLITS = range(4)

# What a user may pass as random_state: all that scikit-learn takes, and a SeedSequence.
RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """The root seed of a run, from an integer, None, a Generator, a RandomState or a SeedSequence."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31 - 1)))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    raise ValueError(f"random_state must be None, a non-negative integer or a generator, got {random_state!r}")


def child_seed(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """The child of a seed at a fixed address; unlike `spawn`, asking twice gives the same child."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def child_generator(seed: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """A generator started from the child of a seed at a fixed address."""
    return np.random.default_rng(child_seed(seed, *key))


def child_integer(seed: np.random.SeedSequence, *key: int) -> int:
    """A 31-bit integer from the child of a seed at a fixed address; valid as scikit-learn's random_state."""
    return int(child_seed(seed, *key).generate_state(1)[0] >> 1)


class ChildIntegers(Sequence[int]):
    """`child_integer` at several addresses, each computed on demand because most learners use no randomness."""

    def __init__(self, seed: np.random.SeedSequence, branch: int, indices: range) -> None:
        self._seed, self._branch, self._indices = seed, branch, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, position: Any) -> Any:
        return child_integer(self._seed, self._branch, self._indices[position])
