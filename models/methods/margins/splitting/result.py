"""What growth by large margins gives, and why it ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int
from models.methods.margins.splitting.split import Obstacle, Split
from models.tree.parents import under


@dataclass(frozen=True, slots=True)
class Limits:
    """When growth ends; `max_depth` may be None."""

    max_leaves: int
    min_size: int
    max_depth: int | None


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree and the split of each inner node.

    parent : (n_nodes,) parents first; children come as their parents were split, those of one in
        the order of its clusters.
    step : (n_nodes,) number of the split, -1 for a leaf. splits : in order of their steps.
    leaf_of_point : (n_points,). margin : (n_points,) the smallest of a point's margins on its path.
    obstacle : why leaves that were tried cannot be split, with their numbers.
    room : whether another split would not pass `max_leaves`.
    """

    parent: Int
    step: Int
    splits: list[Split]
    leaf_of_point: Int
    margin: Float
    obstacle: Counter[Obstacle]
    room: bool
    n_features: int

    def children(self, node: int) -> range:
        """Of an inner node, in the order of its clusters."""
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

    def said_of_end(self, limits: Limits, n_clusters: int) -> tuple[str, ...]:
        """Why there are fewer leaves than wanted, and what a user can do about it."""
        n_leaves = int((self.step < 0).sum())
        said = []
        if n_leaves < limits.max_leaves:
            told: dict[Obstacle, str] = {
                "small": f"have fewer than {max(limits.min_size, n_clusters)} points",
                "deep": f"lie at max_depth = {limits.max_depth}",
                "equal": f"hold fewer than {n_clusters} distinct points",
                "weightless": "would be split by weights that are all 0",
            }
            why = "another split would make more"
            if self.room:
                why = "; ".join(
                    f"{self.obstacle[one]} {told[one]}" for one in told if self.obstacle[one]
                )
            said.append(
                f"The tree has {n_leaves} leaves, not max_leaves = {limits.max_leaves}: {why}."
            )
        if self.obstacle["weightless"]:
            said.append("Lower alpha or beta, or scale the features up, for splits with weights.")
        return tuple(said)
