"""Triples of points to learn from: a point, one of its nearest neighbours, and another at random.

Training draws them from a `TripleSource`: fixed points (`PoolTriples`), or points that are learned
together with the tree, by their own loss (eq. 21).

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §4.2 and §5.

Cost: O(B D) a batch of B triples, whatever the number of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from models.arrays import Arrays, Int, Int32
from models.methods.hyperbolic.ball.all_reduce import SINGLE, AllReduce
from models.methods.hyperbolic.ball.pools import Pool, Pools
from models.running.progress import Progress

if TYPE_CHECKING:
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


class PoolTriples:
    """Triples of fixed points, from one pool after the other.

    pool : the first one. rounds_each : for how many rounds a pool is used.
    all_reduce : the processes that share a step; only this process's part of each batch is drawn.
    """

    learned: Sequence[Tensor] = ()

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

    def draw(self) -> Tensor:
        import torch

        numbers = draw_triples(self._pool.near, self._batch_size, self._rng)
        numbers = numbers[:, self._all_reduce.part(self._batch_size)]
        return self._pool.points[torch.from_numpy(numbers).to(self._pool.points.device)]

    def own_loss(self) -> Tensor | None:
        return None

    def learn(self, gradients: Sequence[Tensor]) -> None:
        """Nothing: points do not move."""

    def keep(self) -> None:
        """Nothing: points do not move."""

    def arrays(self) -> Arrays:
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Empty: `begin_round` has everything needed."""


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
