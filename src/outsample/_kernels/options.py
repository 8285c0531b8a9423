"""Numba's options: one set for kernels, one for those that make no arrays; inner functions of either."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Functions that only kernels call need no wrapper for Python either: they compile in half the time.
INNER = {**OPTIONS, "no_cpython_wrapper": True}

# Kernels that make no arrays need not count who holds those they are lent: with twenty of them a call to an inner
# function would count longer than it works, and counting is a tenth of the time to compile.
LENT = {**OPTIONS, "_nrt": False}
LENT_INNER = {**INNER, "_nrt": False}

# Functions with a single caller become part of it before it is compiled, so that they are optimised once. That pays for
# those which mainly call others: the time to merge a function grows faster than its length. Kernels of real values run
# a twentieth slower with it, and do without.
MERGED = {**LENT_INNER, "inline": "always"}

# Sums may be regrouped so that they use vector registers; infinities keep their meaning.
REGROUPED: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}


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


def _nothing(array, index):
    """Without the compiler nothing is asked for."""


def _fetch(typing, array, index):
    """Ask memory for array[index], a tuple of valid numbers; changes no result."""

    def generate(context, builder, signature, arguments):
        of_array, of_index = signature.args
        given = cgutils.unpack_tuple(builder, arguments[1])
        indices = [context.cast(builder, one, kind, types.intp) for one, kind in zip(given, of_index, strict=True)]
        data = context.make_array(of_array)(context, builder, arguments[0])
        item = cgutils.get_item_pointer(context, builder, of_array, data, indices)
        address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [address], ir.FunctionType(ir.VoidType(), [address, number, number, number])
        )
        to_read, keep, of_data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(prefetch, [builder.bitcast(item, address), to_read, keep, of_data])
        return context.get_dummy_value()

    return types.none(array, index), generate


fetch = _nothing if config.DISABLE_JIT else intrinsic(_fetch)

AHEAD = 16
"""So many steps before it is needed, something is asked for."""

ENTRIES_PER_LINE = 16
"""Entries of four bytes that memory hands out at once."""


@njit(**LENT_INNER)
def fetch_row(table, rows, q, end):
    """Ask memory for both ends of the row that is needed some steps after rows[q]; the list ends before `end`."""
    row = rows[min(q + AHEAD, end - 1)]
    fetch(table, (row, 0))
    fetch(table, (row, table.shape[1] - 1))
