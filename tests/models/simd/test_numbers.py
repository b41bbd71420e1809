"""Operations on single numbers, as vectors and as plain loops."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from models.simd.loops import plain
from models.simd.loops.vectors import rows as vectors
from tests.models.simd.simd_kit import REALS, called, numbers, same

BOTH = pytest.mark.parametrize("loops", [vectors, plain], ids=["vectors", "plain"])


@BOTH
def test_exp2(loops: ModuleType) -> None:
    drawn = -np.abs(np.random.default_rng(0).normal(size=20_000) * 40)
    halves = -np.arange(0, 300, 0.5)
    near = [np.nextafter(np.float32(t), np.float32(s)) for t in halves for s in (-999, 0)]
    far = [-0.0, -1e-45, -1e-38, -126.0, -127.0, -1e10, -3e38, -np.inf]
    t = np.concatenate([drawn, halves, near, far]).astype(np.float32)
    t = t[t <= 0]
    result = np.array([called(loops, "exp2")(value) for value in t], dtype=np.float32)
    assert same(result, np.array([called(plain, "exp2")(v) for v in t], dtype=np.float32))
    true = np.exp2(t.astype(np.longdouble))
    normal = t >= -126
    assert (np.abs(result - true)[normal] <= 3.6e-6 * true[normal]).all()
    assert (result[~normal] >= 0).all()
    assert (result[~normal] <= 2.0**-126).all()


@BOTH
@pytest.mark.parametrize("dtype", REALS)
def test_the_larger_of_two(loops: ModuleType, dtype: str) -> None:
    x = numbers("odd", 400, dtype, finite=True)
    for one, other in zip(x[:200], x[200:], strict=True):
        larger = called(loops, "larger")(one, other)
        assert larger == max(one, other)
        assert np.asarray(larger).dtype in (dtype, "float64")


@BOTH
def test_bits(loops: ModuleType) -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(2**64, size=300, dtype=np.uint64) & rng.integers(
        2**64, size=300, dtype=np.uint64
    )
    single = np.uint64(1) << np.arange(64, dtype=np.uint64)
    for word in (*words, *single, *(~single), np.uint64(2**64 - 1)):
        written = f"{int(word):064b}"
        assert called(loops, "n_bits")(word) == written.count("1")
        assert called(loops, "lowest_bit")(word) == 63 - written.rindex("1")
    assert called(loops, "n_bits")(np.uint64(0)) == 0
