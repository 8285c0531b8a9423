"""Large arrays a few leading entries at a time.

What is computed from an array of models × rows in several steps is read and written once per step. Taken a few models
at a time, all but the first step find their numbers in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

NUMBERS_AT_ONCE = 2**17


def chunks(array: NDArray[Any]) -> Iterator[slice]:
    """Slices of the first axis that hold about `NUMBERS_AT_ONCE` numbers each, at least one entry."""
    length = len(array)
    step = max(1, NUMBERS_AT_ONCE * length // max(1, array.size))
    return (slice(start, start + step) for start in range(0, length, step))
