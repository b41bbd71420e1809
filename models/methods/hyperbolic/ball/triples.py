"""Triples of points to learn from: a point, one of its nearest neighbours, and another at random.

Training draws them from a `TripleSource`: fixed points (`PoolTriples`), or points that are learned
together with the tree, by their own loss (eq. 21).

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §4.2 and §5.

Cost: O(B D) a batch of B triples, whatever the number of points.

`GumbelNoise` depends only on its triple and its node. Every triple and every node has a key of 32
random bits; the noise of a pair is a hash of the sum of both keys. So it is the same on any device,
for any part of a batch, in any order.

Source: the hash is `lowbias32` of Chris Wellons, "Prospecting for Hash Functions" (2018); every bit
of its result depends on every bit of its argument.

Cost: O(n M) for n triples and M nodes, on a processor less than half the time of torch's own
generator for more than a few hundred nodes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from models.arrays import Arrays, Int, Int32
from models.methods.hyperbolic.ball.descent import SINGLE, AllReduce
from models.methods.hyperbolic.ball.points import Pool, Pools
from models.running.progress import Progress

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class TripleSource(Protocol):
    """Points, fixed or learned, that triples are drawn from.

    learned : tensors that are learned along with the nodes; none where points are fixed.
    """

    learned: Sequence[Tensor]

    def begin_round(self, number: int, progress: Progress) -> None:
        """Called before each round; all draws of a round come from its number."""
        ...

    def draw(self) -> Tensor:
        """(3, B, D) points of the ball: i, a similar one, another. With a gradient if learned."""
        ...

    def own_loss(self) -> Tensor | None:
        """The loss of the points themselves on the last batch, C_problem of eq. 21; None without
        one."""
        ...

    def learn(self, gradients: Sequence[Tensor]) -> None:
        """Move the `learned` tensors one step down their gradients."""
        ...

    def keep(self) -> None:
        """Called when the nodes are the best so far: keeps the current learned values with them."""
        ...

    def arrays(self) -> Arrays:
        """The state that `restore` needs to continue after a round, for checkpoints."""
        ...

    def restore(self, arrays: Arrays) -> None: ...


class FixedTriples(TripleSource):
    """A source of points that do not move: its triples may be drawn several steps ahead."""

    learned: Sequence[Tensor] = ()

    @abstractmethod
    def ahead(self, n_steps: int) -> Tensor:
        """(n, 3, B, D) what the next `n_steps` calls of `draw` would give."""

    def draw(self) -> Tensor:
        return self.ahead(1)[0]

    def own_loss(self) -> Tensor | None:
        return None

    def learn(self, gradients: Sequence[Tensor]) -> None:
        """Nothing: points do not move."""

    def keep(self) -> None:
        """Nothing: points do not move."""

    def arrays(self) -> Arrays:
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Nothing: a round begins with all that it needs."""


class PoolTriples(FixedTriples):
    """Triples of fixed points, from one pool after the other.

    pool : the first one. rounds_each : for how many rounds a pool is used.
    all_reduce : the processes that share a step; only this process's part of each batch is drawn.
    """

    def __init__(
        self,
        pools: Pools,
        pool: Pool,
        batch_size: int,
        rounds_each: int,
        seed: int,
        threads: int,
        all_reduce: AllReduce = SINGLE,
    ) -> None:
        self._pools, self._pool, self._pool_number = pools, pool, 0
        self._batch_size, self._rounds_each = batch_size, rounds_each
        self._seed, self._threads, self._all_reduce = seed, threads, all_reduce
        self._rng = np.random.default_rng(seed)

    def begin_round(self, number: int, progress: Progress) -> None:
        pool_number = number // self._rounds_each
        if pool_number != self._pool_number and not self._pools.is_whole:
            self._pool = self._pools.draw(
                pool_rng(self._seed, pool_number), self._threads, progress
            )
        self._pool_number = pool_number
        self._all_reduce.publish(self._pool, pool_number)
        self._rng = batch_rng(self._seed, number)

    def ahead(self, n_steps: int) -> Tensor:
        import torch

        part = self._all_reduce.part(self._batch_size)
        numbers = draw_ahead(self._pool.near, self._batch_size, n_steps, part, self._rng)
        return self._pool.points[torch.from_numpy(numbers).to(self._pool.points.device)]


def pool_rng(seed: int, number: int) -> np.random.Generator:
    """The generator that draws the pool of that number."""
    return np.random.default_rng([seed, 0, number])


def batch_rng(seed: int, number: int) -> np.random.Generator:
    """The generator that draws the triples of the round of that number."""
    return np.random.default_rng([seed, 1, number])


def draw_triples(near: Int32, n: int, rng: np.random.Generator) -> Int:
    """(3, n) numbers of three different points each: any point, a neighbour of it, any other.

    near : (P, k) neighbours of each point, P > 2.
    """
    n_points, n_near = near.shape
    first = rng.integers(n_points, size=n)
    second = near[first, rng.integers(n_near, size=n)].astype(np.int64)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = rng.integers(n_points - 2, size=n)
    third += third >= low
    third += third >= high
    return np.stack([first, second, third])


def draw_ahead(near: Int32, n: int, n_steps: int, part: slice, rng: np.random.Generator) -> Int:
    """(n_steps, 3, b) a part of the triples of each of the next calls of `draw_triples`."""
    return np.stack([draw_triples(near, n, rng)[:, part] for _ in range(n_steps)])


_FIRST, _SECOND = 0x7FEB352D, 0x846CA68B - (1 << 32)
_TINY = 1e-30


class GumbelNoise:
    """The noise of a batch of B triples.

    triples : (2, B) int32 keys, for scores of pairs and of all three. nodes : (M,) int32 keys.
    """

    def __init__(self, triples: Tensor, nodes: Tensor) -> None:
        self._triples, self._nodes = triples, nodes

    def part(self, part: slice) -> GumbelNoise:
        """The noise of some of the triples."""
        return GumbelNoise(self._triples[:, part], self._nodes)

    def gumbel(self, which: int) -> Tensor:
        """(B, M) float32 values. which : 0 for scores of pairs, 1 for scores of all three."""
        import torch

        bits = self._triples[which, :, None] + self._nodes
        shifted = torch.empty_like(bits)
        for shift, factor in ((16, _FIRST), (15, _SECOND), (16, 1)):
            torch.bitwise_right_shift(bits, shift, out=shifted)
            # The shift extends the sign bit; this makes it a logical shift.
            shifted.bitwise_and_((1 << (32 - shift)) - 1)
            bits.bitwise_xor_(shifted)
            if factor != 1:
                bits.mul_(factor)
        torch.bitwise_right_shift(bits, 8, out=shifted).bitwise_and_((1 << 24) - 1)
        uniform = shifted.to(torch.float32).mul_(2.0**-24).clamp_(min=_TINY)
        return uniform.log_().neg_().log_().neg_()


class NoiseStream:
    """The noise of successive batches."""

    def __init__(self, rng: np.random.Generator, n_nodes: int, device: torch.device) -> None:
        self._rng, self._device = rng, device
        self._nodes = self._keys(n_nodes)

    def next(self, n_triples: int) -> GumbelNoise:
        """The noise of the next batch."""
        return GumbelNoise(self._keys(2, n_triples), self._nodes)

    def _keys(self, *shape: int) -> Tensor:
        import torch

        keys = self._rng.integers(1 << 32, size=shape, dtype=np.uint32).view(np.int32)
        return torch.from_numpy(keys).to(self._device)
