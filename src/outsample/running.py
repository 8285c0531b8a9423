"""Running many fits: seeds, workers, and one thread per linear-algebra call.

The answer is the same to the last bit for any number of jobs and any back end: every unit of work has its own
child seed, results come back in order, and the linear algebra inside a unit always runs on one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
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
    """A generator at a fixed address below a seed."""
    return np.random.default_rng(child_seed(seed, *key))


def child_integer(seed: np.random.SeedSequence, *key: int) -> int:
    """A 31-bit integer at a fixed address below a seed, fit for scikit-learn's random_state."""
    return int(child_seed(seed, *key).generate_state(1)[0] >> 1)


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one thread: its rounding depends on the number of threads."""
    with _threadpools().limit(limits=1, user_api="blas"):
        yield


def _unit(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    with one_blas_thread():
        return function(*arguments)


def spread(function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], n_jobs: int | None) -> Iterator[T]:
    """Results of function(*task) in the order of the tasks, over joblib's workers."""
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    return iter(parallel(joblib.delayed(_unit)(function, task) for task in tasks))
