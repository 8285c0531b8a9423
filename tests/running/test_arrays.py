"""Chunks cover an array once, in order, and keep to their size."""

import numpy as np
import pytest

from outsample.running.arrays import NUMBERS_AT_ONCE, chunks


@pytest.mark.parametrize("shape", [(1, 5), (100, 20_000), (7, 3 * NUMBERS_AT_ONCE), (5000, 3, 2), (3, 0), (0, 4)])
def test_every_entry_is_in_one_chunk(shape):
    array = np.empty(shape, np.int8)
    parts = list(chunks(array))
    assert [i for part in parts for i in range(shape[0])[part]] == list(range(shape[0]))
    assert all(array[part].size <= max(NUMBERS_AT_ONCE, array[:1].size) for part in parts)


def test_small_arrays_are_taken_whole():
    assert len(list(chunks(np.empty((50, 300))))) == 1
