"""Images of the nodes of a cluster tree: the decoded centre, and the mean of the images below."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from models.arrays import Array, Arrays, Float, Single, row_blocks
from models.inputs.data import ImageSize
from models.methods.deep.networks.autoencoder import forward
from models.methods.deep.networks.scaling import BLOCK, RowScaling
from models.tree.tree import Tree

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
