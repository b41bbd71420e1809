"""The shape and the networks of a tree: from data up to the root, and from there to the leaves.

Up: an encoder of the widths `hidden_sizes` gives the units of the deepest level, a block for each
level above gives the next level's; units d_h of level h are what the nodes at depth h see of a row.
Down: the root's embedding is standard normal; a node's transformation gives the mean and the
variance of its embedding, given its parent's; a leaf's decoder gives the data. A node with two
children has two routers, the log odds of the first child: of the prior, from the node's embedding,
and of the posterior, from d_h. A node's 'view' is the Gaussian that d_h alone suggests.

Names of layers: "encoder.i", "level.h", then for node i "node.i.view", ".move", ".prior_router",
".router", ".decoder".

`Topology` is a binary tree that grows: nodes by number, children after their parents. A node keeps
its number for good. A leaf that is pruned leaves its sibling as an only child."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Int
from models.methods.deep.variational.layers import Likelihood, Weights, gaussian

if TYPE_CHECKING:
    from torch import Generator, Tensor


NONE = -1
ROOT = 0


@dataclass(frozen=True, slots=True)
class Topology:
    """children : (n_numbers, 2) the children's numbers, `NONE` where there is none.

    Numbers of nodes that were removed occur nowhere else.
    """

    children: Int

    @classmethod
    def stump(cls) -> Topology:
        """A root with two leaves."""
        return cls(np.array([[1, 2], [NONE, NONE], [NONE, NONE]], dtype=np.int64))

    def below(self, node: int) -> list[int]:
        """The children of a node: two, one or none."""
        return [int(child) for child in self.children[node] if child != NONE]

    def nodes(self, top: int = ROOT) -> list[int]:
        """The nodes at and under `top`, ascending: parents before children."""
        reached = [top]
        for node in reached:  # grows while it is read
            reached.extend(self.below(node))
        return sorted(reached)

    def leaves(self, top: int = ROOT) -> list[int]:
        """The leaves at and under `top`, ascending."""
        return [node for node in self.nodes(top) if not self.below(node)]

    def routers(self, top: int = ROOT) -> list[int]:
        """The nodes with two children, ascending."""
        return [node for node in self.nodes(top) if len(self.below(node)) == 2]

    def parent(self) -> Int:
        """(n_numbers,) the parent of each node; `NONE` for the root and for removed nodes."""
        parent = np.full(len(self.children), NONE, dtype=np.int64)
        for node in self.nodes():
            parent[self.below(node)] = node
        return parent

    def depth(self) -> Int:
        """(n_numbers,) edges from the root; 0 for removed nodes."""
        depth = np.zeros(len(self.children), dtype=np.int64)
        for node in self.nodes():
            depth[self.below(node)] = depth[node] + 1
        return depth

    def split(self, leaf: int) -> Topology:
        """The tree with two new leaves under a leaf; they get the next two numbers."""
        first = len(self.children)
        children = np.concatenate([self.children, np.full((2, 2), NONE, dtype=np.int64)])
        children[leaf] = first, first + 1
        return Topology(children)

    def pruned(self, leaf: int) -> Topology:
        """The tree without a leaf, and without ancestors that lose their only child.

        The root stays: the last leaf is not to be pruned.
        """
        children, parent = self.children.copy(), self.parent()
        node = leaf
        while True:
            above = int(parent[node])
            children[above][children[above] == node] = NONE
            if (children[above] != NONE).any():
                return Topology(children)
            node = above

    def paths(self) -> tuple[list[int], dict[int, list[int]]]:
        """The leaves, and for each node the places of the leaves at or under it among them."""
        leaves, parent = self.leaves(), self.parent()
        under: dict[int, list[int]] = {node: [] for node in self.nodes()}
        for place, leaf in enumerate(leaves):
            node = leaf
            while node != NONE:
                under[node].append(place)
                node = int(parent[node])
        return leaves, under


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
    """(n_rows, n_values) what a leaf's decoder gives, for `layers.log_density`."""
    values = embedding
    for layer in range(len(architecture.hidden_sizes)):
        values = weights.block(f"node.{leaf}.decoder.{layer}", values, training)
    return weights.linear(f"node.{leaf}.decoder.{len(architecture.hidden_sizes)}", values)
