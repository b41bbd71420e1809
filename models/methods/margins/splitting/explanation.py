"""Why points lie where they do: each split's features, and how sparse and exclusive it is.

A split's features are ranked by the regularization that they cost it (Zhou et al., "Hierarchical
Maximum-Margin Clustering", 2015, figure 3), where nothing is penalised by the length of their
weights. Figure 4's sparsity is the share of weights that are 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Float
from models.methods.margins.splitting.objective import Above, Regularizer
from models.methods.margins.splitting.result import Grown
from models.methods.margins.splitting.split import Split

TOP = 10
"""Most features of a node that are told."""

FACTS = {
    "score": "split_score",
    "objective": "objective",
    "sparsity": "sparsity",
    "overlap": "exclusive_overlap",
    "residual": "residual",
    "mean_margin": "mean_margin",
}
"""What is told of a split, and the column it is told in."""


def columns(
    grown: Grown, regularizer: Regularizer, names: Sequence[str] | None
) -> dict[str, npt.NDArray[Any]]:
    """Columns of a tree's nodes.

    names : of the features; their numbers are told if None.

    Of each split the numbers of `FACTS` (NaN at leaves) and `split_features`: the features that
    tell its clusters apart, each with its weights for them in the order of the children. Of each
    node but the root `own_features`: those with the largest weights of its own, which draw points
    into it, or keep them out if below 0.
    """
    found = _empty(grown.parent.size)
    inner = sorted((step, node) for node, step in enumerate(grown.step.tolist()) if step >= 0)
    above = {0: Above.root(grown.n_features)}
    for step, node in inner:
        split, over = grown.splits[step], above.pop(node)
        children = grown.children(node)
        _tell(found, node, children, split, told(split, regularizer, over, names), names)
        for child, own in zip(children, split.weights, strict=True):
            if grown.step[child] >= 0:
                above[child] = over.and_of(own)
    return found


def node_features(
    split: Split, regularizer: Regularizer, above: Above, names: Sequence[str] | None
) -> dict[str, npt.NDArray[Any]]:
    """The columns of a tree of one split, in a partition's numbering."""
    n_clusters = len(split.price)
    found = _empty(n_clusters + 1)
    features = told(split, regularizer, above, names)
    _tell(found, 0, range(1, n_clusters + 1), split, features, names)
    return found


def _empty(n_nodes: int) -> dict[str, npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[Any]] = {name: np.full(n_nodes, np.nan) for name in FACTS.values()}
    for name in ("split_features", "own_features"):
        found[name] = np.full(n_nodes, None, dtype=object)
    return found


def _tell(
    found: dict[str, npt.NDArray[Any]],
    node: int,
    children: range,
    split: Split,
    features: list[dict[str, Any]],
    names: Sequence[str] | None,
) -> None:
    for name, column in FACTS.items():
        found[column][node] = getattr(split, name)
    found["split_features"][node] = features
    for child, own in zip(children, split.weights, strict=True):
        found["own_features"][child] = [
            {"feature": _called(p, names), "weight": float(own[p])} for p in _largest(np.abs(own))
        ]


def told(
    split: Split, regularizer: Regularizer, above: Above, names: Sequence[str] | None
) -> list[dict[str, Any]]:
    """The features of one split, the most telling first."""
    cost = regularizer.penalty(len(split.weights), above).by_feature(split.weights)
    length = np.linalg.norm(split.weights, axis=0)
    rank = cost if cost.any() else length
    return [
        {
            "feature": _called(p, names),
            "weights": [float(one) for one in split.weights[:, p]],
            "penalty": float(cost[p]),
        }
        for p in _largest(np.where(length > 0, rank, 0.0))
    ]


def metrics(splits: Sequence[Split]) -> Mapping[str, float]:
    """Of a whole tree: eq. 1, the worst residual, means over the splits of what they have."""
    if not splits:
        return {"objective": 0.0, "n_splits": 0.0}
    found = {
        "objective": float(sum(one.objective for one in splits)),
        "n_splits": float(len(splits)),
        "sparsity": float(np.mean([one.sparsity for one in splits])),
        "mean_margin": float(np.mean([one.mean_margin for one in splits])),
        "residual": float(max(one.residual for one in splits)),
    }
    overlaps = [one.overlap for one in splits if np.isfinite(one.overlap)]
    if overlaps:
        found["exclusive_overlap"] = float(np.mean(overlaps))
    return found


def _called(feature: int, names: Sequence[str] | None) -> str | int:
    return feature if names is None else names[feature]


def _largest(values: Float) -> list[int]:
    """The columns of the largest values above 0."""
    few = np.argsort(-values, kind="stable")[:TOP]
    return [int(p) for p in few if values[p] > 0]
