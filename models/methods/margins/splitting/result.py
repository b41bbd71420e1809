"""The tree from growth, and the reason why growth ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.margins.splitting.split import MarginSplit, Obstacle
from models.tree.parents import under


@dataclass(frozen=True, slots=True)
class GrowthLimits:
    """When growth ends; `max_depth` may be None."""

    max_leaves: int
    min_size: int
    max_depth: int | None


@dataclass(frozen=True, slots=True)
class MarginTree:
    """A tree and the split of each inner node.

    parent : (n_nodes,) parents first; children in the order of their parents' splits and, within
        one split, in the order of its clusters.
    step : (n_nodes,) number of the split, -1 for a leaf. splits : in order of their steps.
    leaf_of_point : (n_points,). margin : (n_points,) the smallest margin on each point's path.
    obstacle : number of leaves that cannot be split, by reason.
    room : whether another split would stay within `max_leaves`.
    """

    parent: Int
    step: Int
    splits: list[MarginSplit]
    leaf_of_point: Int
    margin: Float
    obstacle: Counter[Obstacle]
    room: bool
    n_features: int

    def children(self, node: int) -> range:
        """The children of an inner node, in the order of its clusters."""
        step, k = int(self.step[node]), len(self.splits[0].price)
        return range(1 + step * k, 1 + (step + 1) * k)

    @property
    def height(self) -> Int:
        return np.where(self.step < 0, 0, self.step.max(initial=-1) + 1 - self.step)

    @property
    def size(self) -> Int:
        """(n_nodes,) points under each node."""
        inside = np.bincount(self.leaf_of_point, minlength=self.parent.size)
        return under(self.parent.astype(np.int32), inside)

    def end_warnings(self, limits: GrowthLimits, n_clusters: int) -> tuple[str, ...]:
        """Warnings that explain why there are fewer than `max_leaves` leaves, with the remedy."""
        n_leaves = int((self.step < 0).sum())
        messages = []
        if n_leaves < limits.max_leaves:
            reasons: dict[Obstacle, str] = {
                "small": f"have fewer than {max(limits.min_size, n_clusters)} points",
                "deep": f"lie at max_depth = {limits.max_depth}",
                "equal": f"hold fewer than {n_clusters} distinct points",
                "weightless": "would be split by weights that are all 0",
            }
            reason = "another split would exceed it"
            if self.room:
                reason = "; ".join(
                    f"{self.obstacle[kind]} {text}"
                    for kind, text in reasons.items()
                    if self.obstacle[kind]
                )
            messages.append(
                f"The tree has {n_leaves} leaves, not max_leaves = {limits.max_leaves}: {reason}."
            )
        if self.obstacle["weightless"]:
            messages.append(
                "Lower alpha or beta, or scale the features up, to obtain nonzero weights."
            )
        return tuple(messages)
