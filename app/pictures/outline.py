"""A tree as lines of text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def outline(nodes: Sequence[dict[str, Any]], *, fold: int = 6) -> str:
    """The lines of a tree given as the API's flat nodes (parents before children).

    A subtree of at most `fold` leaves takes one line; larger ones branch and show their number of
    leaves. The largest branch of a node comes last. O(n_nodes log n_nodes).

        (8)
        ├─ Xhosa, Zulu
        └─ Danish, Swedish, Norwegian, Faroese, Icelandic, Dutch
    """
    children: dict[int, list[int]] = {node["id"]: [] for node in nodes}
    for node in nodes:
        if node["parent"] is not None:
            children[node["parent"]].append(node["id"])
    names = {node["id"]: _printable(node["name"]) for node in nodes}
    n_leaves: dict[int, int] = {}
    for node in reversed(nodes):
        below = children[node["id"]]
        n_leaves[node["id"]] = sum(n_leaves[child] for child in below) if below else 1

    lines = []
    stack = [(nodes[0]["id"], "", "")]
    while stack:
        node_id, first, rest = stack.pop()
        if n_leaves[node_id] <= fold:
            lines.append(first + ", ".join(_leaf_names(node_id, children, names)))
            continue
        label = f"{names[node_id]} " if names[node_id] else ""
        lines.append(f"{first}{label}({n_leaves[node_id]})")
        ladder, below = _ladder(node_id, children, n_leaves, fold)
        if len(ladder) > 1:
            rungs = ", ".join(names[leaf] or str(leaf) for leaf in ladder)
            lines.append(f"{rest}├─ one by one: {rungs}")
        else:
            below = sorted(children[node_id], key=lambda child: n_leaves[child])
        for child in reversed(below):
            last = child == below[-1]
            stack.append(
                (child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
            )
    return "\n".join(lines)


def _ladder(
    node_id: int, children: dict[int, list[int]], n_leaves: dict[int, int], fold: int
) -> tuple[list[int], list[int]]:
    """The leaves that split off one after another below `node_id`, and the node that remains."""
    leaves: list[int] = []
    while True:
        small, large = _halves(children[node_id], n_leaves)
        if large is None or n_leaves[small] > 1:
            return leaves, [node_id]
        leaves.append(small)
        node_id = large
        if n_leaves[node_id] <= fold:
            return leaves, [node_id]


def _halves(below: list[int], n_leaves: dict[int, int]) -> tuple[int, int | None]:
    if len(below) != 2:
        return below[0], None
    small, large = sorted(below, key=lambda child: n_leaves[child])
    return small, large


def _leaf_names(node_id: int, children: dict[int, list[int]], names: dict[int, str]) -> list[str]:
    leaves, stack = [], [node_id]
    while stack:
        top = stack.pop()
        if children[top]:
            stack.extend(reversed(children[top]))
        else:
            leaves.append(names[top] or str(top))
    return leaves


def _printable(name: str | None) -> str:
    """Control characters would move the terminal's cursor or colour it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name or "")
