"""The losses of a batch of embedded rows in a cluster tree, beside that of reconstruction.

    centres      mean over leaves l of |m_l - c_l|, m_l the mean of the batch's points in l; 0 where
                 it has none. m_l is held fixed, so that this moves centres alone.
    compression  mean over points z and nodes n but the root of |p_n . (c_n - z)| where z lies below
                 n, else 0; p_n = (c_n - c_s) / |c_n - c_s|, s the sibling of n. c_n and p_n are
                 held fixed, so that this moves points alone, and only in the direction that tells
                 the two nodes apart.

A point lies in the leaf with the nearest centre and in all nodes above it.

Source: Mautz, Plant and Böhm (2020), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class TreeLosses:
    """Losses of a batch, each a tensor of one number; (n_leaves,) the points of each leaf."""

    centres: Tensor
    compression: Tensor
    counts: Tensor


def nearest_leaves(embedding: Tensor, leaf_centres: Tensor) -> Tensor:
    """(n,) the number of the leaf with the nearest centre, the first of several.

    embedding : (n, E). leaf_centres : (n_leaves, E).
    """
    import torch

    squared = torch.addmm(
        (leaf_centres * leaf_centres).sum(dim=1), embedding, leaf_centres.T, alpha=-2.0
    )
    return squared.argmin(dim=1)


def directions(node_centres: Tensor, sibling: Tensor) -> Tensor:
    """(n_nodes + 1, E) unit vectors to each node's centre from its sibling's; zero for the root,
    for centres that coincide, and in the last row."""
    import torch

    apart = node_centres - node_centres[sibling]
    length = apart.norm(dim=1, keepdim=True)
    unit = torch.where(length > 0, apart / length, 0.0)
    return torch.cat([unit, unit.new_zeros(1, unit.shape[1])])


def tree_losses(
    embedding: Tensor,
    leaf_centres: Tensor,
    node_centres: Tensor,
    sibling: Tensor,
    paths: Tensor,
    n_versions: int = 1,
) -> TreeLosses:
    """The losses of a batch.

    embedding : (n n_versions, E), with a gradient: of the n points, then of other versions of them,
        which lie in the leaves of the first. leaf_centres : (n_leaves, E), with a gradient.
    node_centres : (n_nodes, E) of all nodes, held fixed. sibling, paths : as in `TreeShape`.

    O(n n_versions (n_leaves + depth) E).
    """
    import torch

    n_leaves, n_nodes = len(leaf_centres), len(node_centres)
    with torch.no_grad():
        leaf = nearest_leaves(embedding[: len(embedding) // n_versions], leaf_centres)
        counts = torch.bincount(leaf, minlength=n_leaves)
        leaf = leaf.repeat(n_versions)
        sums = torch.zeros_like(leaf_centres).index_add_(0, leaf, embedding)
        means = sums / (n_versions * counts.clamp(min=1))[:, None]
        direction = directions(node_centres, sibling)
        # Where the direction is zero, so is a node's part in the loss.
        offset = torch.cat([node_centres, node_centres.new_zeros(1, node_centres.shape[1])])
        offset = (offset * direction).sum(dim=1)
        node = paths[leaf]
    apart = (means - leaf_centres).norm(dim=1)
    centres = torch.where(counts > 0, apart, 0.0).sum() / n_leaves
    along = (direction[node] * embedding[:, None, :]).sum(dim=2)
    compression = (offset[node] - along).abs().sum() / (len(embedding) * max(1, n_nodes - 1))
    return TreeLosses(centres, compression, counts)
