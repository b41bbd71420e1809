"""The tree from growth, why growth ended, and why points lie where they do.

Points lie where they do by the features of each split, which has a sparsity and an overlap.
These features are ranked by their share of the penalty (Zhou et al., "Hierarchical
Maximum-Margin Clustering", 2015, figure 3); where nothing is penalised, by the length of their
weights. Figure 4's sparsity is the share of weights that are 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int
from models.methods.margins.splitting.objective import Ancestors, Regularizer
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


TOP = 10
"""Largest number of features listed for a node."""

FACTS = {
    "score": "split_score",
    "objective": "objective",
    "sparsity": "sparsity",
    "overlap": "exclusive_overlap",
    "residual": "residual",
    "mean_margin": "mean_margin",
}
"""The numbers of a split and their columns."""


def columns(
    grown: MarginTree, regularizer: Regularizer, names: Sequence[str] | None
) -> dict[str, npt.NDArray[Any]]:
    """Columns of the tree's nodes.

    names : of the features; None for their numbers.

    Inner nodes have the numbers of `FACTS` (NaN at leaves) and `split_features`: the features that
    separate the clusters, each with its weights in the order of the children. Nodes other than the
    root have `own_features`: the features with the largest weights of their own, positive where
    they draw points into the node and negative where they keep them out.
    """
    table = _empty(grown.parent.size)
    inner = sorted((step, node) for node, step in enumerate(grown.step.tolist()) if step >= 0)
    above = {0: Ancestors.root(grown.n_features)}
    for step, node in inner:
        split, over = grown.splits[step], above.pop(node)
        children = grown.children(node)
        features = split_features(split, regularizer, over, names)
        _fill(table, node, children, split, features, names)
        for child, own in zip(children, split.weights, strict=True):
            if grown.step[child] >= 0:
                above[child] = over.extended_by(own)
    return table


def node_features(
    split: MarginSplit, regularizer: Regularizer, above: Ancestors, names: Sequence[str] | None
) -> dict[str, npt.NDArray[Any]]:
    """The columns of a tree with a single split, numbered as a partition."""
    n_clusters = len(split.price)
    table = _empty(n_clusters + 1)
    features = split_features(split, regularizer, above, names)
    _fill(table, 0, range(1, n_clusters + 1), split, features, names)
    return table


def _empty(n_nodes: int) -> dict[str, npt.NDArray[Any]]:
    table: dict[str, npt.NDArray[Any]] = {name: np.full(n_nodes, np.nan) for name in FACTS.values()}
    for name in ("split_features", "own_features"):
        table[name] = np.full(n_nodes, None, dtype=object)
    return table


def _fill(
    table: dict[str, npt.NDArray[Any]],
    node: int,
    children: range,
    split: MarginSplit,
    features: list[dict[str, Any]],
    names: Sequence[str] | None,
) -> None:
    for name, column in FACTS.items():
        table[column][node] = getattr(split, name)
    table["split_features"][node] = features
    for child, own in zip(children, split.weights, strict=True):
        table["own_features"][child] = [
            {"feature": _label(p, names), "weight": float(own[p])} for p in _largest(np.abs(own))
        ]


def split_features(
    split: MarginSplit, regularizer: Regularizer, above: Ancestors, names: Sequence[str] | None
) -> list[dict[str, Any]]:
    """The features of one split, the most distinctive first."""
    cost = regularizer.penalty(len(split.weights), above).by_feature(split.weights)
    length = np.linalg.norm(split.weights, axis=0)
    rank = cost if cost.any() else length
    return [
        {
            "feature": _label(p, names),
            "weights": split.weights[:, p].astype(float).tolist(),
            "penalty": float(cost[p]),
        }
        for p in _largest(np.where(length > 0, rank, 0.0))
    ]


def metrics(splits: Sequence[MarginSplit]) -> Mapping[str, float]:
    """Metrics of the whole tree: eq. 1, the worst residual, and means over the splits."""
    if not splits:
        return {"objective": 0.0, "n_splits": 0.0}
    values = {
        "objective": float(sum(split.objective for split in splits)),
        "n_splits": float(len(splits)),
        "sparsity": float(np.mean([split.sparsity for split in splits])),
        "mean_margin": float(np.mean([split.mean_margin for split in splits])),
        "residual": float(max(split.residual for split in splits)),
    }
    overlaps = [split.overlap for split in splits if np.isfinite(split.overlap)]
    if overlaps:
        values["exclusive_overlap"] = float(np.mean(overlaps))
    return values


def _label(feature: int, names: Sequence[str] | None) -> str | int:
    return feature if names is None else names[feature]


def _largest(values: Float) -> list[int]:
    """The columns of the largest values above 0."""
    top = np.argsort(-values, kind="stable")[:TOP]
    return [int(p) for p in top if values[p] > 0]
