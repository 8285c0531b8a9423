"""Labels of several draws side by side in one word, so that one sum counts for all of them.

A word is cut into lanes of equally many bits, one per draw; no lane may count so far that it reaches the next.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .options import LENT_INNER


def lane_bits(most: int) -> int:
    """Bits of a lane that can count up to `most`; 64 divided by them is the number of draws a word holds."""
    return next(bits for bits in (8, 16, 32) if most < 2**bits)


@njit(**LENT_INNER)
def pack(Y, bits, words):
    """Write the labels of each row, 0 or 1 in Y (draws, n) uint8, into the lanes of its word."""
    for draw in range(len(Y)):
        shift, labels = np.uint64(draw * bits), Y[draw]
        for i in range(words.size):
            words[i] = np.uint64(labels[i]) << shift | (words[i] if draw > 0 else np.uint64(0))


@njit(**LENT_INNER)
def lane(word, draw, bits):
    """What one lane of a word counts."""
    return np.int64(word >> np.uint64(draw * bits) & np.uint64((1 << bits) - 1))
