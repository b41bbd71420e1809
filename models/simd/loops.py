"""The vector operations of L2H, on 64 numbers at a time, for any processor.

numba vectorizes only loops of which it can prove enough; these few operations are written for LLVM,
on vectors of any length, which it maps to those of the machine: float32 and float64, contiguous.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 64
"""The numbers of a row are dealt to this many lanes: number j to lane j % LANES."""

RANKED = 16
"""The number of values that `ranks` orders."""

_LINE = 64
"""The cache line of most processors in bytes; another size does no harm."""

_BIT, _INT16, _INT32, _INT64 = (ir.IntType(n) for n in (1, 16, 32, 64))
_FLOAT, _DOUBLE = ir.FloatType(), ir.DoubleType()
_REAL = {types.float32: (_FLOAT, 4), types.float64: (_DOUBLE, 8)}


def repeated(builder: Any, value: Any, n: int) -> Any:
    """A vector of n times `value`."""
    none = ir.Constant(ir.VectorType(value.type, n), ir.Undefined)
    first = builder.insert_element(none, value, _INT32(0))
    return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(_INT32, n), [0] * n))


class _Row:
    """A one-dimensional array as vectors of some lanes."""

    def __init__(
        self, context: Any, builder: Any, kind: Any, value: Any, lanes: int = LANES
    ) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.real, self.align = _REAL[kind.dtype]
        self.lanes = lanes
        self.vector = ir.VectorType(self.real, lanes)
        self.n = builder.extract_value(array.shape, 0)
        self._builder, self._data = builder, array.data

    def address(self, at: Any) -> Any:
        return self._builder.bitcast(self._builder.gep(self._data, [at]), self.vector.as_pointer())

    def whole(self, at: Any) -> Any:
        value = self._builder.load(self.address(at))
        value.align = self.align
        return value

    def rest(self, at: Any) -> tuple[Any, Any]:
        """(vector, mask of its valid lanes) for the last numbers; -inf in the others."""
        builder, n = self._builder, self.lanes
        left = repeated(builder, builder.sub(self.n, at), n)
        there = builder.icmp_unsigned(
            "<", ir.Constant(ir.VectorType(_INT64, n), list(range(n))), left
        )
        nothing = ir.Constant(self.vector, [float("-inf")] * n)
        address = self.address(at)
        kind = ir.FunctionType(self.vector, [address.type, _INT32, there.type, self.vector])
        name = f"llvm.masked.load.v{n}f{8 * self.align}.p0"
        load = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(load, [address, _INT32(self.align), there, nothing]), there


@intrinsic
def tops(typing_context: Any, x: Any, top: Any) -> Any:
    """Fill `top`, (LANES,), with the largest number of each lane, -inf where it has none.

    Returns 0 where all numbers are finite, else NaN.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = _Row(context, builder, signature.args[0], arguments[0])
        out = _Row(context, builder, signature.args[1], arguments[1])
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
        return _add_up(builder, builder.load(check))

    return x.dtype(x, top), generate


@intrinsic
def sum_tops(typing_context: Any, x: Any, other: Any, y: Any, top: Any) -> Any:
    """Fill y with x + other, padded with -inf to a multiple of LANES, and `top` as `tops` does."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, to, out = (
            _Row(context, builder, kind, value)
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
        row = _Row(context, builder, signature.args[0], arguments[0])
        at, least = arguments[1], repeated(builder, arguments[2], LANES)
        bits = cgutils.alloca_once(builder, _INT64)
        left = builder.sub(row.n, at)
        is_whole = builder.icmp_unsigned(">=", left, ir.Constant(left.type, LANES))
        with builder.if_else(is_whole, likely=True) as (then, otherwise):
            with then:
                reached = builder.fcmp_ordered(">=", row.whole(at), least)
                builder.store(builder.bitcast(reached, _INT64), bits)
            with otherwise:
                value, there = row.rest(at)
                reached = builder.and_(there, builder.fcmp_ordered(">=", value, least))
                builder.store(builder.bitcast(reached, _INT64), bits)
        return builder.load(bits)

    return types.uint64(x, types.uintp, x.dtype), generate


def _add_up(builder: Any, vector: Any) -> Any:
    """The sum of a vector of floats, added in pairs."""
    n, real = vector.type.count, vector.type.element
    kind = ir.FunctionType(real, [real, vector.type])
    name = f"llvm.vector.reduce.fadd.v{n}f{32 if real == _FLOAT else 64}"
    add = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(add, [ir.Constant(real, 0.0), vector], fastmath=("reassoc",))


def _reduction(name: str) -> Any:
    def reduce(typing_context: Any, top: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row = _Row(context, builder, signature.args[0], arguments[0])
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
        row = _Row(context, builder, signature.args[0], arguments[0])
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
        row = _Row(context, builder, signature.args[0], arguments[0])
        _, counts = _finite(builder, row)
        return builder.ctpop(builder.bitcast(counts, _INT64))

    return types.int64(top), generate


def _finite(builder: Any, row: _Row) -> tuple[Any, Any]:
    """The numbers of a row of LANES, and which of them are above -inf."""
    value = row.whole(ir.Constant(row.n.type, 0))
    nothing = ir.Constant(row.vector, [float("-inf")] * LANES)
    return value, builder.fcmp_ordered(">", value, nothing)


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
        return builder.cttz(arguments[0], ir.Constant(_BIT, 1))

    return types.uintp(types.uint64), generate


@intrinsic
def ranks(typing_context: Any, value: Any, rank: Any) -> Any:
    """Fill an int32 array with the rank of each of RANKED numbers, largest first, ties by
    position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        n = RANKED
        values = context.make_array(signature.args[0])(context, builder, arguments[0])
        out = context.make_array(signature.args[1])(context, builder, arguments[1])
        real, align = _REAL[signature.args[0].dtype]
        reals, places = ir.VectorType(real, n), ir.VectorType(_INT32, n)
        value = builder.load(builder.bitcast(values.data, reals.as_pointer()))
        value.align = align
        place = ir.Constant(places, [0] * n)
        for i in range(n):
            other = repeated(builder, builder.extract_element(value, _INT32(i)), n)
            later = ir.Constant(ir.VectorType(_BIT, n), [int(j > i) for j in range(n)])
            equal = builder.and_(later, builder.fcmp_ordered("==", other, value))
            before = builder.or_(builder.fcmp_ordered(">", other, value), equal)
            place = builder.add(place, builder.zext(before, places))
        builder.store(place, builder.bitcast(out.data, places.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.void(value, rank), generate


@intrinsic
def from_bits(typing_context: Any, bits: Any) -> Any:
    """The float whose bits are the integer `bits`."""
    kind, real = {types.int32: (types.float32, _FLOAT), types.int64: (types.float64, _DOUBLE)}[bits]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], real)

    return kind(bits), generate


_SOME = 16
"""Numbers that `widen` takes at a time."""


@intrinsic
def widen(typing_context: Any, halves: Any, wide: Any) -> Any:
    """Fill `wide`, float32, with the float16 of which `halves` has the bits, uint16; exact.

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

            value = builder.load(place(bits.data, _INT16))
            value.align = 2
            result = widened(context, builder, value)
            builder.store(result, place(out.data, _FLOAT)).align = 4

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


def widened(context: Any, builder: Any, bits: Any) -> Any:
    """float32 vectors of float16 given as their bits; by the processor where it can."""
    n = bits.type.count
    words, floats = ir.VectorType(_INT32, n), ir.VectorType(_FLOAT, n)
    triple, _, features = context.codegen().magic_tuple()
    if "+f16c" in features.split(",") or triple.startswith("aarch64"):
        return builder.fpext(builder.bitcast(bits, ir.VectorType(ir.HalfType(), n)), floats)

    def word(value: int) -> Any:
        return ir.Constant(words, [value] * n)

    half = builder.zext(bits, words)
    size = builder.and_(half, word(0x7FFF))
    upper = builder.shl(size, word(13))
    # As the upper bits of a float32 it is 2^112 times too small, also for subnormal numbers.
    value = builder.fmul(builder.bitcast(upper, floats), ir.Constant(floats, [2.0**112] * n))
    odd = builder.or_(upper, word(0x7F800000))
    finite = builder.icmp_unsigned("<", size, word(0x7C00))
    result = builder.select(finite, builder.bitcast(value, words), odd)
    sign = builder.shl(builder.and_(half, word(0x8000)), word(16))
    return builder.bitcast(builder.or_(result, sign), floats)


def _fetch(builder: Any, place: Any) -> None:
    place = builder.bitcast(place, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [place.type, _INT32, _INT32, _INT32])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(fetch, [place, _INT32(0), _INT32(2), _INT32(1)])


def _coefficients() -> list[float]:
    """Coefficients of 1 + c1 f + .. + c4 f^4, which is 2^f for f in [-0.5, 0.5] to 3.5e-6."""
    near = np.polynomial.Chebyshev.interpolate(np.exp2, 4, domain=[-0.5, 0.5])
    found = near.convert(kind=np.polynomial.Polynomial).coef.astype(np.float32)
    return [1.0, *found[1:].tolist()]


_COEFFICIENTS = _coefficients()
_ROUNDER = 1.5 * 2.0**23
"""Adding this to a small float32 and subtracting it again leaves the nearest integer."""

_LEAST_BITS = int(np.float32(_ROUNDER - 127).view(np.int32))
"""The bits of `_ROUNDER`, and the exponent at and below which a power is 0."""


def power_of_two(builder: Any, t: Any) -> Any:
    """2^t of float32 t <= 0, one or a vector of them; see `exp2`."""
    n = t.type.count if isinstance(t.type, ir.VectorType) else 0
    words = ir.VectorType(_INT32, n) if n else _INT32

    def real(value: float) -> Any:
        return ir.Constant(t.type, [value] * n if n else value)

    def word(value: int) -> Any:
        return ir.Constant(words, [value] * n if n else value)

    shifted = builder.fadd(t, real(_ROUNDER))
    fraction = builder.fsub(t, builder.fsub(shifted, real(_ROUNDER)))
    power = real(_COEFFICIENTS[-1])
    for c in reversed(_COEFFICIENTS[:-1]):
        product = builder.fmul(power, fraction, flags=("contract",))
        power = builder.fadd(product, real(c), flags=("contract",))
    # The integer n is in the low bits of `shifted`; added to the exponent it multiplies by 2^n.
    # Lower numbers have smaller bits, including negative ones.
    bits = builder.bitcast(shifted, words)
    result = builder.add(builder.bitcast(power, words), builder.shl(bits, word(23)))
    normal = builder.icmp_signed(">", bits, word(_LEAST_BITS))
    zero = ir.Constant(words, [0] * n if n else 0)
    return builder.bitcast(builder.select(normal, result, zero), t.type)


@intrinsic
def exp2(typing_context: Any, t: Any) -> Any:
    """2^t of a float32 t <= 0, to a relative 3.6e-6; below -126 some value up to 2^-126."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return power_of_two(builder, arguments[0])

    return types.float32(types.float32), generate


@intrinsic
def sum_of_powers(
    typing_context: Any, x: Any, base: Any, factor: Any, limit: Any, matrix: Any, coming: Any
) -> Any:
    """The sum of 2^((x_j - base) factor) over the numbers below `limit`, as `exp2` gives them.

    float32, in LANES sums of at most n / LANES + 1 terms, added up in pairs. Meanwhile row `coming`
    (uintp) of `matrix`, of any type, as long as x or a little shorter, is fetched from memory.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = _Row(context, builder, signature.args[0], arguments[0])
        base, factor, limit = (repeated(builder, value, LANES) for value in arguments[1:4])
        floats = ir.VectorType(_FLOAT, LANES)
        zero = ir.Constant(floats, [0.0] * LANES)
        total = cgutils.alloca_once(builder, floats)
        builder.store(zero, total)
        array = context.make_array(signature.args[4])(context, builder, arguments[4])
        width = builder.extract_value(array.shape, 1)
        there = builder.gep(array.data, [builder.mul(arguments[5], width)])
        per_line = 8 * _LINE // signature.args[4].dtype.bitwidth

        def take(value: Any, at: Any) -> None:
            for i in range(0, LANES, per_line):
                _fetch(builder, builder.gep(there, [builder.add(at, ir.Constant(at.type, i))]))
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
        return _add_up(builder, builder.load(total))

    return types.float32(x, x.dtype, x.dtype, x.dtype, matrix, types.uintp), generate


_WIDE = 16
"""Lanes of the float64 exponentials: their intermediate results stay in registers."""

_LOG2E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUNDER_64 = 1.5 * 2.0**52
_TAYLOR = [1.0 / math.factorial(i) for i in range(13)]
UNDERFLOW = -708.0
"""`reference.UNDERFLOW`."""


def exp64(builder: Any, d: Any) -> Any:
    """exp of float64 vectors d <= 0, to 3 ulp; 0 below `UNDERFLOW` and for NaN."""
    n = d.type.count
    words = ir.VectorType(_INT64, n)

    def real(value: float) -> Any:
        return ir.Constant(d.type, [value] * n)

    def fused(a: Any, b: Any, c: Any) -> Any:
        return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

    counts = builder.fcmp_ordered(">=", d, real(UNDERFLOW))
    y = builder.select(counts, d, real(UNDERFLOW))
    # The integer nearest to y / ln 2 is in the low bits of `shifted`.
    shifted = builder.fadd(builder.fmul(y, real(_LOG2E)), real(_ROUNDER_64))
    whole = builder.fsub(shifted, real(_ROUNDER_64))
    r = fused(whole, real(-_LN2_LOW), fused(whole, real(-_LN2_HIGH), y))
    r2 = builder.fmul(r, r)
    r4 = builder.fmul(r2, r2)

    def four(i: int) -> Any:
        """c_i + c_(i+1) r + c_(i+2) r^2 + c_(i+3) r^3."""
        low, high = (fused(r, real(_TAYLOR[j + 1]), real(_TAYLOR[j])) for j in (i, i + 2))
        return fused(r2, high, low)

    power = fused(r4, fused(r4, fused(r4, real(_TAYLOR[12]), four(8)), four(4)), four(0))
    bits = builder.shl(builder.bitcast(shifted, words), ir.Constant(words, [52] * n))
    result = builder.bitcast(builder.add(builder.bitcast(power, words), bits), d.type)
    return builder.select(counts, result, real(0.0))


@intrinsic
def exponentials(typing_context: Any, x: Any, base: Any, scale: Any, e: Any) -> Any:
    """Fill e, float64, with exp((x - base) scale), to 3 ulp; returns their sum.

    x : float32 or float64, none above `base`. base, scale : float64. e : as long as x, or longer.
    Exponents below `UNDERFLOW` count as -inf.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = _Row(context, builder, signature.args[0], arguments[0], _WIDE)
        out = _Row(context, builder, signature.args[3], arguments[3], _WIDE)
        base, scale = (repeated(builder, value, _WIDE) for value in arguments[1:3])
        total = cgutils.alloca_once(builder, out.vector)
        builder.store(ir.Constant(out.vector, [0.0] * _WIDE), total)

        def power(value: Any) -> Any:
            value = value if row.real == _DOUBLE else builder.fpext(value, out.vector)
            terms = exp64(builder, builder.fmul(builder.fsub(value, base), scale))
            builder.store(builder.fadd(builder.load(total), terms), total)
            return terms

        end = builder.and_(row.n, ir.Constant(row.n.type, -_WIDE))
        start, step = ir.Constant(row.n.type, 0), ir.Constant(row.n.type, _WIDE)
        with cgutils.for_range_slice(builder, start, end, step) as (at, _):
            builder.store(power(row.whole(at)), out.address(at)).align = out.align
        with builder.if_then(builder.icmp_unsigned("<", end, row.n)):
            value, there = row.rest(end)
            address = out.address(end)
            kind = ir.FunctionType(ir.VoidType(), [out.vector, address.type, _INT32, there.type])
            store = cgutils.get_or_insert_function(
                builder.module, kind, f"llvm.masked.store.v{_WIDE}f64.p0"
            )
            builder.call(store, [power(value), address, _INT32(8), there])
        return _add_up(builder, builder.load(total))

    return types.float64(x, types.float64, types.float64, e), generate
