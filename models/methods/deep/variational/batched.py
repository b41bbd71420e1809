"""The negative bound of a batch with all nodes at once: few operations, whatever the tree.

`bound` goes from node to node; here the networks of one kind lie one behind the other in a tensor
(`Stacks`), and an operation does for all nodes, or for all nodes of a depth, what it does there for
one. Values have the axes (nodes, columns, rows of the batch), so that a batch normalization of all
nodes has its channels in order. The tree's shape stands in matrices of 0, 1 and -1 (`Matrices`):
products with them copy, add up and gather, in a fixed order on every device.

With log q_c, log p_c the logarithm of the step to child c in posterior and prior, KL_decisions is
written as sum_c P(c) (log q_c - log p_c), which is that of `bound` since P(c) = P(parent) q_c. With
the view's mean and variance v, s and the prior's m, t, and k = t / (s + t), the posterior of
`layers.combined` has mean m + k (v - m) and variance k s, and its divergence from the prior is

    1/2 sum [ r - log r - 1 + k (v - m)^2 / (s + t) ],   r = s / (s + t)

The root, whose posterior is its view and whose prior is standard normal, has r = s, and v^2 last.

Trees here have two children at each inner node, as they do while they are trained. Cost and memory
as of `bound`, beside copies of units and embeddings for the nodes that see them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from models.methods.deep.variational.layers import (
    EPSILON,
    LEAST_VARIANCE,
    MOMENTUM,
    SLOPE,
    log_density,
)
from models.methods.deep.variational.network import NOISE, ROOT, Architecture, Topology, TreeNetwork

if TYPE_CHECKING:
    from torch import Tensor


class Stacks:
    """The weights that are trained, each kind one behind the other.

    flat : all learned weights in one vector, of which `network`'s are views from now on, as its
        averages are of another.
    """

    def __init__(self, network: TreeNetwork, kinds: Sequence[tuple[str, ...]]) -> None:
        """kinds : names of layers that are of one shape, each a stack."""
        self._learned = _stacks(network.weights.learned, kinds)
        self.flat, learned = _laid_out(network.weights.learned, self._learned)
        network.weights.learned.update(learned)
        moving = _stacks(network.weights.moving, kinds)
        averages, named = _laid_out(network.weights.moving, moving)
        network.weights.moving.update(named)
        self._average = {
            name: part.view(-1) for name, part in zip(moving, _split(averages, moving), strict=True)
        }

    def of(self, flat: Tensor) -> Layers:
        """The layers with the weights of a vector like `flat`."""
        parts = zip(self._learned.items(), _split(flat, self._learned), strict=True)
        return Layers(
            {name: part.view(len(each.names), *each.shape) for (name, each), part in parts},
            self._average,
        )


@dataclass(frozen=True, slots=True)
class _Stack:
    """The tensors of one kind: their names, and the shape of each."""

    names: tuple[str, ...]
    shape: tuple[int, ...]


def _stacks(tensors: dict[str, Tensor], kinds: Sequence[tuple[str, ...]]) -> dict[str, _Stack]:
    """By the name of their first."""
    stacks = {}
    for layers in kinds:
        first = layers[0]
        for name in sorted(tensors):
            if name.startswith(f"{first}.") or name == first:
                rest = name.removeprefix(first)
                stacks[name] = _Stack(
                    tuple(layer + rest for layer in layers), tuple(tensors[name].shape)
                )
    return stacks


def _split(flat: Tensor, stacks: dict[str, _Stack]) -> tuple[Tensor, ...]:
    sizes = [len(each.names) * int(np.prod(each.shape)) for each in stacks.values()]
    parts: tuple[Tensor, ...] = flat.split_with_sizes(sizes)
    return parts


def _laid_out(
    tensors: dict[str, Tensor], stacks: dict[str, _Stack]
) -> tuple[Tensor, dict[str, Tensor]]:
    """All of them in one vector, and its views by name."""
    import torch

    flat = torch.cat([tensors[name].flatten() for each in stacks.values() for name in each.names])
    views = {}
    for each, part in zip(stacks.values(), _split(flat, stacks), strict=True):
        stacked = part.view(len(each.names), *each.shape)
        views.update({name: stacked[at] for at, name in enumerate(each.names)})
    return flat, views


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of several nodes; each is named by the first node's. Values: (nodes, columns, rows).

    learned : (nodes, ...) weights, offsets and scales. average : (nodes * columns,) of batch
        normalization.
    """

    learned: dict[str, Tensor]
    average: dict[str, Tensor]

    def linear(self, name: str, values: Tensor) -> Tensor:
        import torch

        weight, offset = self.learned[f"{name}.weight"], self.learned[f"{name}.offset"]
        return torch.baddbmm(offset[:, :, None], weight.transpose(1, 2), values)

    def block(self, name: str, values: Tensor) -> Tensor:
        """In training: normalized by the batch."""
        from torch.nn import functional

        weight = self.learned[f"{name}.weight"]
        if len(weight) == 1:
            product = (weight.squeeze(0).t() @ values.squeeze(0))[None]
        else:
            product = weight.transpose(1, 2) @ values
        normalized = functional.batch_norm(
            product.view(1, -1, product.shape[2]),
            self.average[f"{name}.mean"],
            self.average[f"{name}.variance"],
            self.learned[f"{name}.scale"].view(-1),
            self.learned[f"{name}.offset"].view(-1),
            True,
            MOMENTUM,
            EPSILON,
        )
        return functional.leaky_relu(normalized, SLOPE, inplace=True).view(product.shape)


class Matrices:
    """The shape of the tree at and under `top` as matrices of `like`'s type and device.

    Nodes are by depth, the children of a node beside each other: `below` are all but `top`,
    `routers` those with children, `leaves` those without, `viewed` those whose embedding is drawn.

    seen : (viewed, then routers; depths) which units each of them sees. signs : (below, routers) 1
    for a first child, -1 for a second, at its parent. paths : (viewed, then below, then leaves;
    below) the steps on the path to each. by_level : for each depth under `top`, (nodes there, nodes
    one higher) their parents. inner : (routers, nodes). ends : (leaves, below). drawn : (viewed,)
    the place of each among draws in the order of `bound`: by the numbers of their parents.
    """

    def __init__(self, topology: Topology, split: int | None, like: Tensor) -> None:
        """split : `top`; None: it is the root, whose embedding is drawn too."""
        import torch

        depth, top = topology.depth(), ROOT if split is None else split
        levels = [[top]]
        while below := [child for node in levels[-1] for child in topology.below(node)]:
            levels.append(below)
        nodes = [node for level in levels for node in level]
        self.below = nodes[1:]
        self.routers = [node for node in nodes if topology.below(node)]
        self.leaves = [node for node in nodes if not topology.below(node)]
        self.depths = sorted({int(depth[node]) for node in nodes})
        self.viewed = nodes if split is None else self.below
        self.level_sizes = [len(level) for level in levels]
        parent = topology.parent()

        def matrix(rows: list[int], columns: list[int]) -> Tensor:
            return like.new_tensor([[float(row == column) for column in columns] for row in rows])

        self.seen = matrix([int(depth[node]) for node in self.viewed + self.routers], self.depths)
        self.signs = like.new_tensor(
            [
                [
                    (1.0 if topology.below(router)[0] == node else -1.0)
                    if parent[node] == router
                    else 0.0
                    for router in self.routers
                ]
                for node in self.below
            ]
        )
        above: dict[int, list[float]] = {top: [0.0] * len(self.below)}
        for at, node in enumerate(self.below):
            above[node] = list(above[int(parent[node])])
            above[node][at] = 1.0
        counted = [*self.viewed, *self.below, *self.leaves]
        self.paths = like.new_tensor([above[node] for node in counted])
        self.by_level = [
            matrix([int(parent[node]) for node in own], higher) for higher, own in pairwise(levels)
        ]
        by_number = [child for node in sorted(self.routers) for child in topology.below(node)]
        drawn = [*nodes[: len(self.viewed) - len(self.below)], *by_number]
        self.drawn = torch.tensor([drawn.index(node) for node in self.viewed], device=like.device)
        self.inner = matrix(self.routers, nodes)
        self.ends = matrix(self.leaves, self.below)


class BatchedBound:
    """The negative bound at and under a node, and the weights that it is trained by.

    top : the node whose routers and children are trained; None: all networks are.
    """

    def __init__(self, network: TreeNetwork, top: int | None) -> None:
        like = next(iter(network.weights.learned.values()))
        self._architecture: Architecture = network.architecture
        self._whole = top is None
        # Frozen while a split is trained.
        self._noise = network.weights.learned.get(NOISE)
        self.shape = Matrices(network.topology, top, like)
        self.stacks = Stacks(network, self._kinds())
        n, below, leaves = (
            len(each) for each in (self.shape.viewed, self.shape.below, self.shape.leaves)
        )
        share = like.new_tensor([0.5] * n + [1.0] * below + [0.0] * leaves)
        density = like.new_tensor([0.0] * (n + below) + [1.0] * leaves)
        # (2, ...) the bound with weighted divergences, and with weight 1.
        self._share, self._density = share, density
        self._sums = (share - density).repeat(2, 1)

    @property
    def n_drawn(self) -> int:
        """Nodes whose embedding is drawn."""
        return len(self.shape.viewed)

    def weigh(self, kl_weight: float) -> None:
        """Weight the divergences by this from now on."""
        self._sums[0] = kl_weight * self._share - self._density

    def _kinds(self) -> list[tuple[str, ...]]:
        shape, architecture = self.shape, self._architecture
        kinds: list[tuple[str, ...]] = []
        if self._whole:
            kinds += [(f"encoder.{layer}",) for layer in range(len(architecture.hidden_sizes))]
            kinds += [(f"level.{level}",) for level in range(architecture.max_depth)]
            if architecture.likelihood == "gaussian":
                kinds.append((NOISE,))
        kinds.append(tuple(f"node.{node}.view" for node in shape.viewed))
        for part in ("router.0", "router.1", "prior_router.0", "prior_router.1"):
            kinds.append(tuple(f"node.{node}.{part}" for node in shape.routers))
        start = 0
        for size in shape.level_sizes[1:]:
            level = shape.below[start : start + size]
            kinds += [tuple(f"node.{node}.move.{part}" for node in level) for part in (0, 1)]
            start += size
        for layer in range(len(architecture.hidden_sizes) + 1):
            kinds.append(tuple(f"node.{node}.decoder.{layer}" for node in shape.leaves))
        return kinds

    def units(self, layers: Layers, rows: Tensor) -> list[Tensor]:
        """(width, n_rows) each: the units of all levels, the root's first."""
        values = rows.t()[None]
        for layer in range(len(self._architecture.hidden_sizes)):
            values = layers.block(f"encoder.{layer}", values)
        levels = [values]
        for level in range(self._architecture.max_depth - 1, -1, -1):
            levels.append(layers.block(f"level.{level}", levels[-1]))
        return [level.squeeze(0) for level in levels[::-1]]

    def losses(
        self,
        layers: Layers,
        rows: Tensor,
        levels: Tensor | None,
        noise: Tensor,
        start: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """(2,) the sums over rows of the negative bound, by `weigh` and with weight 1.

        rows : (n_rows, n_values) scaled. levels : (depths, width, n_rows) units at the depth of
        `top` and below, down to the leaves'; None: of the networks that are trained. noise :
        (n_drawn, n_rows, latent_size) in the order of `bound`. start : the embedding
        (latent_size, n_rows) of `top` and the logarithm of the probability (n_rows,) of reaching
        it; None: `top` is the root.
        """
        import torch
        from torch.nn import functional

        shape, n_rows = self.shape, len(rows)
        noise = noise.index_select(0, shape.drawn).transpose(1, 2)
        if levels is None:
            levels = torch.stack(self.units(layers, rows)[: len(shape.depths)])
        n_below, n_routers = len(shape.below), len(shape.routers)
        seen = (shape.seen @ levels.view(len(shape.depths), -1)).view(-1, *levels.shape[1:])
        of_views, of_routers = seen.split_with_sizes([len(seen) - n_routers, n_routers])
        views = layers.linear(f"node.{shape.viewed[0]}.view", of_views)
        mean, raw = views.chunk(2, dim=1)
        variance = functional.softplus(raw) + LEAST_VARIANCE
        first = shape.routers[0]
        hidden = layers.block(f"node.{first}.router.0", of_routers)
        odds = layers.linear(f"node.{first}.router.1", hidden).view(n_routers, n_rows)
        log_step = functional.logsigmoid(shape.signs @ odds)
        log_reached = shape.paths @ log_step
        if start is not None:
            log_reached = log_reached + start[1]
        embedded = self._embedded(layers, mean, variance, noise, start)
        log_prior_step = functional.logsigmoid(shape.signs @ self._prior(layers, embedded.all))
        cost = torch.cat(
            [
                embedded.divergence,
                log_step - log_prior_step,
                self._log_density(layers, rows, embedded.all[len(embedded.all) - n_below :]),
            ]
        )
        sums: Tensor = (self._sums @ (log_reached.exp() * cost)).sum(dim=1)
        return sums

    def _embedded(
        self,
        layers: Layers,
        mean: Tensor,
        variance: Tensor,
        noise: Tensor,
        start: tuple[Tensor, Tensor] | None,
    ) -> _Embedded:
        """Down from level to level. mean, variance, noise : (n_drawn, latent_size, n_rows)."""
        import torch
        from torch.nn import functional

        sizes = self.shape.level_sizes if start is None else self.shape.level_sizes[1:]
        parts = zip(
            *(each.split_with_sizes(sizes) for each in (mean, variance, noise)), strict=True
        )
        spreads, apart, moves, drawn = [], [], [], []
        if start is None:
            own_mean, own_variance, own_noise = next(parts)
            drawn.append(torch.addcmul(own_mean, own_variance.sqrt(), own_noise))
            spreads.append(torch.ones_like(own_mean))
            apart.append(own_mean)
            moves.append(own_mean)
        else:
            drawn.append(start[0][None])
        at = 0
        for matrix, (own_mean, own_variance, own_noise) in zip(
            self.shape.by_level, parts, strict=True
        ):
            name = f"node.{self.shape.below[at]}.move"
            at += len(own_mean)
            higher = drawn[-1]
            above = (matrix @ higher.reshape(len(higher), -1)).view(-1, *higher.shape[1:])
            heads = layers.linear(f"{name}.1", layers.block(f"{name}.0", above))
            prior_mean, prior_raw = heads.chunk(2, dim=1)
            prior_variance = functional.softplus(prior_raw) + LEAST_VARIANCE
            spread = own_variance + prior_variance
            gain = prior_variance / spread
            away = own_mean - prior_mean
            move = gain * away
            deviation = (gain * own_variance).sqrt()
            drawn.append(torch.addcmul(prior_mean + move, deviation, own_noise))
            spreads.append(spread)
            apart.append(away)
            moves.append(move)
        spread, away, move = (_joined(each) for each in (spreads, apart, moves))
        ratio = variance / spread
        inside = torch.addcdiv(ratio - ratio.log(), away * move, spread)
        return _Embedded(_joined(drawn), inside.sum(dim=1) - mean.shape[1])

    def _prior(self, layers: Layers, embedding: Tensor) -> Tensor:
        """(routers, n_rows) the prior's log odds. embedding : of all nodes."""
        shape, name = self.shape, f"node.{self.shape.routers[0]}.prior_router"
        here = (shape.inner @ embedding.view(len(embedding), -1)).view(-1, *embedding.shape[1:])
        odds = layers.linear(f"{name}.1", layers.block(f"{name}.0", here))
        return odds.view(len(shape.routers), -1)

    def _log_density(self, layers: Layers, rows: Tensor, embedding: Tensor) -> Tensor:
        """(leaves, n_rows) the logarithm of the density of each row at each leaf.

        embedding : of all nodes below.
        """
        import torch

        shape, name = self.shape, f"node.{self.shape.leaves[0]}.decoder"
        n_layers = len(self._architecture.hidden_sizes)
        values = (shape.ends @ embedding.reshape(len(embedding), -1)).view(-1, *embedding.shape[1:])
        for layer in range(n_layers):
            values = layers.block(f"{name}.{layer}", values)
        weight, offset = (
            layers.learned[f"{name}.{n_layers}.{part}"] for part in ("weight", "offset")
        )
        decoded = torch.baddbmm(offset[:, None], values.transpose(1, 2), weight)
        noise = layers.learned[NOISE].squeeze(0) if NOISE in layers.learned else self._noise
        return log_density(rows, decoded, self._architecture.likelihood, noise)


@dataclass(frozen=True, slots=True)
class _Embedded:
    """all : (nodes, latent_size, n_rows) embeddings, `top` first. divergence : (n_drawn, n_rows)
    twice that of each from its prior."""

    all: Tensor
    divergence: Tensor


def _joined(parts: list[Tensor]) -> Tensor:
    import torch

    return torch.cat(parts) if len(parts) > 1 else parts[0]
