"""Distances of a row to the points of a tile, all at a time, written for LLVM.

numba vectorizes a sum only where it can reorder it. Each sum is added up in the order of columns,
so a distance has the same bits from either end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.simd.loops.constants import POINTS
from models.simd.loops.vectors.building import DOUBLE, INT64, repeated

_VECTOR = ir.VectorType(DOUBLE, POINTS)

Step: TypeAlias = Callable[[Any, Any, Any, Any], Any]
"""(builder, sums, row value and points of one column, each in all lanes) -> new sums."""


def _over_columns(step: Step) -> Any:
    """An intrinsic (row, tile, start, stop, total) that takes `total`, (POINTS,), through columns
    start .. stop - 1 by `step`.

    row : (n_columns,). tile : (n_columns, POINTS). All float64 and contiguous.
    """

    def over_columns(
        typing_context: Any, row: Any, tile: Any, start: Any, stop: Any, total: Any
    ) -> Any:
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
            one = ir.Constant(INT64, 1)
            with cgutils.for_range_slice(builder, arguments[2], arguments[3], one) as (column, _):
                value = builder.load(builder.gep(own, [column]))
                at = builder.gep(other, [builder.mul(column, ir.Constant(INT64, POINTS))])
                points = builder.load(builder.bitcast(at, _VECTOR.as_pointer()))
                points.align = 8
                values = repeated(builder, value, POINTS)
                builder.store(step(builder, builder.load(sums), values, points), sums)
            builder.store(builder.load(sums), totals).align = 8
            return context.get_dummy_value()

        return types.void(row, tile, types.int64, types.int64, total), generate

    return intrinsic(over_columns)


def _magnitude(builder: Any, values: Any) -> Any:
    bits = ir.VectorType(INT64, POINTS)
    but_the_sign = ir.Constant(bits, [(1 << 63) - 1] * POINTS)
    return builder.bitcast(builder.and_(builder.bitcast(values, bits), but_the_sign), _VECTOR)


def _square(builder: Any, sums: Any, values: Any, points: Any) -> Any:
    apart = builder.fsub(values, points)
    square = builder.fmul(apart, apart, flags=("contract",))
    return builder.fadd(sums, square, flags=("contract",))


def _difference(builder: Any, sums: Any, values: Any, points: Any) -> Any:
    return builder.fadd(sums, _magnitude(builder, builder.fsub(values, points)))


def _largest(builder: Any, sums: Any, values: Any, points: Any) -> Any:
    apart = _magnitude(builder, builder.fsub(values, points))
    return builder.select(builder.fcmp_ordered(">", apart, sums), apart, sums)


def _share(builder: Any, sums: Any, values: Any, points: Any) -> Any:
    apart = _magnitude(builder, builder.fsub(values, points))
    whole = builder.fadd(_magnitude(builder, values), _magnitude(builder, points))
    zeros = ir.Constant(_VECTOR, [0.0] * POINTS)
    share = builder.fdiv(apart, whole)
    return builder.fadd(
        sums, builder.select(builder.fcmp_ordered("==", apart, zeros), zeros, share)
    )


add_squares = _over_columns(_square)
add_differences = _over_columns(_difference)
take_largest = _over_columns(_largest)
add_shares = _over_columns(_share)
"""Squared differences and differences are added up; the largest difference is taken; differences
over the sum of both magnitudes are added up, where nothing differs 0."""
