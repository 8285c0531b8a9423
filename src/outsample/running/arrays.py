"""Arrays: the kinds that signatures name, and how large ones are worked through.

What is computed from an array of models × rows in several steps is read and written once per step. Taken a few models
at a time, all but the first step find their numbers in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rows = NDArray[np.intp]
Bools = NDArray[np.bool_]

NUMBERS_AT_ONCE = 2**17


def chunks(array: Array) -> Iterator[slice]:
    """Slices of the first axis that hold about `NUMBERS_AT_ONCE` numbers each, at least one entry."""
    length = len(array)
    step = max(1, NUMBERS_AT_ONCE * length // max(1, array.size))
    return (slice(start, start + step) for start in range(0, length, step))
