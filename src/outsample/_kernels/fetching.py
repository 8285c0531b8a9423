"""Asking memory for what a kernel needs soon, so that it does not wait for scattered rows one after another."""

from __future__ import annotations

from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from .options import LENT_INNER


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
