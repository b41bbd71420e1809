"""What the vector operations are built of, as LLVM instructions.

LLVM maps vectors of any length to the machine's. Only products and sums marked `contract` may be
fused, where the processor can do so.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from models.simd.loops.constants import (
    COEFFICIENTS,
    LANES,
    LEAST_BITS,
    LN2_HIGH,
    LN2_LOW,
    LOG2E,
    ROUNDER,
    ROUNDER_64,
    TAYLOR,
    UNDERFLOW,
)

BIT, INT16, INT32, INT64 = (ir.IntType(n) for n in (1, 16, 32, 64))
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
REAL = {types.float32: (FLOAT, 4), types.float64: (DOUBLE, 8)}
"""LLVM's type, and its size in bytes."""


def repeated(builder: Any, value: Any, n: int) -> Any:
    """A vector of n times `value`."""
    none = ir.Constant(ir.VectorType(value.type, n), ir.Undefined)
    first = builder.insert_element(none, value, INT32(0))
    return builder.shuffle_vector(first, none, ir.Constant(ir.VectorType(INT32, n), [0] * n))


class Row:
    """A one-dimensional array as vectors of some lanes."""

    def __init__(
        self, context: Any, builder: Any, kind: Any, value: Any, lanes: int = LANES
    ) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.real, self.align = REAL[kind.dtype]
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
            "<", ir.Constant(ir.VectorType(INT64, n), list(range(n))), left
        )
        nothing = ir.Constant(self.vector, [float("-inf")] * n)
        address = self.address(at)
        kind = ir.FunctionType(self.vector, [address.type, INT32, there.type, self.vector])
        name = f"llvm.masked.load.v{n}f{8 * self.align}.p0"
        load = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(load, [address, INT32(self.align), there, nothing]), there


def add_up(builder: Any, vector: Any) -> Any:
    """The sum of a vector of floats: its upper half is added to its lower one until one is left."""
    nothing = ir.Constant(vector.type, ir.Undefined)
    n = vector.type.count
    while n > 1:
        n //= 2
        lower, upper = (
            builder.shuffle_vector(
                vector, nothing, ir.Constant(ir.VectorType(INT32, n), list(range(start, start + n)))
            )
            for start in (0, n)
        )
        vector = builder.fadd(lower, upper)
        nothing = ir.Constant(vector.type, ir.Undefined)
    return builder.extract_element(vector, INT32(0))


def widened(context: Any, builder: Any, bits: Any) -> Any:
    """float32 vectors of float16 given as their bits; by the processor where it can."""
    n = bits.type.count
    words, floats = ir.VectorType(INT32, n), ir.VectorType(FLOAT, n)
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
    # The processor makes NaN quiet, too.
    is_nan = builder.icmp_unsigned(">", size, word(0x7C00))
    odd = builder.or_(upper, builder.select(is_nan, word(0x7FC00000), word(0x7F800000)))
    finite = builder.icmp_unsigned("<", size, word(0x7C00))
    result = builder.select(finite, builder.bitcast(value, words), odd)
    sign = builder.shl(builder.and_(half, word(0x8000)), word(16))
    return builder.bitcast(builder.or_(result, sign), floats)


def fetch(builder: Any, place: Any) -> None:
    place = builder.bitcast(place, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [place.type, INT32, INT32, INT32])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(fetch, [place, INT32(0), INT32(2), INT32(1)])


def power_of_two(builder: Any, t: Any) -> Any:
    """2^t of float32 t <= 0, one or a vector of them; see `exp2`."""
    n = t.type.count if isinstance(t.type, ir.VectorType) else 0
    words = ir.VectorType(INT32, n) if n else INT32

    def real(value: float) -> Any:
        return ir.Constant(t.type, [value] * n if n else value)

    def word(value: int) -> Any:
        return ir.Constant(words, [value] * n if n else value)

    shifted = builder.fadd(t, real(ROUNDER))
    fraction = builder.fsub(t, builder.fsub(shifted, real(ROUNDER)))
    power = real(COEFFICIENTS[-1])
    for c in reversed(COEFFICIENTS[:-1]):
        product = builder.fmul(power, fraction, flags=("contract",))
        power = builder.fadd(product, real(c), flags=("contract",))
    # The integer n is in the low bits of `shifted`; added to the exponent it multiplies by 2^n.
    # Lower numbers have smaller bits, including negative ones.
    bits = builder.bitcast(shifted, words)
    result = builder.add(builder.bitcast(power, words), builder.shl(bits, word(23)))
    normal = builder.icmp_signed(">", bits, word(LEAST_BITS))
    zero = ir.Constant(words, [0] * n if n else 0)
    return builder.bitcast(builder.select(normal, result, zero), t.type)


def exp64(builder: Any, d: Any) -> Any:
    """exp of float64 vectors d <= 0, to 3 ulp; 0 below `UNDERFLOW` and for NaN."""
    n = d.type.count
    words = ir.VectorType(INT64, n)

    def real(value: float) -> Any:
        return ir.Constant(d.type, [value] * n)

    def fused(a: Any, b: Any, c: Any) -> Any:
        return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

    counts = builder.fcmp_ordered(">=", d, real(UNDERFLOW))
    y = builder.select(counts, d, real(UNDERFLOW))
    # The integer nearest to y / ln 2 is in the low bits of `shifted`.
    shifted = builder.fadd(builder.fmul(y, real(LOG2E)), real(ROUNDER_64))
    whole = builder.fsub(shifted, real(ROUNDER_64))
    r = fused(whole, real(-LN2_LOW), fused(whole, real(-LN2_HIGH), y))
    r2 = builder.fmul(r, r)
    r4 = builder.fmul(r2, r2)

    def four(i: int) -> Any:
        """c_i + c_(i+1) r + c_(i+2) r^2 + c_(i+3) r^3."""
        low, high = (fused(r, real(TAYLOR[j + 1]), real(TAYLOR[j])) for j in (i, i + 2))
        return fused(r2, high, low)

    power = fused(r4, fused(r4, fused(r4, real(TAYLOR[12]), four(8)), four(4)), four(0))
    bits = builder.shl(builder.bitcast(shifted, words), ir.Constant(words, [52] * n))
    result = builder.bitcast(builder.add(builder.bitcast(power, words), bits), d.type)
    return builder.select(counts, result, real(0.0))
