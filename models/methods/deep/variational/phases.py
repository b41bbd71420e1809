"""Training of a tree's networks in phases: all of them, or those that a split adds.

A phase is a number of passes over rows in batches, with steps of Adam down the negative bound. The
weight of the divergences rises linearly from 0 over its first passes (annealing); the length of
steps falls over all its passes by half a cosine. Each pass draws from its own generator, so
that a fit that resumes goes on as it would have.

In the phase of a split only the networks that it adds are trained: the rest is frozen, its batch
normalization included. Its rows are those that reach the leaf with a probability of at least
1 / (number of leaves), weighted by this probability; units and paths above come from the frozen
networks, embeddings are drawn anew in each pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Array, Arrays, Int
from models.errors import UsageError
from models.methods.deep.variational.batched import BatchedBound
from models.methods.deep.variational.bound import arrived, bounded, rooted
from models.methods.deep.variational.network import ROOT, TreeNetwork, score, units
from models.numerics.descent import Adam
from models.running.graphs import Replayed

if TYPE_CHECKING:
    from torch import Generator, Tensor

_CACHED = 1 << 26
"""Most values of frozen units that are kept instead of computed in each pass."""

_BATCH = 4096
"""Rows that are evaluated at a time."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The passes of one phase.

    n_epochs : number of passes. kl_start, kl_end : weight of the divergences in the first pass, and
        from pass `warm_up` on.
    """

    n_epochs: int
    kl_start: float
    kl_end: float
    warm_up: int

    def kl_weight(self, epoch: int) -> float:
        share = min(1.0, epoch / self.warm_up) if self.warm_up else 1.0
        return self.kl_start + (self.kl_end - self.kl_start) * share

    def step_share(self, epoch: int) -> float:
        """The share of the learning rate in a pass: 1 in the first, near 0 in the last."""
        return 0.5 * (1.0 + math.cos(math.pi * epoch / self.n_epochs))


class Phase:
    """The training of some networks of a tree.

    top : the node whose routers and children are trained; None: all is.
    """

    def __init__(
        self,
        network: TreeNetwork,
        rows: Tensor,
        top: int | None,
        schedule: Schedule,
        batch_size: int,
        learning_rate: float,
    ) -> None:
        import torch

        self.schedule = schedule
        self._network, self._rows, self._top = network, rows, top
        self._batch_size = batch_size
        self._numbers = torch.arange(len(rows), device=rows.device)
        self._frozen: Tensor | None = None
        self._depth = 0 if top is None else int(network.topology.depth()[top])
        if top is not None:
            self._freeze(top)
        self._bound = BatchedBound(network, top)
        self._flat = self._bound.stacks.flat
        self._adam = Adam(self._flat, learning_rate)
        self._total = rows.new_zeros((), dtype=torch.float64)
        self._step = Replayed(self._one_step, rows.device.type)

    def epoch(self, number: int, generator: Generator, step_done: Callable[[float], None]) -> float:
        """One pass over the rows; the mean of the negative bound, divergences with weight 1.

        step_done : called with the done share of the pass after each step.

        Raises UsageError if the bound is not finite.
        """
        import torch

        self._bound.weigh(self.schedule.kl_weight(number))
        self._adam.shorten(self.schedule.step_share(number))
        order = torch.randperm(len(self._numbers), generator=generator, device=generator.device)
        # A batch of one row has no variance to normalize by.
        n_batches = max(1, min(len(order) // self._batch_size, len(order) // 2))
        n_drawn = self._bound.n_drawn + (0 if self._top is None else self._depth + 1)
        self._total.zero_()
        for done, batch in enumerate(order.tensor_split(n_batches)):
            noise = torch.randn(
                (n_drawn, len(batch), self._network.architecture.latent_size),
                generator=generator,
                device=order.device,
                dtype=self._rows.dtype,
            )
            self._step(batch, noise)
            step_done((done + 1) / n_batches)
        mean = float(self._total) / len(order)
        if not np.isfinite(mean) or not bool(torch.isfinite(self._flat).all()):
            raise UsageError(
                f"Training diverged: in pass {number + 1} some numbers were not finite. Lower "
                "'learning_rate', or scale the features.",
                code="diverged",
                parameter="learning_rate",
            )
        return mean

    def optimizer(self) -> dict[str, Array]:
        """What the optimizer needs to go on, for a checkpoint."""
        return self._adam.arrays()

    def restore(self, optimizer: Arrays) -> None:
        """Go on from what `optimizer` gave."""
        self._adam.restore(optimizer)

    @property
    def n_rows(self) -> int:
        return len(self._numbers)

    def _one_step(self, batch: Tensor, noise: Tensor) -> None:
        """One step on a batch of places among the phase's rows; nothing of it is read back.

        noise : (nodes, rows of the batch, latent_size), first those down to `top`.
        """
        import torch

        rows = self._rows.index_select(0, self._numbers.index_select(0, batch))
        start = levels = None
        if self._top is not None:
            levels, start = self._arrived(rows, batch, noise)
            noise = noise[self._depth + 1 :]
        with torch.enable_grad():
            flat = self._flat.detach().requires_grad_()
            losses = self._bound.losses(self._bound.stacks.of(flat), rows, levels, noise, start)
            (gradient,) = torch.autograd.grad(losses[0] / len(batch), [flat])
        self._total += losses[1].detach()
        self._adam.step(gradient)

    def _arrived(
        self, rows: Tensor, batch: Tensor, noise: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Units of the depth of `top` and one deeper, and where rows have come to, by frozen
        networks."""
        import torch

        network, top = self._network, self._top
        assert top is not None
        if self._frozen is not None:
            levels = [*self._frozen.index_select(0, batch).unbind(1)]
        else:
            levels = units(network.weights, network.architecture, rows, False)
        draws = iter(noise)
        reached = arrived(network.weights, network.topology, top, levels, lambda like: next(draws))
        two = torch.stack([levels[self._depth + below].t() for below in (0, 1)])
        return two, (reached.embedding[top].t(), reached.log_probability[top])

    def _freeze(self, top: int) -> None:
        """Choose the rows of a split, and keep their frozen units if these are not too many."""
        import torch

        network = self._network
        above = reach(network, self._rows, top)
        n_leaves = len(network.topology.leaves()) - 1
        enough = above >= min(0.5, 1.0 / n_leaves)
        if int(enough.sum()) < 2:
            enough = torch.zeros_like(enough)
            enough[above.argsort(descending=True)[:2]] = True
        self._numbers = enough.nonzero().squeeze(1)
        depth = int(network.topology.depth()[top]) + 2
        if len(self._numbers) * depth * network.architecture.width <= _CACHED:
            parts = [
                units(network.weights, network.architecture, part, False)[:depth]
                for part in parts_of(self._rows[self._numbers])
            ]
            self._frozen = torch.cat([torch.stack(levels, dim=1) for levels in parts])


def parts_of(rows: Tensor, n_rows: int = _BATCH) -> Iterator[Tensor]:
    """The rows by blocks of `n_rows`."""
    for start in range(0, len(rows), n_rows):
        yield rows[start : start + n_rows]


def reach(network: TreeNetwork, rows: Tensor, top: int) -> Tensor:
    """(n_rows,) the probability of the path to a node, given each row."""
    import torch

    _, under = network.topology.paths()
    parts = [log_leaves(network, part)[:, under[top]].exp() for part in parts_of(rows)]
    return torch.cat(parts).sum(dim=1)


def log_leaves(network: TreeNetwork, rows: Tensor) -> Tensor:
    """(n_rows, n_leaves) log q(leaf | row), in the order of `Topology.leaves`."""
    import torch
    from torch.nn import functional

    levels = units(network.weights, network.architecture, rows, False)
    topology = network.topology
    depth = topology.depth()
    log_probability = {ROOT: rows.new_zeros(len(rows))}
    for node in topology.nodes():
        below = topology.below(node)
        if len(below) == 2:
            odds = score(network.weights, node, levels[depth[node]], False)
            log_probability[below[0]] = log_probability[node] + functional.logsigmoid(odds)
            log_probability[below[1]] = log_probability[node] + functional.logsigmoid(-odds)
        elif below:
            log_probability[below[0]] = log_probability[node]
    return torch.stack([log_probability[leaf] for leaf in topology.leaves()], dim=1)


def points_of_leaves(network: TreeNetwork, rows: Tensor) -> Int:
    """(n_rows,) the place of each row's most probable leaf."""
    import torch

    parts = [log_leaves(network, part).argmax(dim=1) for part in parts_of(rows)]
    places: Int = torch.cat(parts).cpu().numpy().astype(np.int64)
    return places


def mean_terms(network: TreeNetwork, rows: Tensor, generator: Generator) -> dict[str, float]:
    """The mean over rows of the bound and of its terms, with one draw of each embedding."""
    import torch

    def noise(like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=generator, device=like.device, dtype=like.dtype)

    names = ("reconstruction", "kl_root", "kl_nodes", "kl_decisions")
    totals = dict.fromkeys(names, 0.0)
    for part in parts_of(rows):
        levels = units(network.weights, network.architecture, part, False)
        reached, kl_root = rooted(network.weights, levels[0], noise)
        terms = bounded(
            network.weights, network.architecture, network.topology, part, levels, reached,
            kl_root, noise,
        )  # fmt: skip
        for name in names:
            totals[name] += float(getattr(terms, name).double().sum()) / len(rows)
    elbo = totals["reconstruction"] - sum(totals[name] for name in names[1:])
    return {"elbo": elbo, **totals}
