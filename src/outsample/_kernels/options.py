"""What all kernels share: numba's options, counts of several draws in one word, and prefetching.

The first call ever of a kernel compiles it, which takes seconds; a user at a terminal is told so once.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils, event
from numba.extending import intrinsic

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Functions that only kernels call need no wrapper for Python, and compile in half the time without one.
INNER = {**OPTIONS, "no_cpython_wrapper": True}

# Kernels that allocate no arrays need no reference counting. With twenty array arguments it takes longer than a short
# inner function itself, and a tenth of the time to compile.
LENT = {**OPTIONS, "_nrt": False}
LENT_INNER = {**INNER, "_nrt": False}

# Functions with a single caller are inlined before it is compiled, so that they are optimised once. This pays for
# functions that mainly call others: the time to inline grows faster than the length of the function. The functions
# of `trees.values` ran a twentieth slower with it, and do without.
MERGED = {**LENT_INNER, "inline": "always"}

# Sums may be reordered, so that they use vector instructions; infinities keep their meaning.
REGROUPED: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}


class _Compilation(event.Listener):  # type: ignore[misc]
    """Tells a user at a terminal, once per process, that kernels are being compiled; stops the garbage collector.

    The compiler makes millions of objects that it keeps, and collections among them take a tenth of its time.
    """

    def __init__(self) -> None:
        self._said, self._collects, self._depth = False, False, 0

    def on_start(self, event: event.Event) -> None:
        """A function begins to be compiled: a kernel, or one that it calls."""
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        ours = event.data["dispatcher"].py_func.__module__.startswith("outsample._kernels.")
        if ours and not self._said and sys.stderr.isatty():
            self._said = True
            print("outsample: compiling, once on this machine …", file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        """The function is compiled, or could not be."""
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


event.register("numba:compile", _Compilation())


def lane_bits(most: int) -> int:
    """Bits of a lane that can count up to `most`; a word holds 64 / bits lanes, one draw in each."""
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
    """The count in one lane of a word."""
    return np.int64(word >> np.uint64(draw * bits) & np.uint64((1 << bits) - 1))


def _nothing(array, index):
    """Without the compiler nothing is prefetched."""


def _fetch(typing, array, index):
    """Prefetch array[index], a tuple of valid numbers, into the processor's cache; changes no result."""

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
"""Entries of a list of rows between the row that is read and the row that is prefetched."""


@njit(**LENT_INNER)
def fetch_row(table, rows, q, last):
    """Prefetch both ends of the row that is read some steps after rows[q]; `last` is the end of the list.

    Where samples are counted in bins, this makes a search over trees of 2 … 50 leaves with 10 permutations 1.17 times
    faster at 50 000 × 20; at 5000 × 20, where the table fits into the cache, it changes nothing. Prefetching in other
    loops brought less than a twentieth.
    """
    row = rows[min(q + AHEAD, last)]
    fetch(table, (row, 0))
    fetch(table, (row, table.shape[1] - 1))
