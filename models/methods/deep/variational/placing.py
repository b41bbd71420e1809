"""The trained networks as plain arrays, and rows placed by them in double precision.

A row's place needs the units of the levels and the posterior's routers alone; nothing is drawn. The
result has the nodes of the grown tree, except nodes that have an only child.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float, Int
from models.clusters.placing import by_size
from models.method import Model, Predictions
from models.methods.deep.variational.layers import Weights
from models.methods.deep.variational.network import Architecture, TreeNetwork, score, units
from models.methods.deep.variational.scaling import Scaling
from models.methods.deep.variational.topology import ROOT, Topology
from models.tree.build import from_parents, levels_below
from models.tree.tree import Tree
from models.tree.walk import paths

if TYPE_CHECKING:
    from torch import Tensor

_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of the result, parents first.

    number : (n_nodes,) each one's number in the grown tree. parent : (n_nodes,) int32.
    """

    number: Int
    parent: npt.NDArray[np.int32]

    @classmethod
    def of(cls, topology: Topology) -> Nodes:
        """The nodes that have two children or none."""
        above = topology.parent()
        kept = [node for node in topology.nodes() if len(topology.below(node)) != 1]
        row = {node: at for at, node in enumerate(kept)}
        parent = np.full(len(kept), -1, dtype=np.int32)
        for at, node in enumerate(kept[1:], start=1):
            node = int(above[node])
            while node not in row:
                node = int(above[node])
            parent[at] = row[node]
        return cls(np.array(kept, dtype=np.int64), parent)

    @property
    def leaves(self) -> Int:
        """(n_leaves,) rows of the leaves."""
        return np.flatnonzero(np.bincount(self.parent[1:], minlength=self.parent.size) == 0)

    def tree(self, leaf_of_point: Int, names: list[str], extra: Mapping[str, Float]) -> Tree:
        """The tree; heights are the most edges down to a leaf.

        leaf_of_point : (n_points,) rows of leaves. names : of the leaves from the largest to the
            smallest, ties in the order of their rows; at least as many as leaves.
        """
        leaves = self.leaves
        size = np.bincount(leaf_of_point, minlength=self.parent.size)[leaves]
        order = leaves[by_size(size, leaves[:, None].astype(np.float64))]
        name = np.full(self.parent.size, None, dtype=object)
        name[order] = names[: order.size]
        return from_parents(
            self.parent, levels_below(self.parent), name, leaf_of_point, extra=extra
        )


def arrays_of(network: TreeNetwork) -> dict[str, Array]:
    """The network as arrays by name, for a model."""
    arrays: dict[str, Array] = {"children": network.topology.children}
    weights = network.weights
    for kind, tensors in (("learned", weights.learned), ("moving", weights.moving)):
        for name, tensor in tensors.items():
            arrays[f"{kind}.{name}"] = np.array(tensor.detach().cpu().numpy())
    return arrays


def facts_of(architecture: Architecture) -> dict[str, Any]:
    """The shape of the network as JSON, for a model."""
    return {
        "hidden_sizes": list(architecture.hidden_sizes),
        "latent_size": architecture.latent_size,
        "max_depth": architecture.max_depth,
    }


def network_of(model: Model) -> TreeNetwork:
    """The network that a model holds, in double precision."""
    facts, arrays = model.facts, model.arrays
    architecture = Architecture(
        len(arrays["centre"]),
        tuple(facts["hidden_sizes"]),
        facts["latent_size"],
        facts["max_depth"],
        facts["likelihood"],
    )
    weights = Weights(_doubles(arrays, "learned."), _doubles(arrays, "moving."))
    return TreeNetwork(architecture, Topology(np.array(arrays["children"])), weights)


def _doubles(arrays: Mapping[str, Array], prefix: str) -> dict[str, Tensor]:
    import torch

    return {
        name.removeprefix(prefix): torch.tensor(np.array(array, dtype=np.float64))
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows with the posterior of every node.

    leaf : (n_rows,) row of each one's most probable leaf.
    log_probability : (n_rows, n_nodes) of the path to each node.
    entropy : (n_nodes,) mean entropy in nats of the posterior of a node's decision, over the rows
        by their probability of reaching it; NaN at leaves.
    """

    leaf: Int
    log_probability: Float
    entropy: Float
    nodes: Nodes

    @property
    def logits(self) -> Float:
        """(n_rows, n_leaves)."""
        return self.log_probability[:, self.nodes.leaves]

    def weight(self) -> Float:
        """(n_nodes,) mean probability of each node over the rows; not for no rows."""
        return np.asarray(np.exp(self.log_probability).mean(axis=0))

    def predictions(self, tree: Tree) -> Predictions:
        """The rows at their leaves, with the probabilities of the nodes on their paths."""
        start, node = paths(tree, self.leaf)
        row = np.repeat(np.arange(len(self.leaf)), np.diff(start))
        probability = np.exp(self.log_probability[row, node])
        return Predictions(
            self.leaf, start, node, np.maximum(probability, np.finfo(np.float64).tiny)
        )


def place(model: Model, rows: Array) -> Placed:
    """Rows (n_rows, n_values), as they were given, in the tree of a model.

    Raises UsageError for values that are not finite. O(n_rows) network passes.
    """
    import torch
    from torch.nn import functional

    network, scaling = network_of(model), Scaling.from_model(model.arrays, model.facts)
    topology, depth = network.topology, network.topology.depth()
    nodes = Nodes.of(topology)
    place_of = {int(number): row for row, number in enumerate(nodes.number)}
    log_probability = np.zeros((len(rows), nodes.number.size))
    entropy, reach = np.zeros((2, nodes.number.size))
    for block, scaled in scaling.blocks(rows, _ROWS):
        levels = units(network.weights, network.architecture, torch.from_numpy(scaled), False)
        log_here = {ROOT: levels[0].new_zeros(len(scaled))}
        for node in topology.nodes():
            below, here = topology.below(node), log_here[node]
            if node in place_of:
                log_probability[block, place_of[node]] = here.numpy()
            if len(below) == 1:
                log_here[below[0]] = here
            elif below:
                odds = score(network.weights, node, levels[depth[node]], False)
                first, second = functional.logsigmoid(odds), functional.logsigmoid(-odds)
                log_here[below[0]], log_here[below[1]] = here + first, here + second
                unsure = -(first.exp() * first + second.exp() * second)
                entropy[place_of[node]] += float((here.exp() * unsure).sum())
                reach[place_of[node]] += float(here.exp().sum())
    leaves = nodes.leaves
    leaf = leaves[log_probability[:, leaves].argmax(axis=1)]
    entropy /= np.where(reach > 0.0, reach, 1.0)
    entropy[leaves] = np.nan
    return Placed(leaf, log_probability, entropy, nodes)
