"""The leaves of a cluster tree while they learn: losses of a batch, their gradients, and weights.

    centres      mean over leaves l of |m_l - c_l|, m_l the mean of the batch's points in l; 0 where
                 it has none. m_l is held fixed, so that this moves centres alone.
    compression  mean over points z and nodes n but the root of |p_n . (c_n - z)| where z lies below
                 n, else 0; p_n = (c_n - c_s) / |c_n - c_s|, s the sibling of n. c_n and p_n are
                 held fixed, so that this moves points alone, and only in the direction that tells
                 the two nodes apart.

A point lies in the leaf with the nearest centre and in all nodes above it.

Gradients are written out, and sums over the points of a leaf are products with a matrix of 0 and 1,
which a GPU adds in a fixed order. Nothing is read back, so that a step can be recorded
(`models.running.graphs`): once a leaf is light enough to be removed, further steps change nothing,
until the processor looks and removes it.

Source: Mautz, Plant and Böhm (2020), section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from models.arrays import Array, Arrays, Mask, Single
from models.numerics.descent import Adam

if TYPE_CHECKING:
    from torch import Tensor

_LEAST = 1e-30
"""Added to weights, so that a node whose leaves all weigh nothing has their plain mean; and the
least length that vectors are divided by."""


def nearest_leaves(embedding: Tensor, leaf_centres: Tensor) -> Tensor:
    """(n,) the number of the leaf with the nearest centre, the first of several.

    embedding : (n, E). leaf_centres : (n_leaves, E).
    """
    import torch

    squared = torch.bmm(leaf_centres[:, None, :], leaf_centres[:, :, None]).view(-1)
    return torch.addmm(squared, embedding, leaf_centres.T, alpha=-2.0).argmin(dim=1)


class LeafSteps:
    """Centres, optimizer and weights of the leaves of one tree, on a device.

    gradient : (n_leaves, E + 1) of the centres, 0 in the last column. weights : (n_leaves,).
    stopped, going : 1 and 0 once a leaf is too light, before 0 and 1.
    """

    def __init__(
        self,
        below: Mask,
        centres: Single,
        weights: Single,
        *,
        pace: float,
        threshold: float,
        learning_rate: float,
        loss_weight: float,
        n_versions: int,
        device: str,
    ) -> None:
        """below : (2 P, n_leaves) whether a leaf is below a node, of all nodes but the root, with
        siblings side by side. centres : (n_leaves, E).

        pace : the share of a batch in the moving average of weights. threshold : the weight from
        which a leaf is too light. loss_weight : of both losses, in the gradients. n_versions : of
        each point in a batch.
        """
        import torch

        n_leaves, n_columns = centres.shape
        known = torch.from_numpy(np.ascontiguousarray(centres)).to(device)
        self._centres = known.new_ones(n_leaves, n_columns + 1)
        self._centres[:, :-1] = known
        self.adam = Adam(self._centres, learning_rate)
        self.gradient = torch.zeros_like(self._centres)
        self.weights = torch.from_numpy(weights).to(device, known.dtype)
        self.stopped = known.new_zeros((), dtype=torch.float32)
        self.going = torch.ones_like(self.stopped)
        self._below = torch.from_numpy(below).to(device, known.dtype)
        own = torch.eye(n_leaves, dtype=known.dtype, device=device) / n_versions
        self._of_leaf = torch.cat([own, self._below.T], dim=1)
        self._bare, self._pace = _LEAST * self._below, torch.full_like(self.weights[0], pace)
        self._ways = known.new_zeros(n_leaves + len(below) // 2, n_columns)
        self._threshold, self._loss_weight, self._n_versions = threshold, loss_weight, n_versions

    @property
    def centres(self) -> Tensor:
        """(n_leaves, E)"""
        return self._centres[:, :-1]

    def press(self, embedding: Tensor, of_embedding: Tensor, losses: Tensor) -> Tensor:
        """Losses and gradients of a batch; returns (n_leaves,) the points of each leaf.

        embedding : (n n_versions, E + 1), of the n points, then of other versions of them, which
            lie in the leaves of the first; 1 in the last column. of_embedding : of the same rows
            without it, to which the gradient of compression is added. losses : (2,), is filled.

        O(n n_versions n_leaves E).
        """
        import torch

        n_rows, n_leaves = len(embedding), len(self._centres)
        rows, centres = embedding[:, :-1], self.centres
        leaf = nearest_leaves(rows[: n_rows // self._n_versions], centres)
        if self._n_versions > 1:
            leaf = leaf.repeat(self._n_versions)
        of_row = self._of_leaf.index_select(0, leaf)
        sums = of_row[:, :n_leaves].T @ embedding
        counts = sums[:, -1:]
        # From each centre to the mean of its points, then between siblings; all divided by their
        # lengths at once.
        held = counts.clamp(min=1.0)
        of_leaves, of_pairs = self._ways[:n_leaves], self._ways[n_leaves:]
        torch.addcmul(sums[:, :-1], counts, centres, value=-1.0, out=of_leaves)
        of_leaves.div_(held)
        nodes = torch.addcmul(self._bare, self._below, self.weights) @ self._centres
        pairs = (nodes[:, :-1] / nodes[:, -1:]).view(-1, 2, centres.shape[1])
        torch.sub(pairs[:, 0], pairs[:, 1], out=of_pairs)
        length = self._ways.norm(dim=1, keepdim=True)
        torch.mean(length[:n_leaves, 0], dim=0, out=losses[0])
        way = self._ways / length.clamp(min=_LEAST)
        torch.mul(way[:n_leaves], -self._loss_weight / n_leaves, out=self.gradient[:, :-1])
        if not len(of_pairs):
            losses[1].zero_()
        else:
            self._compress(rows, of_row[:, n_leaves:], pairs, way[n_leaves:], of_embedding, losses)
        return counts[:, 0]

    def _compress(
        self,
        rows: Tensor,
        lies_below: Tensor,
        pairs: Tensor,
        way: Tensor,
        of_embedding: Tensor,
        losses: Tensor,
    ) -> None:
        """pairs : (P, 2, E) centres of siblings. way : (P, E) from the second to the first."""
        import torch

        share = 1.0 / (len(rows) * 2 * len(pairs))
        # The ways of siblings are opposite, which no distance along them and no gradient shows.
        offset = torch.bmm(pairs, way[:, :, None]).view(-1)
        both = way[:, None, :].expand_as(pairs).reshape(-1, way.shape[1])
        apart = torch.addmm(offset, rows, both.T, alpha=-1.0).mul_(lies_below)
        torch.linalg.vector_norm(apart, 1.0, out=losses[1]).mul_(share)
        of_embedding.addmm_(apart.sign_(), both, alpha=-self._loss_weight * share)

    def weigh(self, counts: Tensor) -> None:
        """Take a batch's counts into the weights, after the centres have moved."""
        import torch

        self.weights.lerp_(counts, self._pace * self.going)
        torch.lt(self.weights.min(), self._threshold, out=self.stopped)
        torch.sub(1.0, self.stopped, out=self.going)

    def arrays(self) -> dict[str, Array]:
        """Copies of the centres, their optimizer and the weights, for checkpoints."""
        adam = self.adam.arrays()
        return {
            "centres": self.centres.cpu().numpy().copy(),
            "weights": self.weights.cpu().numpy().copy(),
            **{f"adam.{name}": adam[name][:, :-1].copy() for name in ("mean", "square")},
            "adam.n_steps": adam["n_steps"],
        }

    def restore(self, arrays: Arrays) -> None:
        """Take the optimizer's state that `arrays` gave."""
        wide = {
            name: np.pad(np.asarray(arrays[f"adam.{name}"]), ((0, 0), (0, 1)))
            for name in ("mean", "square")
        }
        self.adam.restore({**wide, "n_steps": arrays["adam.n_steps"]})
