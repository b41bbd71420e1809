"""Triples of leaves to learn from: one, one of its nearest neighbours, and another at random.

What is learned from is behind `Leaves`: points that stay where they are (`Sampled`), or such as are
learned together with the tree, by a loss of their own (eq. 21).

Source: Monath et al., "Gradient-based Hierarchical Clustering using Continuous Representations of
Trees in Hyperbolic Space" (2019), §4.2 and §5.

Cost: O(B D) a batch of B triples, whatever the number of points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from models.arrays import Arrays, Int
from models.methods.hyperbolic.ball.all_reduce import ALONE, Team
from models.methods.hyperbolic.ball.pools import Pool, Pools
from models.progress import Progress

if TYPE_CHECKING:
    from torch import Tensor


class Leaves(Protocol):
    """What triples are drawn from.

    learned : tensors that are learned along with the nodes; none where leaves are given.
    """

    learned: Sequence[Tensor]

    def begin(self, number: int, progress: Progress) -> None:
        """Before each round; what follows is the same for the same number."""
        ...

    def draw(self) -> Tensor:
        """(3, B, D) points of the ball: i, one like it, another. With a gradient where learned."""
        ...

    def problem(self) -> Tensor | None:
        """The leaves' own loss on the batch drawn last, C_problem of eq. 21; None for none."""
        ...

    def learn(self, gradients: Sequence[Tensor]) -> None:
        """A step of what is `learned`, down its gradients."""
        ...

    def keep(self) -> None:
        """The nodes are the best so far: what is learned by now belongs to them."""
        ...

    def arrays(self) -> Arrays:
        """What `restore` needs to go on after a round, for checkpoints."""
        ...

    def restore(self, arrays: Arrays) -> None: ...


class Sampled:
    """Given points, from one pool after the other.

    pool : the first one. rounds_each : how many rounds a pool serves. team : who takes steps along;
    of each batch only this process's part is drawn.
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
        team: Team = ALONE,
    ) -> None:
        self._pools, self._pool, self._at = pools, pool, 0
        self._batch_size, self._rounds_each = batch_size, rounds_each
        self._seed, self._threads, self._team = seed, threads, team
        self._rng = np.random.default_rng(seed)

    def begin(self, number: int, progress: Progress) -> None:
        wanted = number // self._rounds_each
        if wanted != self._at and not self._pools.is_whole:
            self._pool = self._pools.draw(pool_rng(self._seed, wanted), self._threads, progress)
        self._at = wanted
        self._team.give(self._pool, wanted)
        self._rng = batch_rng(self._seed, number)

    def draw(self) -> Tensor:
        import torch

        numbers = triples(self._pool.near, self._batch_size, self._rng)
        numbers = numbers[:, self._team.part(self._batch_size)]
        at = torch.from_numpy(numbers).to(self._pool.points.device)
        return self._pool.points[at]

    def problem(self) -> Tensor | None:
        return None

    def learn(self, gradients: Sequence[Tensor]) -> None:
        """Nothing is."""

    def keep(self) -> None:
        """They do not change."""

    def arrays(self) -> Arrays:
        return {}

    def restore(self, arrays: Arrays) -> None:
        """All that matters comes with `begin`."""


def pool_rng(seed: int, number: int) -> np.random.Generator:
    """What draws the pool of that number."""
    return np.random.default_rng([seed, 0, number])


def batch_rng(seed: int, number: int) -> np.random.Generator:
    """What draws the triples of the round of that number."""
    return np.random.default_rng([seed, 1, number])


def triples(near: npt.NDArray[np.int32], n: int, rng: np.random.Generator) -> Int:
    """(3, n) numbers of three points each, all different: any, a neighbour of it, any other.

    near : (P, k) neighbours, P > 2.
    """
    n_points, n_near = near.shape
    one = rng.integers(n_points, size=n)
    other = near[one, rng.integers(n_near, size=n)].astype(np.int64)
    low, high = np.minimum(one, other), np.maximum(one, other)
    third = rng.integers(n_points - 2, size=n)
    third += third >= low
    third += third >= high
    return np.stack([one, other, third])
