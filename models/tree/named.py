"""Nodes of a tree by their names: exactly, by their paths of names, or by a part of a name."""

from __future__ import annotations

from typing import TypedDict

from models.errors import UsageError
from models.tree.class_paths import OTHERS, parts, split
from models.tree.tree import Tree
from models.tree.walk import path

NONE, SEVERAL = -1, -2


class NamedNodes:
    """Finds the node that a label means. O(n_nodes) once, O(length of the label) each."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._leaf: dict[str, int] = {}
        self._inner: dict[str, int] = {}
        self._below: dict[tuple[int, str | None], int] = {}
        n_children = tree.n_children.tolist()
        for node, name in enumerate(tree.name.tolist()):
            if name is not None:
                nodes = self._inner if n_children[node] else self._leaf
                nodes[name] = SEVERAL if name in nodes else node
        pairs = zip(tree.parent[1:].tolist(), tree.name[1:].tolist(), strict=True)
        for node, key in enumerate(pairs, 1):
            self._below[key] = SEVERAL if key in self._below else node

    def find(self, label: str) -> int:
        """The node of this name, a leaf before an inner node, or at the end of this path of names.

        A path is written `animal/cat/lion`, with or without the root's name, or with another mark
        that class paths may have. If it ends at an inner node that has a leaf of the same name as
        its child, that leaf is meant, as made by the reader of class paths. NONE if no node fits,
        SEVERAL if more than one does.
        """
        called = self._called(label)
        if called >= 0:
            return called
        if "/" in label:
            names = parts(label)
            node = self._at_path(names) if len(names) > 1 else self._called(names[0])
            if node != NONE:
                return node
        else:
            for mark in OTHERS:
                if mark in label and (node := self._at_path(split(label, mark))) != NONE:
                    return node
        return called

    def _called(self, name: str) -> int:
        for named in (self._leaf, self._inner):
            if named.get(name, NONE) >= 0:
                return named[name]
        return SEVERAL if name in self._leaf or name in self._inner else NONE

    def _at_path(self, parts: list[str]) -> int:
        tree, reached = self._tree, NONE
        for names in [parts] if tree.name[0] != parts[0] else [parts[1:], parts]:
            node = 0
            for part in names:
                node = self._below.get((node, part), NONE)
                if node < 0:
                    break
            if node >= 0 and names:
                leaf = self._below.get((node, names[-1]), NONE)
                return leaf if leaf >= 0 and not tree.n_children[leaf] else node
            reached = min(reached, node)
        return reached


class NodeMatch(TypedDict):
    """A node whose name matches; `path` runs from the root to the node, both included."""

    node: int
    name: str
    path: list[int]


def search(tree: Tree, text: str, limit: int = 50) -> list[NodeMatch]:
    """The nodes from `find`, each with its path: one number per level."""
    return [
        NodeMatch(node=node, name=str(tree.name[node]), path=path(tree, node).tolist())
        for node in find(tree, text, limit)
    ]


def find(tree: Tree, text: str, limit: int = 50) -> list[int]:
    """Nodes whose name contains `text`, ignoring case. A space also finds an underscore, which
    pictures draw as one.

    Exact matches come first, then names that are the same but for that, then names that begin with
    it, then the others; each group by decreasing size, then by row. At most `limit`. O(characters
    of all names).

    Raises UsageError for an empty text or a limit below 1.
    """
    query = text.strip().casefold()
    if not query:
        raise UsageError(
            "The text to search for is empty; give at least one character.",
            code="wrong-parameter",
            parameter="q",
        )
    if limit < 1:
        raise UsageError(
            f"Parameter 'limit' is {limit}; it must be at least 1.",
            code="wrong-parameter",
            parameter="limit",
        )
    hits: list[tuple[int, int, int]] = []
    for node, name in enumerate(tree.name):
        if name is None:
            continue
        folded = name.casefold()
        spaced = folded.replace("_", " ") if " " in query else folded
        if query in folded or query in spaced:
            ranks = (
                folded.strip() == query,
                spaced.strip() == query,
                folded.startswith(query) or spaced.startswith(query),
                True,
            )
            hits.append((ranks.index(True), -int(tree.size[node]), node))
    hits.sort()
    return [node for _, _, node in hits[:limit]]
