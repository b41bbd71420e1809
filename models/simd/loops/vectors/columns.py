"""The operations on several rows or points side by side, written for LLVM.

A block of R rows is given as its columns, (K, R): number c of each row in line c. So a row of few
classes costs no more for each of its numbers than a long one does. R is 8 for float32 and float16,
4 for float64.

Distances of a row to the points of a tile are found all at a time. numba vectorizes a sum only
where it can reorder it. Each sum is added up in the order of columns, so a distance has the same
bits from either end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.simd.loops.constants import POINTS, SIDE_BY_SIDE, SLOTS
from models.simd.loops.vectors.building import (
    DOUBLE,
    FLOAT,
    INT16,
    INT32,
    INT64,
    exp64,
    power_of_two,
    repeated,
    widened,
)

_KINDS = {
    types.uint16: (INT16, FLOAT, INT32),
    types.float32: (FLOAT, FLOAT, INT32),
    types.float64: (DOUBLE, DOUBLE, INT64),
}
"""The type stored, the float that it becomes, and an integer of that size."""


class _Columns:
    """(K, R) numbers as K vectors; float16 numbers are given as their bits."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self.stored, self.real, self.word = _KINDS[kind.dtype]
        self.lanes = SIDE_BY_SIDE[kind.dtype]
        self.reals = ir.VectorType(self.real, self.lanes)
        self.words = ir.VectorType(self.word, self.lanes)
        self._array = context.make_array(kind)(context, builder, value)
        self.n = builder.extract_value(self._array.shape, 0)
        self._context, self._builder = context, builder

    def line(self, i: Any) -> Any:
        """The numbers of column i of each row."""
        value = _line(self._builder, self._array, i, ir.VectorType(self.stored, self.lanes))
        if self.stored == self.real:
            return value
        return widened(self._context, self._builder, value)

    def key(self, value: Any) -> Any:
        """Integers in the order of floats, a vector or one: -0 as 0, NaN outside of the others."""
        zero = ir.Constant(value.type, [0.0] * self.lanes if self._many(value) else 0.0)
        words = self.words if self._many(value) else self.word
        return self._turned(self._builder.bitcast(self._builder.fadd(value, zero), words))

    def value(self, key: Any) -> Any:
        """The floats of `key`."""
        return self._builder.bitcast(self._turned(key), self.reals)

    def _many(self, value: Any) -> bool:
        return isinstance(value.type, ir.VectorType)

    def _turned(self, word: Any) -> Any:
        bits = self.word.width

        def constant(value: int) -> Any:
            return ir.Constant(word.type, [value] * self.lanes if self._many(word) else value)

        sign = self._builder.ashr(word, constant(bits - 1))
        return self._builder.xor(word, self._builder.and_(sign, constant((1 << bits - 1) - 1)))


def _line(builder: Any, array: Any, i: Any, kind: Any) -> Any:
    value = builder.load(_place(builder, array, i, kind))
    value.align = 2
    return value


def _place(builder: Any, array: Any, i: Any, kind: Any) -> Any:
    i = i if isinstance(i, ir.Value) else INT64(i)
    at = builder.gep(array.data, [builder.mul(i, ir.Constant(i.type, kind.count))])
    return builder.bitcast(at, kind.as_pointer())


def _store(builder: Any, array: Any, i: Any, value: Any) -> None:
    builder.store(value, _place(builder, array, i, value.type)).align = 4


@intrinsic
def best(
    typing_context: Any, columns: Any, lowest: Any, highest: Any, value: Any, place: Any
) -> Any:
    """Fill value and place, (SLOTS, R), with the best numbers of each row and their columns, best
    first, of equals the first.

    place : int32. With fewer columns than SLOTS the last lines are NaN and 0.
    Bit i of the result says whether all numbers of row i are in [lowest, highest].
    """
    real = types.float64 if columns.dtype == types.float64 else types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = _Columns(context, builder, signature.args[0], arguments[0])
        out, out_place = (
            context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (3, 4)
        )
        n, words = block.lanes, block.words

        def constant(number: int) -> Any:
            return ir.Constant(words, [number] * n)

        nothing = -(1 << block.word.width - 1)
        keys = [cgutils.alloca_once_value(builder, constant(nothing)) for _ in range(SLOTS)]
        places = [cgutils.alloca_once_value(builder, constant(0)) for _ in range(SLOTS)]
        least = cgutils.alloca_once_value(builder, constant(-nothing - 1))
        with cgutils.for_range(builder, block.n) as loop:
            key = block.key(block.line(loop.index))
            below = builder.load(least)
            builder.store(builder.select(builder.icmp_signed("<", key, below), key, below), least)
            column = loop.index
            if block.word != column.type:
                column = builder.trunc(column, block.word)
            # From the first slot on that holds less, each number moves on by one slot.
            moving, at = key, repeated(builder, column, n)
            for key_slot, place_slot in zip(keys, places, strict=True):
                held, held_at = builder.load(key_slot), builder.load(place_slot)
                better = builder.icmp_signed(">", key, held)
                builder.store(builder.select(better, moving, held), key_slot)
                builder.store(builder.select(better, at, held_at), place_slot)
                moving = builder.select(better, held, moving)
                at = builder.select(better, held_at, at)
        for i, (key_slot, place_slot) in enumerate(zip(keys, places, strict=True)):
            _store(builder, out, i, block.value(builder.load(key_slot)))
            at = builder.load(place_slot)
            if block.word != INT32:
                at = builder.trunc(at, ir.VectorType(INT32, n))
            _store(builder, out_place, i, at)
        limits = [repeated(builder, block.key(argument), n) for argument in arguments[1:3]]
        fine = builder.and_(
            builder.icmp_signed(">=", builder.load(least), limits[0]),
            builder.icmp_signed("<=", builder.load(keys[0]), limits[1]),
        )
        return builder.zext(builder.bitcast(fine, ir.IntType(n)), INT64)

    return types.uint64(columns, real, real, value, place), generate


@intrinsic
def powers(typing_context: Any, value: Any, scale: Any, n_slots: Any, e: Any) -> Any:
    """Fill line s of e, (SLOTS, R) float64, with exp((value_s - value_1) scale) for s from 1 on;
    line 0 with exp((value_1 - value_0) scale); as `rows.exponentials` gives them.

    value : (SLOTS, R) of `best`. n_slots : intp, how many lines are wanted.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = _Columns(context, builder, signature.args[0], arguments[0])
        out = context.make_array(signature.args[3])(context, builder, arguments[3])
        doubles = ir.VectorType(DOUBLE, block.lanes)
        scale = repeated(builder, arguments[1], block.lanes)

        def wide(i: Any) -> Any:
            line = block.line(i)
            return line if line.type == doubles else builder.fpext(line, doubles)

        base = wide(1)

        def fill(i: Any, apart: Any) -> None:
            _store(builder, out, i, exp64(builder, builder.fmul(apart, scale)))

        fill(0, builder.fsub(base, wide(0)))
        one = ir.Constant(arguments[2].type, 1)
        with cgutils.for_range_slice(builder, one, arguments[2], one) as (i, _):
            fill(i, builder.fsub(wide(i), base))
        return context.get_dummy_value()

    return types.void(value, types.float64, types.intp, e), generate


@intrinsic
def tails(
    typing_context: Any, columns: Any, value: Any, place: Any, last: Any, factor: Any, total: Any
) -> Any:
    """Fill total, (R,) float64, with the sum of 2^((x - value_1) factor), as `numbers.exp2` gives
    them, over the numbers x of each row that come after its number in line `last` (intp).

    value, place : (SLOTS, R) of `best`. At most 191 numbers are added up, in float32.
    """
    real = types.float64 if columns.dtype == types.float64 else types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block = _Columns(context, builder, signature.args[0], arguments[0])
        values = _Columns(context, builder, signature.args[1], arguments[1])
        places, out = (
            context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (2, 5)
        )
        n = block.lanes
        floats, ints = ir.VectorType(FLOAT, n), ir.VectorType(INT32, n)
        zero = ir.Constant(floats, [0.0] * n)
        sums = cgutils.alloca_once_value(builder, zero)
        base, last = values.line(1), values.line(arguments[3])
        last_at = _line(builder, places, arguments[3], ints)
        factor = repeated(builder, arguments[4], n)
        with cgutils.for_range(builder, block.n) as loop:
            x = block.line(loop.index)
            t = builder.fmul(builder.fsub(x, base), factor)
            t = t if t.type == floats else builder.fptrunc(t, floats)
            at = repeated(builder, builder.trunc(loop.index, INT32), n)
            equal = builder.and_(
                builder.fcmp_ordered("==", x, last), builder.icmp_signed(">", at, last_at)
            )
            after = builder.or_(builder.fcmp_ordered("<", x, last), equal)
            # Not a number where both are -inf.
            after = builder.and_(after, builder.fcmp_ordered("<=", t, zero))
            term = builder.select(after, power_of_two(builder, t), zero)
            builder.store(builder.fadd(builder.load(sums), term), sums)
        _store(builder, out, 0, builder.fpext(builder.load(sums), ir.VectorType(DOUBLE, n)))
        return context.get_dummy_value()

    return types.void(columns, value, place, types.intp, real, total), generate


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
