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
"""Added to weights, so that a node whose leaves all weigh nothing has their plain mean."""

_SHORTEST = 1e-15
"""The least length that vectors are divided by."""


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
        # Whether steps go on, and by which share of a batch weights then change.
        self._shares = torch.tensor([1.0, pace], dtype=torch.float32, device=device)
        self._going = self._shares.clone()
        self._below = torch.from_numpy(below).to(device, known.dtype)
        own = torch.eye(n_leaves, dtype=known.dtype, device=device) / n_versions
        self._of_leaf = torch.cat([own, self._below.T], dim=1)
        self._bare = _LEAST * self._below
        # From the second of two siblings to the first, for both of them.
        between = torch.tensor([[1.0, -1.0], [1.0, -1.0]], dtype=known.dtype, device=device)
        self._between = between.expand(len(below) // 2, 2, 2)
        self._ways = known.new_full((n_leaves + len(below), n_columns + 1), _SHORTEST)
        self._threshold, self._loss_weight, self._n_versions = threshold, loss_weight, n_versions

    @property
    def centres(self) -> Tensor:
        """(n_leaves, E)"""
        return self._centres[:, :-1]

    @property
    def going(self) -> Tensor:
        """See the class's docstring."""
        return self._going[0]

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
        of_leaves, of_pairs = self._ways[:n_leaves, :-1], self._ways[n_leaves:, :-1]
        torch.addcmul(sums[:, :-1], counts, centres, value=-1.0, out=of_leaves)
        of_leaves.div_(held)
        nodes = torch.addcmul(self._bare, self._below, self.weights) @ self._centres
        pairs = nodes[:, :-1] / nodes[:, -1:]
        siblings = (len(self._between), 2, centres.shape[1])
        torch.bmm(self._between, pairs.view(siblings), out=of_pairs.view(siblings))
        length = self._ways.norm(dim=1, keepdim=True)
        torch.mean(length[:n_leaves, 0], dim=0, out=losses[0])
        way = (self._ways / length)[:, :-1]
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
        """pairs : (2 P, E) centres of siblings, side by side. way : (2 P, E) from the second to the
        first, for both: theirs are opposite, which no distance along them and no gradient shows."""
        import torch

        share = 1.0 / (len(rows) * len(pairs))
        offset = torch.bmm(pairs[:, None, :], way[:, :, None]).view(-1)
        apart = torch.addmm(offset, rows, way.T, alpha=-1.0).mul_(lies_below)
        sign, loss = apart.sign(), losses[1:]
        torch.addmv(loss, sign.view(1, -1), apart.view(-1), beta=0.0, alpha=share, out=loss)
        of_embedding.addmm_(sign, way, alpha=-self._loss_weight * share)

    def weigh(self, counts: Tensor) -> None:
        """Take a batch's counts into the weights, after the centres have moved."""
        import torch

        self.weights.lerp_(counts, self._going[1].to(counts.dtype))
        torch.lt(self.weights.min(), self._threshold, out=self.stopped)
        torch.addcmul(self._shares, self._shares, self.stopped, value=-1.0, out=self._going)

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
