"""Images of the nodes of a tree: what its points look like, and what the prior draws there.

The first image of a node is the mean reconstruction of its points: each one decoded at its mean
embeddings, leaves weighted by their posterior. The others are samples of the prior: root embeddings
are drawn and passed down all branches; a node shows draws in proportion to their prior probability
of reaching it, each decoded at a leaf below the node in proportion to that leaf's probability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Float
from models.inputs.data import ImageSize
from models.methods.deep.variational.bound import Reached, drawn, rooted, stepped
from models.methods.deep.variational.densities import decoded_mean
from models.methods.deep.variational.network import (
    TreeNetwork,
    decoded,
    moved,
    prior_score,
    units,
)
from models.methods.deep.variational.phases import parts_of
from models.methods.deep.variational.placing import Nodes
from models.methods.deep.variational.scaling import Scaling
from models.methods.deep.variational.topology import ROOT

if TYPE_CHECKING:
    from torch import Generator, Tensor

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
