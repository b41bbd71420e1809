"""Operations on single numbers, written for LLVM."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.simd.loops.vectors.building import BIT, REAL, power_of_two


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
