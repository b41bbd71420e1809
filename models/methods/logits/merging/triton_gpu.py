"""`block_lists.listed` as one Triton kernel: a block is read once, a row stays in registers.

One program lists one row, in the way of `merging.block_lists`: the best ranges of classes, the best
classes of these, which are read again from the cache, and the sum over what comes after the last.
Comparisons are made on keys, as in `merging.loops.rows`. A term of the tail is the hardware's exp2,
good to 2 ulp, of one product, and a thread sums 32 of them before threads sum theirs, so the bound
derived in `merging.block_lists` holds.
"""

# Triton types its kernels itself.
# mypy: ignore-errors

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from models.methods.logits.merging.block_lists import BlockLists
from models.methods.logits.merging.loops.bounds import TAIL_ERROR, WEIGHT_ERROR

MOST = 1 << 14
"""The largest number of classes in a row."""

_PER_WARP = 1 << 10

_WEIGHT_ERROR, _TAIL_ERROR = tl.constexpr(WEIGHT_ERROR), tl.constexpr(TAIL_ERROR)
_LOG2E = tl.constexpr(1.4426950408889634)
_NOTHING, _ALL = tl.constexpr(-(1 << 31)), tl.constexpr((1 << 31) - 1)
_INF = tl.constexpr(float("inf"))


def takes(x: Tensor) -> bool:
    """Whether the kernel lists such a block."""
    return x.dtype in (torch.float32, torch.float16, torch.bfloat16) and x.shape[1] <= MOST


def listed(x: Tensor, n_listed: int, scale: float, lowest: float, tolerance: float) -> BlockLists:
    """As `merging.block_lists.listed`, for a contiguous block that `takes` accepts.

    Compiled again for each number of classes, type and temperature.
    """
    n, n_classes = x.shape
    lists = BlockLists(
        classes=x.new_empty((n, 1 + n_listed), dtype=torch.int32),
        weight=x.new_empty((n, n_listed), dtype=torch.float32),
        tail=x.new_empty(n, dtype=torch.float32),
        second=x.new_empty(n, dtype=torch.float32),
        sure=x.new_empty(n, dtype=torch.float64),
        slack=x.new_empty(n, dtype=torch.float64),
        odd=x.new_empty(n, dtype=torch.int8),
    )
    padded = triton.next_power_of_2(n_classes)
    width = 1 << max(0, (padded.bit_length() - 5) // 2)
    _list[(n,)](
        x,
        *lists,
        N_CLASSES=n_classes,
        N=1 + n_listed,
        SLOTS=triton.next_power_of_2(1 + n_listed),
        WIDTH=width,
        RANGES=padded // width,
        SCALE=scale,
        LOWEST=lowest,
        TOLERANCE=tolerance,
        num_warps=max(1, padded // _PER_WARP),
    )
    return lists


@triton.jit
def _list(
    x,
    classes,
    weight,
    tail,
    second,
    sure,
    slack,
    odd,
    N_CLASSES: tl.constexpr,
    N: tl.constexpr,
    SLOTS: tl.constexpr,
    WIDTH: tl.constexpr,
    RANGES: tl.constexpr,
    SCALE: tl.constexpr,
    LOWEST: tl.constexpr,
    TOLERANCE: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.arange(0, SLOTS)
    range_ = tl.arange(0, RANGES)
    within = tl.arange(0, WIDTH)[None, :]

    j = range_[:, None] * WIDTH + within
    values = _load(x + row * N_CLASSES, j, N_CLASSES)
    key = _key(values)
    low = _value(tl.min(tl.where(j < N_CLASSES, key, _ALL)))
    _, best_ranges = _best(tl.max(key, axis=1), range_, N, SLOTS)
    # The slots past N hold `_ALL`.
    near = tl.minimum(best_ranges, RANGES)[:, None] * WIDTH + within
    near_key = tl.where(
        near < RANGES * WIDTH, _key(_load(x + row * N_CLASSES, near, N_CLASSES)), _NOTHING
    )
    near_key, near = tl.ravel(near_key), tl.ravel(near)
    best, listed = _best(near_key, near, N, SLOTS)

    own, base = _value(_at(best, 0, SLOTS)), _value(_at(best, 1, SLOTS))
    last, last_j = _at(best, N - 1, SLOTS), _at(listed, N - 1, SLOTS)
    after = (key < last) | ((key == last) & (j > last_j))
    terms = tl.exp2((values - tl.where(base == -_INF, 0.0, base)) * (SCALE * _LOG2E))
    rest = tl.sum(tl.where(after, terms, 0.0)).to(tl.float64)

    fine = (low >= LOWEST) & (own < _INF) & (own > -_INF)
    own, base = own.to(tl.float64), base.to(tl.float64)
    relative = tl.exp((_value(best).to(tl.float64) - base) * SCALE)
    kept = (slot > 0) & (slot < N)
    relative = tl.where(kept & (relative == relative), relative, 0.0).to(tl.float32)
    others = tl.sum(relative.to(tl.float64))
    ratio = tl.exp((base - own) * SCALE)
    p = 1.0 / (1.0 + ratio * (others + rest))
    error = p * p * ratio * (others * _WEIGHT_ERROR + rest * _TAIL_ERROR)
    if TOLERANCE < _INF:
        fine = fine & (tl.abs(tl.exp(own) / p - 1.0) <= TOLERANCE)

    tl.store(classes + row * N + slot, listed, mask=slot < N)
    tl.store(weight + row * (N - 1) + slot - 1, relative, mask=kept)
    tl.store(tail + row, rest.to(tl.float32))
    tl.store(second + row, (p * ratio).to(tl.float32))
    tl.store(sure + row, p)
    tl.store(slack + row, error)
    tl.store(odd + row, 1 - fine.to(tl.int8))


@triton.jit
def _load(row, j, N_CLASSES: tl.constexpr):
    """Values as float32; -inf past the last class, where it is the last of equals."""
    # Adding +0 turns -0 into +0.
    return tl.load(row + j, mask=j < N_CLASSES, other=-_INF).to(tl.float32) + 0.0


@triton.jit
def _key(value):
    return _turned(value.to(tl.int32, bitcast=True))


@triton.jit
def _value(key):
    return _turned(key).to(tl.float32, bitcast=True)


@triton.jit
def _turned(word):
    return word ^ ((word >> 31) & _ALL)


@triton.jit
def _at(values, i: tl.constexpr, SLOTS: tl.constexpr):
    return tl.sum(tl.where(tl.arange(0, SLOTS) == i, values, 0))


@triton.jit
def _best(key, j, N: tl.constexpr, SLOTS: tl.constexpr):
    """The N largest of `key`, the lowest j of equals; their keys and j, in slots."""
    slot = tl.arange(0, SLOTS)
    keys, found = tl.full((SLOTS,), 0, tl.int32), tl.full((SLOTS,), _ALL, tl.int32)
    for i in tl.static_range(N):
        highest = tl.max(key)
        first = tl.min(tl.where(key == highest, j, _ALL))
        keys = tl.where(slot == i, highest, keys)
        found = tl.where(slot == i, first, found)
        key = tl.where(j == first, _NOTHING, key)
    return keys, found
