"""Rows at the leaves of a cluster tree, the probability of each node on the way, images of nodes.

A row is embedded and goes to the leaf with the nearest centre, as in training. The probability of a
leaf is its posterior in a mixture of Gaussians around the leaves' centres, with equal weights and
one spherical variance (`models.clusters.kmeans`); that of an inner node is the sum over the leaves
below it.

Cost: O(n W) for W weights of the encoder, and O(n n_nodes), by blocks.

The images of a node are the decoded centre, and the mean of the images below.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays, Float, Int, Single, row_blocks
from models.clusters.kmeans import log_posterior, squared_distances
from models.errors import UsageError
from models.inputs.checks import require_width
from models.inputs.data import ImageSize, require_finite
from models.method import Model, Predictions
from models.methods.deep.networks.autoencoder import forward, widths_of
from models.methods.deep.networks.scaling import BLOCK, RowScaling
from models.tree.tree import Tree
from models.tree.walk import paths


def embed(arrays: Arrays, rows: Array) -> Single:
    """(n, E) embeddings of rows (n, n_features), by the arrays of a model.

    Raises UsageError for a row so large that its embedding is not finite.
    """
    widths, scaling = widths_of(arrays, "encoder"), RowScaling.of(arrays)
    out = np.empty((len(rows), widths[-1]), dtype=np.float32)
    for block in row_blocks(len(rows), max(widths), BLOCK):
        with np.errstate(over="ignore", invalid="ignore"):
            out[block] = forward(arrays, "encoder", scaling.apply(rows[block]))
        far = np.flatnonzero(~np.isfinite(out[block]).all(axis=1))
        if far.size:
            raise UsageError(
                f"Row {block.start + far[0]} (counted from 0) of input 'features' has values so "
                "large that its embedding is not finite.",
                code="unusable-input",
                role="features",
                row=int(block.start + far[0]),
            )
    return out


def log_posteriors(model: Model, rows: Array) -> tuple[Int, Float]:
    """(n,) the number of each row's leaf, and (n, n_leaves) log probabilities of the leaves.

    Raises UsageError for another width than in the fit, and values that are not finite.
    """
    require_width(rows, len(model.arrays["mean"]))
    require_finite(rows, "features")
    centres = model.arrays["centers"][model.arrays["leaves"]].astype(np.float64)
    squared = squared_distances(embed(model.arrays, rows), centres)
    leaf = squared.argmin(axis=1)
    return leaf, log_posterior(squared, float(model.arrays["variance"][0]))


def place(model: Model, tree: Tree, rows: Array) -> Predictions:
    """The leaf of each row, and the path to it. Raises UsageError as `log_posteriors`."""
    number, log = log_posteriors(model, rows)
    leaf = tree.leaves[number]
    start, node = paths(tree, leaf)
    probability = np.empty(node.size)
    for block in row_blocks(len(rows), tree.n_nodes, BLOCK):
        # Each row's probabilities are normalized up to rounding; its own leaf has at least 1 / L.
        mass = np.zeros((tree.n_nodes, block.stop - block.start))
        mass[tree.leaves] = np.exp(log[block].T)
        for below in range(tree.n_nodes - 1, 0, -1):
            mass[tree.parent[below]] += mass[below]
        mass = np.minimum(mass, 1.0)
        mass[0] = 1.0
        length = np.diff(start[block.start : block.stop + 1])
        inside = slice(start[block.start], start[block.stop])
        row = np.repeat(np.arange(len(length)), length)
        probability[inside] = mass[node[inside], row]
    return Predictions(leaf, start, node, probability)


CAPTION = "The centre as the network decodes it, and the mean of the images below"


def node_pictures(
    tree: Tree,
    centres: Single,
    network: Arrays,
    scaling: RowScaling,
    rows: Array,
    size: ImageSize,
) -> npt.NDArray[np.uint8]:
    """(n_nodes, 2, height, width, channels) images.

    centres : (n_nodes, E). network : with the decoder's layers. rows : (n_points, n_values) images.

    Values from the least to the largest of all rows become 0 to 255; bytes stay.
    """
    decoded = scaling.undo(forward(network, "decoder", centres))
    both = np.stack([decoded, _means(tree, rows)], axis=1)
    low, high = (0.0, 255.0) if rows.dtype == np.uint8 else (float(rows.min()), float(rows.max()))
    bright = np.clip((both - low) * (255.0 / (high - low)), 0.0, 255.0)
    return np.rint(bright).astype(np.uint8).reshape(tree.n_nodes, 2, *size)


def _means(tree: Tree, rows: Array) -> Float:
    """(n_nodes, n_values) the mean row under each node, of which none is empty."""
    sums = np.zeros((tree.n_nodes, rows.shape[1]))
    for block in row_blocks(len(rows), rows.shape[1], BLOCK):
        np.add.at(sums, tree.leaf_of_point[block], rows[block])
    for node in range(tree.n_nodes - 1, 0, -1):
        sums[tree.parent[node]] += sums[node]
    means: Float = sums / tree.size[:, None]
    return means
