"""What was requested of a fit, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.running.device import Device


@dataclass(frozen=True, slots=True)
class TreeEffort:
    """A requested fit.

    n_clusters : leaves wanted. hidden_sizes, embedding_size : widths of the encoder's layers.
    pretrain_epochs, epochs : passes over the points by reconstruction alone, and with the tree.
    growth : the share of `epochs` within which the tree grows to all its leaves.
    clustering_weight : of the tree's losses, beside reconstruction.
    batch_size : points of a step. learning_rate : of Adam.
    pruning_threshold : a leaf of less weight, in points of a batch, is removed.
    augment : whether images are also trained on turned and moved.
    """

    n_clusters: int
    hidden_sizes: Sequence[int]
    embedding_size: int
    pretrain_epochs: int
    epochs: int
    growth: float
    clustering_weight: float
    batch_size: int
    learning_rate: float
    pruning_threshold: float
    augment: bool
    device: Device

    @property
    def n_epochs(self) -> int:
        """Of both stages."""
        return self.pretrain_epochs + self.epochs

    def leaves_at(self, epoch: int) -> int:
        """The leaves wanted at the start of an epoch with the tree, counted from 0."""
        last = max(1, round(self.growth * self.epochs)) - 1
        if epoch >= last:
            return self.n_clusters
        return min(self.n_clusters, 2 + (self.n_clusters - 2) * epoch // last)
