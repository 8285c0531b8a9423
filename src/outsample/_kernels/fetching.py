"""Asking memory for what a kernel needs soon, so that it does not wait for scattered rows one after another."""

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic


def _nothing(array, row, column):
    """Without the compiler nothing is asked for."""


def _fetch(typing, array, row, column):
    """Ask memory for array[row, column]; changes no result. Indices must be valid."""

    def generate(context, builder, signature, arguments):
        of_array = signature.args[0]
        indices = [
            context.cast(builder, index, of_index, types.intp)
            for index, of_index in zip(arguments[1:], signature.args[1:], strict=True)
        ]
        data = context.make_array(of_array)(context, builder, arguments[0])
        item = cgutils.get_item_pointer(context, builder, of_array, data, indices)
        address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [address], ir.FunctionType(ir.VoidType(), [address, number, number, number])
        )
        to_read, keep, of_data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(prefetch, [builder.bitcast(item, address), to_read, keep, of_data])
        return context.get_dummy_value()

    return types.none(array, row, column), generate


fetch = _nothing if config.DISABLE_JIT else intrinsic(_fetch)

ROWS_AHEAD = 8
"""So many rows before it is needed, a row is asked for."""
