"""Trees to draw, and the texts of a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from models.tree import labels as categories
from models.tree.labels import Categories, labels
from models.tree.tree import Tree, sizes

SHAPES = ("circular", "rectangular", "icicle")
NS = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'&]]>",
    "x" * 2000,
    "שלום עולם",
    "مرحبا \u202e reversed",
    "🦊🎉 fox",
    "日本語の名前",
    "new\nline\ttab\x00\x1b\ud800\ufffe",
    "",
    "   ",
]


def random_tree(n: int, seed: int = 0, names: list[str] | None = None) -> Tree:
    """A binary tree of n leaves with merge orders as heights; node 0 is the last merge."""
    rng = np.random.default_rng(seed)
    parent = np.full(2 * n - 1, -1, dtype=np.int32)
    height = np.zeros(2 * n - 1)
    height[: n - 1] = np.arange(n - 1, 0, -1)
    open_slots = [0, 0] if n > 1 else []
    row = 1
    for merge in range(1, n - 1):
        slot = int(rng.integers(len(open_slots)))
        parent[row] = open_slots[slot]
        open_slots[slot] = merge
        open_slots.append(merge)
        row += 1
    parent[row:] = open_slots
    leaves = np.arange(n - 1, 2 * n - 1, dtype=np.int32)
    name = np.full(2 * n - 1, None, dtype=object)
    name[n - 1 :] = names if names is not None else [f"leaf {i}" for i in range(n)]
    return Tree(parent, height, sizes(parent, leaves), name, leaves).validate()


def chain(n: int) -> Tree:
    parent = np.array([-1] + [2 * (i // 2) for i in range(2 * n - 2)], dtype=np.int32)
    tip = np.bincount(parent[1:], minlength=2 * n - 1) == 0
    height = np.where(tip, 0.0, np.arange(2 * n - 1)[::-1])
    leaves = np.flatnonzero(tip).astype(np.int32)
    name = np.array([f"n{i}" for i in range(2 * n - 1)], dtype=object)
    return Tree(parent, height, sizes(parent, leaves), name, leaves).validate()


def star(n: int) -> Tree:
    parent = np.zeros(n + 1, dtype=np.int32)
    parent[0] = -1
    leaves = np.arange(1, n + 1, dtype=np.int32)
    name = np.array([None] + [f"s{i}" for i in range(n)], dtype=object)
    height = np.zeros(n + 1)
    height[0] = 1.0
    return Tree(parent, height, sizes(parent, leaves), name, leaves, kind="partition").validate()


def single() -> Tree:
    points_in = np.zeros(3, dtype=np.int32)
    root = np.array([-1], dtype=np.int32)
    return Tree(root, np.zeros(1), np.array([3]), np.array(["only"], dtype=object), points_in)


def flat(tree: Tree) -> Tree:
    return Tree(tree.parent, np.zeros(tree.n_nodes), tree.size, tree.name, tree.leaf_of_point)


def texts(picture: str) -> list[str]:
    root = ET.fromstring(picture.encode())
    return [element.text or "" for element in root.iter(f"{NS}text")]


#       0        labels of 3, 4, 5, 6: a a b None
#     /   \
#    1     2     height 3, 2, 1
#   / \   / \
#  3   4 5   6
FOUR = Tree(
    np.array([-1, 0, 0, 1, 1, 2, 2], dtype=np.int32),
    np.array([3.0, 2, 1, 0, 0, 0, 0]),
    np.array([4, 2, 2, 1, 1, 1, 1]),
    np.array([None, None, None, "p", "q", "r", "s"], dtype=object),
    np.array([3, 4, 5, 6], dtype=np.int32),
).validate()


def by(tree: Tree, values: list[str | None]) -> Categories:
    return categories.of_labels(tree, labels(tree, values))
