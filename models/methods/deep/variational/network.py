"""The networks of a tree: from data up to the root, and from the root down to the leaves.

Up: an encoder of the widths `hidden_sizes` gives the units of the deepest level, a block for each
level above gives the next level's; units d_h of level h are what the nodes at depth h see of a row.
Down: the root's embedding is standard normal; a node's transformation gives the mean and the
variance of its embedding, given its parent's; a leaf's decoder gives the data. A node with two
children has two routers, the log odds of the first child: of the prior, from the node's embedding,
and of the posterior, from d_h. A node's 'view' is the Gaussian that d_h alone suggests.

Names of layers: "encoder.i", "level.h", then for node i "node.i.view", ".move", ".prior_router",
".router", ".decoder".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from models.methods.deep.variational.densities import Likelihood, gaussian
from models.methods.deep.variational.layers import Weights
from models.methods.deep.variational.topology import ROOT, Topology

if TYPE_CHECKING:
    from torch import Generator, Tensor

NOISE = "noise.log_variance"


@dataclass(frozen=True, slots=True)
class Architecture:
    """n_values : values of a row. hidden_sizes : widths of the encoder, the first first; decoders
    have them the other way round. latent_size : of every embedding. max_depth : of the tree.
    """

    n_values: int
    hidden_sizes: tuple[int, ...]
    latent_size: int
    max_depth: int
    likelihood: Likelihood

    @property
    def width(self) -> int:
        """Units of every level."""
        return self.hidden_sizes[-1]


@dataclass(slots=True)
class TreeNetwork:
    """The networks of all nodes."""

    architecture: Architecture
    topology: Topology
    weights: Weights

    @classmethod
    def stump(cls, architecture: Architecture, generator: Generator) -> TreeNetwork:
        """The networks of a root with two leaves, at random."""
        import torch

        weights = Weights()
        widths = (architecture.n_values, *architecture.hidden_sizes)
        for layer, (n_in, n_out) in enumerate(pairwise(widths)):
            weights.add_block(f"encoder.{layer}", n_in, n_out, generator)
        for level in range(architecture.max_depth):
            weights.add_block(f"level.{level}", architecture.width, architecture.width, generator)
        if architecture.likelihood == "gaussian":
            weights.learned[NOISE] = torch.zeros((), device=generator.device)
        network = cls(architecture, Topology.stump(), weights)
        weights.add_linear(
            f"node.{ROOT}.view", architecture.width, 2 * architecture.latent_size, generator
        )
        network.add_children(ROOT, generator)
        return network

    def add_children(self, node: int, generator: Generator) -> None:
        """The routers of a node and the networks of its two children, which are leaves."""
        shape, weights = self.architecture, self.weights
        n_latent, width = shape.latent_size, shape.width
        for router, n_in in (("prior_router", n_latent), ("router", width)):
            weights.add_block(f"node.{node}.{router}.0", n_in, width, generator)
            weights.add_linear(f"node.{node}.{router}.1", width, 1, generator)
        widths = (n_latent, *shape.hidden_sizes[::-1])
        for child in self.topology.below(node):
            weights.add_block(f"node.{child}.move.0", n_latent, width, generator)
            weights.add_linear(f"node.{child}.move.1", width, 2 * n_latent, generator)
            weights.add_linear(f"node.{child}.view", width, 2 * n_latent, generator)
            for layer, (n_in, n_out) in enumerate(pairwise(widths)):
                weights.add_block(f"node.{child}.decoder.{layer}", n_in, n_out, generator)
            last = f"node.{child}.decoder.{len(shape.hidden_sizes)}"
            weights.add_linear(last, widths[-1], shape.n_values, generator)

    def with_new_split(self, node: int, generator: Generator) -> TreeNetwork:
        """This network with other random weights for what `add_children` gave a node; all other
        weights are shared."""
        weights = Weights(dict(self.weights.learned), dict(self.weights.moving))
        weights.remove(self.prefixes(node))
        network = TreeNetwork(self.architecture, self.topology, weights)
        network.add_children(node, generator)
        return network

    def trained_names(self, node: int | None) -> list[str]:
        """The names of all weights; of a node, those that `add_children` gives it."""
        if node is None:
            return sorted(self.weights.learned)
        prefixes = self.prefixes(node)
        return sorted(name for name in self.weights.learned if name.startswith(prefixes))

    def prefixes(self, node: int) -> tuple[str, ...]:
        """What the names of the layers that `add_children` gives a node start with."""
        children = (f"node.{child}." for child in self.topology.below(node))
        return (f"node.{node}.prior_router.", f"node.{node}.router.", *children)


def units(
    weights: Weights, architecture: Architecture, rows: Tensor, training: bool
) -> list[Tensor]:
    """The units (n_rows, width) of each level, the root's first."""
    values = rows
    for layer in range(len(architecture.hidden_sizes)):
        values = weights.block(f"encoder.{layer}", values, training)
    levels = [values]
    for level in range(architecture.max_depth - 1, -1, -1):
        levels.append(weights.block(f"level.{level}", levels[-1], training))
    return levels[::-1]


def view(weights: Weights, node: int, level_units: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and variance (n_rows, latent_size) that a row's units suggest at a node."""
    return gaussian(weights.linear(f"node.{node}.view", level_units))


def moved(
    weights: Weights, node: int, parent_embedding: Tensor, training: bool
) -> tuple[Tensor, Tensor]:
    """The prior mean and variance (n_rows, latent_size) at a node, given its parent's embedding."""
    hidden = weights.block(f"node.{node}.move.0", parent_embedding, training)
    return gaussian(weights.linear(f"node.{node}.move.1", hidden))


def score(weights: Weights, node: int, seen: Tensor, training: bool) -> Tensor:
    """(n_rows,) the posterior log odds of a node's first child, from the units of its level."""
    hidden = weights.block(f"node.{node}.router.0", seen, training)
    return weights.linear(f"node.{node}.router.1", hidden).squeeze(1)


def prior_score(weights: Weights, node: int, embedding: Tensor, training: bool) -> Tensor:
    """(n_rows,) the prior log odds of a node's first child, from the node's embedding."""
    hidden = weights.block(f"node.{node}.prior_router.0", embedding, training)
    return weights.linear(f"node.{node}.prior_router.1", hidden).squeeze(1)


def decoded(
    weights: Weights, architecture: Architecture, leaf: int, embedding: Tensor, training: bool
) -> Tensor:
    """(n_rows, n_values) what a leaf's decoder gives, for `densities.log_density`."""
    values = embedding
    for layer in range(len(architecture.hidden_sizes)):
        values = weights.block(f"node.{leaf}.decoder.{layer}", values, training)
    return weights.linear(f"node.{leaf}.decoder.{len(architecture.hidden_sizes)}", values)
