"""The lists of a block of rows, by torch operations on the device of the block.

`listed` reads a block in several passes; `merging.triton_gpu` gives the same lists in one pass.

Lists have exactly the order of `row_digest.scan`: each sort is stable and is given its classes in
ascending order. Bounds: a weight is computed in float64 and rounded to float32, `WEIGHT_ERROR`. A
tail's term exp(d), d in [-87, 0], is off by at most 3 |d| half ulp for the roundings of d
(difference, factor, product) and 2 ulp for the exponential, a sum of `_SUMMED` terms in any order
by less than 128 half ulp, and everything else is float64 except for the last rounding, 1 half ulp:
(261 + 4 + 128 + 1) 2^-24 = 2.35e-5, within `TAIL_ERROR`. In float64 all of it is less.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from models.methods.logits.merging.loops.bounds import TAIL_ERROR, WEIGHT_ERROR

if TYPE_CHECKING:
    from torch import Tensor

_SUMMED = 128


class BlockLists(NamedTuple):
    """The digest of the n rows of a block; see `merging.loops.rows`.

    classes : (n, 1 + M) integers, each row's class and its list.
    weight : (n, M) float32. tail : (n,) float32.
    second : (n,) float32 the probability of the first listed class.
    sure : (n,) float64 the winning probability. slack : (n,) float64 a bound on its error.
    odd : (n,) whether a row has an invalid value; its other results are then undefined.
    """

    classes: Tensor
    weight: Tensor
    tail: Tensor
    second: Tensor
    sure: Tensor
    slack: Tensor
    odd: Tensor


def listed(x: Tensor, n_listed: int, scale: float, lowest: float, tolerance: float) -> BlockLists:
    """List the rows of a block, (n, K) of any float type.

    scale : 1 / temperature. lowest, tolerance : see `bounds`.

    Reads a float32 block 5 times and writes twice its size, with a temperature once more each; for
    2-byte types one more block is written. The sorts see about a fifth of it. Holds 5 times its
    size.
    """
    import torch

    wide = x if x.dtype == torch.float64 else x.float()
    values, classes = _best(wide, 1 + n_listed)
    own, base = values[:, :1].double(), values[:, 1:2].double()
    weight = ((values[:, 1:].double() - base) * scale).exp().nan_to_num(0.0).float()
    tail = _tail(wide, classes, values[:, 1:2], scale)
    others = weight.double().sum(dim=1)
    ratio = ((base - own) * scale).exp().squeeze(1)
    sure = 1.0 / (1.0 + ratio * (others + tail))
    slack = sure * sure * ratio * (others * WEIGHT_ERROR + tail * TAIL_ERROR)
    # Comparisons with NaN are false.
    fine = (wide.amin(dim=1) >= lowest) & (values[:, 0] < math.inf) & (values[:, 0] > -math.inf)
    if tolerance < math.inf:
        fine &= (own.squeeze(1).exp() / sure - 1.0).abs() <= tolerance
    second = (sure * ratio).float()
    return BlockLists(classes.int(), weight, tail.float(), second, sure, slack, ~fine)


def _best(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """(rows, n) values and classes of each row's best, best first, ties to the lowest class.

    The classes are cut into ranges. The ranges with the n largest peaks hold the n best classes;
    ties go to the first range, whose classes are lower.
    """
    import torch

    n_classes = x.shape[1]
    width = max(1, math.isqrt(n_classes // n))
    # Adding +0 turns -0 into +0.
    peaks = torch.nn.functional.max_pool1d(x, width, ceil_mode=True) + 0.0
    ranges = peaks.sort(dim=1, descending=True, stable=True).indices[:, :n].sort(dim=1).values
    near = (ranges.unsqueeze(2) * width + torch.arange(width, device=x.device)).flatten(1)
    candidates = x.gather(1, near.clamp(max=n_classes - 1)) + 0.0
    # Positions past the last class lose all ties.
    candidates.masked_fill_(near >= n_classes, -math.inf)
    values, order = candidates.sort(dim=1, descending=True, stable=True)
    return values[:, :n], near.gather(1, order[:, :n])


def _tail(x: Tensor, classes: Tensor, base: Tensor, scale: float) -> Tensor:
    """(rows,) float64 sum of exp((x - base) scale) over all classes except those given."""
    e = x - base.masked_fill(base == -math.inf, 0.0)
    if scale != 1.0:
        e *= scale
    e.exp_().scatter_(1, classes, 0.0)
    n_whole = e.shape[1] // _SUMMED * _SUMMED
    parts = e[:, :n_whole].view(len(e), -1, _SUMMED).sum(dim=2)
    tail: Tensor = parts.double().sum(dim=1) + e[:, n_whole:].sum(dim=1)
    return tail
