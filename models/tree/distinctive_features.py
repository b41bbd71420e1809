"""The features that distinguish a tree's nodes, as rows of one table.

A method may give each node a list of objects with the key `feature` or `term` and numbers beside
it: a weight, a probability, or a list of weights, one for each child.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from models.tree.tree import Tree

FEATURE_KEYS = ("feature", "term")


class DistinctiveFeature(NamedTuple):
    """One number of one feature of one node.

    column : the tree's column that holds it. rank : position in the node's list, from 1.
    quantity : what `value` is, for instance `weight`. child : the child it refers to; None if it
        refers to the node.
    """

    node: int
    name: str | None
    column: str
    rank: int
    feature: str | int
    quantity: str
    child: int | None
    value: float


def distinctive_features(tree: Tree) -> Iterator[DistinctiveFeature]:
    """All these numbers, by node; none if the method gives none. O(n_nodes + numbers)."""
    columns = {key: column for key, column in tree.extra.items() if column.dtype.kind == "O"}
    start, child = tree.children
    for node in range(tree.n_nodes):
        for key, column in columns.items():
            features = column[node]
            if features is None or isinstance(features, str) or not hasattr(features, "__iter__"):
                continue
            below = child[start[node] : start[node + 1]].tolist()
            for rank, item in enumerate(features, 1):
                feature = _feature(item)
                if feature is None:
                    continue
                for quantity, of, value in _numbers(item, below):
                    yield DistinctiveFeature(
                        node, tree.name[node], key, rank, feature, quantity, of, value
                    )


def _feature(item: Any) -> str | int | None:
    if not isinstance(item, dict):
        return None
    return next((item[key] for key in FEATURE_KEYS if key in item), None)


def _numbers(item: dict[str, Any], below: list[int]) -> Iterator[tuple[str, int | None, float]]:
    for key, value in item.items():
        if key in FEATURE_KEYS:
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield key, None, float(value)
        elif isinstance(value, (list, tuple)) and len(value) == len(below):
            for child, of_child in zip(below, value, strict=True):
                yield key.removesuffix("s"), child, float(of_child)
