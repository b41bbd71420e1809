"""The operations on a row of numbers, 64 at a time, and on single numbers, written for LLVM.

numba vectorizes only loops of which it can prove enough. Rows are float32 or float64 and
contiguous.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.simd.loops.constants import LANES, RANKED, WIDE
from models.simd.loops.vectors.building import (
    BIT,
    DOUBLE,
    FLOAT,
    INT16,
    INT32,
    INT64,
    REAL,
    Row,
    add_up,
    exp64,
    fetch,
    power_of_two,
    repeated,
    widened,
)

_SOME = 16
"""Numbers that `widen` takes at a time."""

_LINE = 64
"""The cache line of most processors in bytes; another size does no harm."""


@intrinsic
def tops(typing_context: Any, x: Any, top: Any) -> Any:
    """Fill `top`, (LANES,), with the largest number of each lane, -inf where it has none.

    Returns 0 where all numbers are finite, else NaN.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = Row(context, builder, signature.args[0], arguments[0])
        out = Row(context, builder, signature.args[1], arguments[1])
        largest = cgutils.alloca_once(builder, row.vector)
        check = cgutils.alloca_once(builder, row.vector)
        zero = ir.Constant(row.vector, [0.0] * LANES)
        builder.store(ir.Constant(row.vector, [float("-inf")] * LANES), largest)
        builder.store(zero, check)

        def take(value: Any, tested: Any) -> None:
            before = builder.load(largest)
            above = builder.fcmp_ordered(">", value, before)
            builder.store(builder.select(above, value, before), largest)
            # NaN and infinity times 0 are NaN.
            nothing = builder.fmul(tested, zero, flags=("contract",))
            builder.store(builder.fadd(builder.load(check), nothing, flags=("contract",)), check)

        end = builder.and_(row.n, ir.Constant(row.n.type, -LANES))
        start, step = ir.Constant(row.n.type, 0), ir.Constant(row.n.type, LANES)
        with cgutils.for_range_slice(builder, start, end, step) as (at, _):
            value = row.whole(at)
            take(value, value)
        with builder.if_then(builder.icmp_unsigned("<", end, row.n)):
            value, there = row.rest(end)
            take(value, builder.select(there, value, zero))
        builder.store(builder.load(largest), out.address(start)).align = row.align
        return add_up(builder, builder.load(check))

    return x.dtype(x, top), generate


@intrinsic
def sum_tops(typing_context: Any, x: Any, other: Any, y: Any, top: Any) -> Any:
    """Fill y with x + other, padded with -inf to a multiple of LANES, and `top` as `tops` does."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, to, out = (
            Row(context, builder, kind, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        largest = cgutils.alloca_once(builder, a.vector)
        builder.store(ir.Constant(a.vector, [float("-inf")] * LANES), largest)

        def take(at: Any, value: Any) -> None:
            builder.store(value, to.address(at)).align = to.align
            before = builder.load(largest)
            above = builder.fcmp_ordered(">", value, before)
            builder.store(builder.select(above, value, before), largest)

        end = builder.and_(a.n, ir.Constant(a.n.type, -LANES))
        start, step = ir.Constant(a.n.type, 0), ir.Constant(a.n.type, LANES)
        with cgutils.for_range_slice(builder, start, end, step) as (at, _):
            take(at, builder.fadd(a.whole(at), b.whole(at)))
        with builder.if_then(builder.icmp_unsigned("<", end, a.n)):
            take(end, builder.fadd(a.rest(end)[0], b.rest(end)[0]))
        builder.store(builder.load(largest), out.address(start)).align = a.align
        return context.get_dummy_value()

    return types.void(x, other, y, top), generate


@intrinsic
def reaching(typing_context: Any, x: Any, start: Any, bound: Any) -> Any:
    """Bit i says whether x[start + i] is at least `bound`; 0 past the end. start : uintp."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = Row(context, builder, signature.args[0], arguments[0])
        at, least = arguments[1], repeated(builder, arguments[2], LANES)
        bits = cgutils.alloca_once(builder, INT64)
        left = builder.sub(row.n, at)
        is_whole = builder.icmp_unsigned(">=", left, ir.Constant(left.type, LANES))
        with builder.if_else(is_whole, likely=True) as (then, otherwise):
            with then:
                reached = builder.fcmp_ordered(">=", row.whole(at), least)
                builder.store(builder.bitcast(reached, INT64), bits)
            with otherwise:
                value, there = row.rest(at)
                reached = builder.and_(there, builder.fcmp_ordered(">=", value, least))
                builder.store(builder.bitcast(reached, INT64), bits)
        return builder.load(bits)

    return types.uint64(x, types.uintp, x.dtype), generate


def _reduction(name: str) -> Any:
    def reduce(typing_context: Any, top: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row = Row(context, builder, signature.args[0], arguments[0])
            kind = ir.FunctionType(row.real, [row.vector])
            full = f"llvm.vector.reduce.{name}.v{LANES}f{8 * row.align}"
            function = cgutils.get_or_insert_function(builder.module, kind, full)
            value = row.whole(ir.Constant(row.n.type, 0))
            return builder.call(function, [value], fastmath=("nnan", "nsz"))

        return top.dtype(top), generate

    return intrinsic(reduce)


largest = _reduction("fmax")
"""The largest of (LANES,) numbers."""


@intrinsic
def least(typing_context: Any, top: Any) -> Any:
    """The least of (LANES,) numbers, leaving out -inf; +inf if there is no other."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = Row(context, builder, signature.args[0], arguments[0])
        value, counts = _finite(builder, row)
        most = ir.Constant(row.vector, [float("inf")] * LANES)
        kind = ir.FunctionType(row.real, [row.vector])
        full = f"llvm.vector.reduce.fmin.v{LANES}f{8 * row.align}"
        function = cgutils.get_or_insert_function(builder.module, kind, full)
        chosen = builder.select(counts, value, most)
        return builder.call(function, [chosen], fastmath=("nnan", "nsz"))

    return top.dtype(top), generate


@intrinsic
def n_finite(typing_context: Any, top: Any) -> Any:
    """How many of (LANES,) numbers are not -inf."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = Row(context, builder, signature.args[0], arguments[0])
        _, counts = _finite(builder, row)
        return builder.ctpop(builder.bitcast(counts, INT64))

    return types.int64(top), generate


def _finite(builder: Any, row: Row) -> tuple[Any, Any]:
    """The numbers of a row of LANES, and which of them are above -inf."""
    value = row.whole(ir.Constant(row.n.type, 0))
    nothing = ir.Constant(row.vector, [float("-inf")] * LANES)
    return value, builder.fcmp_ordered(">", value, nothing)


@intrinsic
def ranks(typing_context: Any, value: Any, rank: Any) -> Any:
    """Fill an int32 array with the rank of each of RANKED numbers, largest first, ties by
    position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        n = RANKED
        values = context.make_array(signature.args[0])(context, builder, arguments[0])
        out = context.make_array(signature.args[1])(context, builder, arguments[1])
        real, align = REAL[signature.args[0].dtype]
        reals, places = ir.VectorType(real, n), ir.VectorType(INT32, n)
        value = builder.load(builder.bitcast(values.data, reals.as_pointer()))
        value.align = align
        place = ir.Constant(places, [0] * n)
        for i in range(n):
            other = repeated(builder, builder.extract_element(value, INT32(i)), n)
            later = ir.Constant(ir.VectorType(BIT, n), [int(j > i) for j in range(n)])
            equal = builder.and_(later, builder.fcmp_ordered("==", other, value))
            before = builder.or_(builder.fcmp_ordered(">", other, value), equal)
            place = builder.add(place, builder.zext(before, places))
        builder.store(place, builder.bitcast(out.data, places.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.void(value, rank), generate


@intrinsic
def widen(typing_context: Any, halves: Any, wide: Any) -> Any:
    """Fill `wide`, float32, with the float16 of which `halves` has the bits, uint16; exact, and NaN
    quiet.

    Both have the same length.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = context.make_array(signature.args[0])(context, builder, arguments[0])
        out = context.make_array(signature.args[1])(context, builder, arguments[1])
        n = builder.extract_value(bits.shape, 0)
        some = ir.Constant(n.type, _SOME)

        def take(at: Any, size: int) -> None:
            def place(data: Any, kind: Any) -> Any:
                vectors = ir.VectorType(kind, size).as_pointer()
                return builder.bitcast(builder.gep(data, [at]), vectors)

            value = builder.load(place(bits.data, INT16))
            value.align = 2
            result = widened(context, builder, value)
            builder.store(result, place(out.data, FLOAT)).align = 4

        with builder.if_else(builder.icmp_unsigned(">=", n, some)) as (then, otherwise):
            with then:
                last = builder.sub(n, some)
                start = ir.Constant(n.type, 0)
                with cgutils.for_range_slice(builder, start, n, some) as (at, _):
                    # The last numbers may be converted twice.
                    take(builder.select(builder.icmp_unsigned("<", at, last), at, last), _SOME)
            with otherwise, cgutils.for_range(builder, n) as loop:
                take(loop.index, 1)
        return context.get_dummy_value()

    return types.void(halves, wide), generate


@intrinsic
def sum_of_powers(
    typing_context: Any, x: Any, base: Any, factor: Any, limit: Any, matrix: Any, coming: Any
) -> Any:
    """The sum of 2^((x_j - base) factor) over the numbers below `limit`, as `exp2` gives them.

    float32, in LANES sums of at most n / LANES + 1 terms, added up in pairs. Meanwhile row `coming`
    (uintp) of `matrix`, of any type, as long as x or a little shorter, is fetched from memory.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = Row(context, builder, signature.args[0], arguments[0])
        base, factor, limit = (repeated(builder, value, LANES) for value in arguments[1:4])
        floats = ir.VectorType(FLOAT, LANES)
        zero = ir.Constant(floats, [0.0] * LANES)
        total = cgutils.alloca_once(builder, floats)
        builder.store(zero, total)
        array = context.make_array(signature.args[4])(context, builder, arguments[4])
        width = builder.extract_value(array.shape, 1)
        there = builder.gep(array.data, [builder.mul(arguments[5], width)])
        per_line = 8 * _LINE // signature.args[4].dtype.bitwidth

        def take(value: Any, at: Any) -> None:
            for i in range(0, LANES, per_line):
                fetch(builder, builder.gep(there, [builder.add(at, ir.Constant(at.type, i))]))
            t = builder.fmul(builder.fsub(value, base), factor)
            t = t if t.type == floats else builder.fptrunc(t, floats)
            below = builder.fcmp_ordered("<", value, limit)
            term = builder.select(below, power_of_two(builder, t), zero)
            builder.store(builder.fadd(builder.load(total), term), total)

        end = builder.and_(row.n, ir.Constant(row.n.type, -LANES))
        start, step = ir.Constant(row.n.type, 0), ir.Constant(row.n.type, LANES)
        with cgutils.for_range_slice(builder, start, end, step) as (at, _):
            take(row.whole(at), at)
        with builder.if_then(builder.icmp_unsigned("<", end, row.n)):
            take(row.rest(end)[0], end)
        return add_up(builder, builder.load(total))

    return types.float32(x, x.dtype, x.dtype, x.dtype, matrix, types.uintp), generate


@intrinsic
def exponentials(typing_context: Any, x: Any, base: Any, scale: Any, e: Any) -> Any:
    """Fill e, float64, with exp((x - base) scale), to 3 ulp; returns their sum.

    x : float32 or float64, none above `base`. base, scale : float64. e : as long as x, or longer.
    Exponents below `UNDERFLOW` count as -inf.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = Row(context, builder, signature.args[0], arguments[0], WIDE)
        out = Row(context, builder, signature.args[3], arguments[3], WIDE)
        base, scale = (repeated(builder, value, WIDE) for value in arguments[1:3])
        total = cgutils.alloca_once(builder, out.vector)
        builder.store(ir.Constant(out.vector, [0.0] * WIDE), total)

        def power(value: Any) -> Any:
            value = value if row.real == DOUBLE else builder.fpext(value, out.vector)
            terms = exp64(builder, builder.fmul(builder.fsub(value, base), scale))
            builder.store(builder.fadd(builder.load(total), terms), total)
            return terms

        end = builder.and_(row.n, ir.Constant(row.n.type, -WIDE))
        start, step = ir.Constant(row.n.type, 0), ir.Constant(row.n.type, WIDE)
        with cgutils.for_range_slice(builder, start, end, step) as (at, _):
            builder.store(power(row.whole(at)), out.address(at)).align = out.align
        with builder.if_then(builder.icmp_unsigned("<", end, row.n)):
            value, there = row.rest(end)
            address = out.address(end)
            kind = ir.FunctionType(ir.VoidType(), [out.vector, address.type, INT32, there.type])
            store = cgutils.get_or_insert_function(
                builder.module, kind, f"llvm.masked.store.v{WIDE}f64.p0"
            )
            builder.call(store, [power(value), address, INT32(8), there])
        return add_up(builder, builder.load(total))

    return types.float64(x, types.float64, types.float64, e), generate


@intrinsic
def larger(typing_context: Any, one: Any, other: Any) -> Any:
    """The larger of two finite numbers, float32 or float64; unlike `max` it lets a loop be
    vectorized."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        real, size = REAL[one]
        kind = ir.FunctionType(real, [real, real])
        named = cgutils.get_or_insert_function(builder.module, kind, f"llvm.maxnum.f{8 * size}")
        return builder.call(named, arguments, fastmath=("fast",))

    return one(one, one), generate


@intrinsic
def n_bits(typing_context: Any, bits: Any) -> Any:
    """The number of bits of `bits`, uint64, that are 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """The position of the lowest 1 in `bits`, uint64, which is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(BIT, 1))

    return types.uintp(types.uint64), generate


@intrinsic
def exp2(typing_context: Any, t: Any) -> Any:
    """2^t of a float32 t <= 0, to a relative 3.6e-6; below -126 some value up to 2^-126."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return power_of_two(builder, arguments[0])

    return types.float32(types.float32), generate
