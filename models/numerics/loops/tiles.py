"""Squared distances of a row to the points of a tile, `LANES` at a time, for any processor.

numba vectorizes a sum only where it can reorder it; this operation is written for LLVM, which maps
it to the vectors of the machine. Each sum is added up in the order of columns, so a distance has
the same bits from either end.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 32
"""Points of a tile, of which (n_columns, LANES) values are stored; fewer are padded."""

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


@intrinsic
def add_squares(typing_context: Any, row: Any, tile: Any, start: Any, stop: Any, total: Any) -> Any:
    """Add to `total`, (LANES,), the squared differences in columns start .. stop - 1.

    row : (n_columns,). tile : (n_columns, LANES). All float64 and contiguous.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        own, other, out = (
            context.make_array(signature.args[n])(context, builder, arguments[n]).data
            for n in (0, 1, 4)
        )
        totals = builder.bitcast(out, _VECTOR.as_pointer())
        sums = cgutils.alloca_once(builder, _VECTOR)
        loaded = builder.load(totals)
        loaded.align = 8
        builder.store(loaded, sums)
        one = ir.Constant(_INT64, 1)
        with cgutils.for_range_slice(builder, arguments[2], arguments[3], one) as (column, _):
            value = builder.load(builder.gep(own, [column]))
            nothing = ir.Constant(_VECTOR, ir.Undefined)
            first = builder.insert_element(nothing, value, _INT32(0))
            same = ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES)
            at = builder.gep(other, [builder.mul(column, ir.Constant(_INT64, LANES))])
            points = builder.load(builder.bitcast(at, _VECTOR.as_pointer()))
            points.align = 8
            apart = builder.fsub(builder.shuffle_vector(first, nothing, same), points)
            square = builder.fmul(apart, apart, flags=("contract",))
            builder.store(builder.fadd(builder.load(sums), square, flags=("contract",)), sums)
        builder.store(builder.load(sums), totals).align = 8
        return context.get_dummy_value()

    return types.void(row, tile, types.int64, types.int64, total), generate
