"""Nodes by name."""

from __future__ import annotations

from typing import TypedDict

from models.errors import UsageError
from models.tree.tree import Tree
from models.tree.walk import path


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
    """Nodes whose name contains `text`, ignoring case.

    Exact matches come first, then names that begin with it, then the others; each group by
    decreasing size, then by row. At most `limit`. O(characters of all names).

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
        if query in folded:
            rank = 0 if folded.strip() == query else 1 if folded.startswith(query) else 2
            hits.append((rank, -int(tree.size[node]), node))
    hits.sort()
    return [node for _, _, node in hits[:limit]]
