"""Random trees over the same items, and their clusters as plain sets."""

from __future__ import annotations

import numpy as np

from models.tree.build import from_parents
from models.tree.tree import Tree

Set = frozenset[int]


def random_tree(
    rng: np.random.Generator, n_items: int, moved: int | None = None, joint: bool = False
) -> Tree:
    """A tree of the items, with random heights. moved : items that differ from the same balanced
    tree; None: all. joint : leaves may hold several items.
    """
    order = np.arange(n_items)
    chosen = rng.permutation(n_items)[: n_items if moved is None else moved]
    order[chosen] = rng.permutation(order[chosen])
    parent, leaf = [-1], np.zeros(n_items, dtype=np.int64)
    stack = [(0, order)]
    while stack:
        node, items = stack.pop()
        if len(items) == 1 or (joint and len(items) < 4 and node and rng.random() < 0.5):
            leaf[items] = node
            continue
        n_parts = int(rng.integers(2, 4)) if moved is None else 2
        cuts = (
            np.sort(rng.choice(np.arange(1, len(items)), min(n_parts, len(items)) - 1, False))
            if moved is None
            else [len(items) // 2]
        )
        for part in np.split(items, cuts):
            parent.append(node)
            stack.append((len(parent) - 1, part))
    steps = rng.random(len(parent))
    depth = np.zeros(len(parent))
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + steps[node]
    names: list[str | None] = [None] * len(parent)
    if not joint:
        for item, node in enumerate(leaf.tolist()):
            names[node] = f"item {item}"
    return from_parents(parent, depth.max() - depth, names, leaf)


def sets(tree: Tree) -> list[Set]:
    """The points under each node."""
    under: list[set[int]] = [set() for _ in range(tree.n_nodes)]
    for point, leaf in enumerate(tree.leaf_of_point.tolist()):
        at = leaf
        while at >= 0:
            under[at].add(point)
            at = int(tree.parent[at])
    return [frozenset(each) for each in under]


def clusters(tree: Tree) -> set[Set]:
    """The sets of more than one point, but not of all."""
    return {each for each in sets(tree) if 1 < len(each) < tree.n_points}
