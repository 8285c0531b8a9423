"""Array types for signatures, and slices of large arrays that fit the processor's cache.

A computation of several steps on an array of models × rows reads and writes the whole array once per step. Done for a
few models at a time, all steps but the first find their numbers in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rows = NDArray[np.intp]
Bools = NDArray[np.bool_]

# One mebibyte of doubles: within the second-level cache of current processors.
NUMBERS_AT_ONCE = 2**17


def chunks(array: Array) -> Iterator[slice]:
    """Slices of the first axis, each of about `NUMBERS_AT_ONCE` numbers and at least one entry."""
    length = len(array)
    step = max(1, NUMBERS_AT_ONCE * length // max(1, array.size))
    return (slice(start, start + step) for start in range(0, length, step))


def sums_of_others(parts: Sequence[Any]) -> list[Any]:
    """For each of two or more parts, what adds up, the sum of all others; nothing is subtracted, no digits are lost."""
    before = list(accumulate(parts, add))[:-1]
    after = list(accumulate(reversed(parts), add))[-2::-1]
    both = [one + other for one, other in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *both, before[-1]]
