"""Nodes of a tree by their names, or by their paths of names."""

from __future__ import annotations

from models.tree.dialects.separators import OTHERS, parts, split
from models.tree.tree import Tree

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
        for path in [parts] if tree.name[0] != parts[0] else [parts[1:], parts]:
            node = 0
            for part in path:
                node = self._below.get((node, part), NONE)
                if node < 0:
                    break
            if node >= 0 and path:
                leaf = self._below.get((node, path[-1]), NONE)
                return leaf if leaf >= 0 and not tree.n_children[leaf] else node
            reached = min(reached, node)
        return reached
