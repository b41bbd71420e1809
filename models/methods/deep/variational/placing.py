"""The trained networks as plain arrays, rows placed by them, and images of nodes.

Rows are placed in double precision. A row's place needs the units of the levels and the posterior's
routers alone; nothing is drawn. The result has the nodes of the grown tree, except nodes that have
an only child.

`Scaling` has rows as the networks take them: images in [0, 1], other values around 0 with mean
variance 1.

Images without negative values are divided by their largest value where that is above 1, so that
integers of 8 bits lie in [0, 1]. Then Bernoulli values stay as they are; Gaussian ones are scaled
as DeepECT's rows (`networks.scaling`).

Images of a node show what its points look like, and what the prior draws there.

The first image of a node is the mean reconstruction of its points: each one decoded at its mean
embeddings, leaves weighted by their posterior. The others are samples of the prior: root embeddings
are drawn and passed down all branches; a node shows draws in proportion to their prior probability
of reaching it, each decoded at a leaf below the node in proportion to that leaf's probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from models.answers.learned_steps import unpacked
from models.arrays import Array, Float, Int, Single, row_blocks
from models.clusters.placing import by_size
from models.errors import UsageError
from models.inputs.data import ImageSize, require_finite
from models.method import Model, Predictions
from models.methods.deep.networks.scaling import BLOCK, RowScaling, measure_scaling
from models.methods.deep.variational.bound import Reached, drawn, rooted, stepped
from models.methods.deep.variational.layers import Likelihood, Weights, decoded_mean
from models.methods.deep.variational.network import (
    ROOT,
    Architecture,
    Topology,
    TreeNetwork,
    decoded,
    moved,
    prior_score,
    score,
    units,
)
from models.methods.deep.variational.phases import parts_of
from models.tree.build import from_parents, levels_below
from models.tree.tree import Tree
from models.tree.walk import paths

if TYPE_CHECKING:
    from torch import Generator, Tensor


NARROW = 2.0**-6
"""Probabilities and pixels that vary take up more of [0, 1] than this."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """How rows are scaled, and what they are then. lowest, highest : values of the rows."""

    likelihood: Likelihood
    scale: RowScaling
    lowest: float
    highest: float

    @classmethod
    def of(cls, rows: Array, order: Int, likelihood: Likelihood | None, images: bool) -> Scaling:
        """The scaling of finite rows (n_points, n_values).

        order : (n_points,) in which rows are read, so that last digits do not depend on theirs.
        likelihood : None: 'bernoulli' where all values lie in [0, 1] once images are scaled, and
            do not differ by less than `NARROW` alone: such values are measured on another scale.

        Raises UsageError for 'bernoulli' and values outside [0, 1].
        """
        lowest, highest = float(rows.min()), float(rows.max())
        unit = highest if images and lowest >= 0.0 and highest > 1.0 else 1.0
        within = lowest >= 0.0 and highest / unit <= 1.0
        if likelihood == "bernoulli" and not within:
            raise UsageError(
                "Parameter 'likelihood' is 'bernoulli', which needs values from 0 to 1, but input "
                f"'features' has values from {lowest:.4g} to {highest:.4g}. Use 'gaussian', or "
                "scale the input.",
                code="wrong-parameter",
                parameter="likelihood",
            )
        narrow = 0.0 < highest / unit - lowest / unit < NARROW
        if likelihood == "bernoulli" or (likelihood is None and within and not narrow):
            stretched = RowScaling(np.zeros(rows.shape[1]), unit)
            return cls("bernoulli", stretched, lowest, highest)
        return cls("gaussian", measure_scaling(rows, order), lowest, highest)

    @classmethod
    def from_model(cls, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> Scaling:
        """The scaling that `arrays` and `facts` give."""
        lowest, highest = facts["range"]
        return cls(
            facts["likelihood"], RowScaling(arrays["centre"], facts["spread"]), lowest, highest
        )

    def facts(self) -> dict[str, Any]:
        """All but the centre, as JSON."""
        return {
            "likelihood": self.likelihood,
            "spread": float(self.scale.factor),
            "range": [self.lowest, self.highest],
        }

    def blocks(self, rows: Array, most: int | None = None) -> Iterator[tuple[slice, Float]]:
        """The rows scaled, by blocks of at most `most` rows.

        Raises UsageError for values that are not finite.
        """
        n_values = BLOCK if most is None else min(BLOCK, most * rows.shape[1])
        for block in row_blocks(rows.shape[0], rows.shape[1], n_values):
            values = rows[block].astype(np.float64)
            require_finite(values, "features", first_row=block.start)
            yield block, (values - self.scale.mean) / self.scale.factor

    def singles(self, rows: Array, order: Int) -> Single:
        """(n_points, n_values) finite rows scaled, in this order and in single precision."""
        scaled = np.empty(rows.shape, dtype=np.float32)
        for block in row_blocks(rows.shape[0], rows.shape[1], BLOCK):
            scaled[block] = self.scale.apply(rows[order[block]])
        return scaled

    def pixels(self, decoded: Array) -> Array:
        """Means of the data, scaled, as grey or colour levels 0 to 255 (uint8)."""
        values = self.scale.undo(decoded)
        lowest = 0.0 if self.lowest >= 0.0 else self.lowest
        highest = max(1.0, self.highest) if self.lowest >= 0.0 else self.highest
        share = np.clip((values - lowest) / ((highest - lowest) or 1.0), 0.0, 1.0)
        return np.rint(255.0 * share).astype(np.uint8)


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


def learned(state: Array, order: Int, names: list[str]) -> Tree:
    """A tree that `growth` kept on the way. order : (n_points,) the row of each of its points."""
    parent, _, leaf = unpacked(state)
    leaf_of_point = np.empty(len(order), dtype=np.int64)
    leaf_of_point[order] = leaf
    nodes = Nodes(np.arange(len(parent)), parent.astype(np.int32))
    return nodes.tree(leaf_of_point, names, {})


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


N_SAMPLES = 7
"""Samples of each node."""

CAPTION = (
    f"The first image is the mean reconstruction of the node's points, the other {N_SAMPLES} are "
    "samples of the model's prior that reach the node"
)

_DRAWS = 256
_BATCH = 1024


def node_pixels(
    network: TreeNetwork,
    scaling: Scaling,
    rows: Tensor,
    image_size: ImageSize,
    generator: Generator,
) -> npt.NDArray[np.uint8]:
    """(n_nodes, 1 + N_SAMPLES, height, width, channels) images of the nodes of the result.

    rows : (n_points, n_values) scaled. O(n_points) passes through all decoders.
    """
    means = mean_reconstructions(network, rows)
    samples = prior_samples(network, generator)
    both = np.concatenate([means[:, None], samples], axis=1)
    return scaling.pixels(both).reshape(*both.shape[:2], *image_size)


def mean_reconstructions(network: TreeNetwork, rows: Tensor) -> Float:
    """(n_nodes, n_values) mean over rows of the decoded means, weighted by P(leaf | row)."""
    import torch

    nodes, topology = Nodes.of(network.topology), network.topology
    row_of = {int(number): row for row, number in enumerate(nodes.number)}
    total = torch.zeros((nodes.number.size, rows.shape[1]), dtype=torch.float64)
    weight = np.zeros(nodes.number.size)
    depth = topology.depth()
    for part in parts_of(rows, _BATCH):
        levels = units(network.weights, network.architecture, part, False)
        reached, _ = rooted(network.weights, levels[0], None)
        for node in topology.nodes():
            if topology.below(node):
                stepped(
                    network.weights, topology, node, levels, int(depth[node]), reached, None, False
                )
                continue
            probability = reached.log_probability[node].exp()
            images = _images(network, node, reached.embedding[node])
            total[row_of[node]] += (probability @ images).double().cpu()
            weight[row_of[node]] += float(probability.sum())
    sums = total.numpy()
    for row in range(nodes.number.size - 1, 0, -1):
        sums[nodes.parent[row]] += sums[row]
        weight[nodes.parent[row]] += weight[row]
    return np.asarray(sums / np.maximum(weight, np.finfo(np.float64).tiny)[:, None])


def prior_samples(network: TreeNetwork, generator: Generator) -> Float:
    """(n_nodes, N_SAMPLES, n_values) decoded means of draws of the prior that reach each node."""
    import torch
    from torch.nn import functional

    weights, topology = network.weights, network.topology
    like = next(iter(weights.learned.values()))

    def noise(tensor: Tensor) -> Tensor:
        return torch.randn(
            tensor.shape, generator=generator, device=tensor.device, dtype=tensor.dtype
        )

    start = like.new_zeros((_DRAWS, network.architecture.latent_size))
    reached = Reached({ROOT: noise(start)}, {ROOT: like.new_zeros(_DRAWS)})
    images: dict[int, Array] = {}
    for node in topology.nodes():
        below, here = topology.below(node), reached.log_probability[node]
        embedding = reached.embedding[node]
        if not below:
            images[node] = _images(network, node, embedding).cpu().numpy()
            continue
        steps = [torch.zeros_like(here)]
        if len(below) == 2:
            odds = prior_score(weights, node, embedding, False)
            steps = [functional.logsigmoid(odds), functional.logsigmoid(-odds)]
        for child, step in zip(below, steps, strict=True):
            reached.log_probability[child] = here + step
            reached.embedding[child] = drawn(*moved(weights, child, embedding, False), noise)
    probability = {
        node: log.double().exp().cpu().numpy() for node, log in reached.log_probability.items()
    }
    rng = np.random.default_rng(
        int(torch.randint(2**62, (), generator=generator, device=like.device))
    )
    nodes = Nodes.of(topology)
    chosen = np.empty((nodes.number.size, N_SAMPLES, network.architecture.n_values))
    for row, number in enumerate(nodes.number.tolist()):
        leaves = topology.leaves(number)
        joint = np.stack([probability[leaf] for leaf in leaves], axis=1)
        # A draw and a leaf below the node, in proportion to the probability of reaching the leaf.
        share = joint.ravel() + np.finfo(np.float64).tiny
        picks = rng.choice(share.size, N_SAMPLES, p=share / share.sum())
        for at, pick in enumerate(picks.tolist()):
            draw, place = divmod(pick, len(leaves))
            chosen[row, at] = images[leaves[place]][draw]
    return chosen


def _images(network: TreeNetwork, leaf: int, embedding: Tensor) -> Tensor:
    architecture = network.architecture
    output = decoded(network.weights, architecture, leaf, embedding, False)
    return decoded_mean(output, architecture.likelihood)
