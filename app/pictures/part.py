"""What a picture shows: the folded part of a tree with its places, labels and colours."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.pictures.palette import CATEGORIES, INK, OTHER, mix
from models.errors import UsageError
from models.tree.layout import Layout, Scale, layout, readable_scale
from models.tree.tree import Tree
from models.tree.view import Folded, fold, tip_weight


@dataclass(frozen=True, slots=True)
class Part:
    """The shown nodes in preorder, ready to be drawn; every column has n_shown entries.

    parent : position of the parent, -1 for the first.
    tip : whether no child is shown.
    folded : whether a tip stands for a subtree.
    colour : of the branch above the node.
    label : uncut text; "" where nothing is to be said.
    plain : whether no node is folded.
    legend : colour and text per category, largest first.
    """

    parent: npt.NDArray[np.int64]
    tip: npt.NDArray[np.bool_]
    folded: npt.NDArray[np.bool_]
    n_leaves: npt.NDArray[np.int64]
    height: npt.NDArray[np.float64]
    place: Layout
    scale: Scale
    colour: list[str]
    label: list[str]
    legend: list[tuple[str, str]]

    @property
    def plain(self) -> bool:
        return not bool(self.folded.any())

    @property
    def n_tips(self) -> int:
        return int(self.tip.sum())


def take(
    tree: Tree,
    root: int,
    *,
    max_tips: int,
    max_depth: int | None,
    color_by: str | Sequence[str | None] | None,
    labels: Literal["name", "id"],
    proportional: bool = False,
    scale: Scale | None = None,
) -> Part:
    """Fold, place, colour and name. `proportional` makes a tip as wide as its number of leaves."""
    shown = fold(tree, root, max_nodes=4 * max_tips, max_tips=max_tips, max_depth=max_depth)
    node, parent, counts = shown.node, shown.parent, shown.n_leaves
    height = tree.height[node]
    lowest = float(tree.height.min()) if shown.hidden.any() else None
    rest = int(shown.hidden[0]) if len(node) > 1 else 0
    if rest:
        # The root's children that found no room stand together as one more tip.
        left_out = int(counts[0] - counts[parent == 0].sum())
        node = np.append(node, -1)
        parent = np.append(parent, 0)
        counts = np.append(counts, left_out)
        height = np.append(height, tree.height.min())
    tip = np.bincount(parent[1:], minlength=len(parent)) == 0
    folded = tip & (counts > 1)
    chosen = scale or readable_scale(parent, height)
    weight = counts.astype(np.float64) if proportional else tip_weight(counts)
    place = layout(parent, height, scale=chosen, lowest=lowest, weight=weight)
    colour, legend = _colours(tree, root, shown, parent, node, height, color_by)
    return Part(
        parent, tip, folded, counts, height, place, chosen, colour,
        _labels(tree, node, tip, counts, labels), legend,
    )  # fmt: skip


def _labels(
    tree: Tree,
    node: npt.NDArray[np.int64],
    tip: npt.NDArray[np.bool_],
    counts: npt.NDArray[np.int64],
    labels: Literal["name", "id"],
) -> list[str]:
    text: list[str] = []
    for row, end, leaves in zip(node.tolist(), tip.tolist(), counts.tolist(), strict=True):
        if row < 0:
            text.append(f"{leaves:,} more")
            continue
        name = str(row) if labels == "id" else tree.name[row]
        if end and leaves > 1:
            text.append(f"{name} ({leaves:,})" if name else f"{leaves:,} leaves")
        elif end:
            text.append(str(row) if name is None else name)
        else:
            text.append(name or "")
    return text


def _colours(
    tree: Tree,
    root: int,
    shown: Folded,
    parent: npt.NDArray[np.int64],
    node: npt.NDArray[np.int64],
    height: npt.NDArray[np.float64],
    color_by: str | Sequence[str | None] | None,
) -> tuple[list[str], list[tuple[str, str]]]:
    if color_by is None:
        return [INK] * len(node), []
    if isinstance(color_by, str):
        return _cluster_colours(parent, height, _clusters(color_by)), []
    return _label_colours(tree, root, node, parent, color_by)


def _clusters(color_by: str) -> int:
    word, _, count = color_by.partition(":")
    if (
        word != "cluster"
        or not count.isascii()
        or not count.isdigit()
        or not 1 <= int(count) <= 10**6
    ):
        raise UsageError(
            f"Parameter 'color_by' is {color_by[:80]!r}; it takes 'cluster:k' with k from 1, or "
            "one label per leaf.",
            code="wrong-parameter",
            parameter="color_by",
        )
    return int(count)


def _cluster_colours(
    parent: npt.NDArray[np.int64], height: npt.NDArray[np.float64], k: int
) -> list[str]:
    """Open the highest nodes until k subtrees stand, colour these from left to right in turn."""
    children: list[list[int]] = [[] for _ in parent]
    for row, up in enumerate(parent.tolist()):
        if up >= 0:
            children[up].append(row)
    queue = [(-float(height[0]), 0)]
    done: list[int] = []
    while queue:
        _, row = heapq.heappop(queue)
        if children[row] and len(queue) + len(done) + len(children[row]) <= k:
            for down in children[row]:
                heapq.heappush(queue, (-float(height[down]), down))
        else:
            done.append(row)
    colour = [INK] * len(parent)
    for turn, row in enumerate(sorted(done)):
        colour[row] = CATEGORIES[turn % len(CATEGORIES)]
    tops = set(done)
    for row, up in enumerate(parent.tolist()):
        if up >= 0 and row not in tops:
            colour[row] = colour[up]
    return colour


def _label_colours(
    tree: Tree,
    root: int,
    node: npt.NDArray[np.int64],
    parent: npt.NDArray[np.int64],
    labels: Sequence[str | None],
) -> tuple[list[str], list[tuple[str, str]]]:
    """The category's colour where a subtree has one category; folded tips fade with mixture."""
    if len(labels) != tree.n_leaves:
        raise UsageError(
            f"'color_by' has {len(labels)} labels, the tree has {tree.n_leaves} leaves; give one "
            "label per leaf, in the order of the leaves' node ids.",
            code="wrong-parameter",
            parameter="color_by",
        )
    owner = _owners(tree, node)
    code_of: dict[str, int] = {}
    codes = np.array(
        [-1 if label is None else code_of.setdefault(str(label), len(code_of)) for label in labels]
    )
    under = owner[tree.leaves]
    seen = Counter(codes[(under >= 0) & (codes >= 0)].tolist())
    ranked = sorted(seen, key=lambda code: (-seen[code], code))
    names = list(code_of)
    hue = {code: CATEGORIES[i] for i, code in enumerate(ranked[: len(CATEGORIES)])}
    legend = [(hue[code], names[code]) for code in ranked[: len(CATEGORIES)]]
    without = bool(((under >= 0) & (codes < 0)).any())
    if len(ranked) > len(CATEGORIES):
        others = f"{len(ranked) - len(CATEGORIES)} others"
        legend.append((OTHER, f"{others} or none" if without else others))
    elif without:
        legend.append((OTHER, "none"))
    tally: list[Counter[int]] = [Counter() for _ in parent]
    for row, code in zip(under.tolist(), codes.tolist(), strict=True):
        if row >= 0:
            tally[row][code] += 1
    has_child = np.bincount(parent[1:], minlength=len(parent)) > 0
    colour = [INK] * len(parent)
    only: list[int | None] = [None] * len(parent)
    mixed = [False] * len(parent)
    for row in range(len(parent) - 1, -1, -1):
        if not has_child[row] and tally[row]:
            code, most = tally[row].most_common(1)[0]
            share = most / tally[row].total()
            colour[row] = (
                mix(INK, hue.get(code, OTHER), share) if share < 1 else hue.get(code, OTHER)
            )
            only[row], mixed[row] = code, share < 1
        elif only[row] is not None and not mixed[row]:
            colour[row] = hue.get(int(only[row] or 0), OTHER)
        up = int(parent[row])
        if up >= 0:
            mixed[up] |= mixed[row] or (only[up] is not None and only[up] != only[row])
            only[up] = only[row]
    return colour, legend


def _owners(tree: Tree, node: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(n_nodes,) position among the shown nodes of the lowest shown one above each; -1: none.

    Children of the first node that are not shown belong to the last position if that is -1 in
    `node`. By pointer doubling: O(n_nodes log depth).
    """
    shown = np.full(tree.n_nodes, -1, dtype=np.int64)
    real = np.flatnonzero(node >= 0)
    shown[node[real]] = real
    jump = np.where(shown >= 0, np.arange(tree.n_nodes), tree.parent)
    jump[0] = 0
    if node[-1] < 0:
        lost = (tree.parent == node[0]) & (shown < 0)
        jump[lost] = np.flatnonzero(lost)
        shown[lost] = len(node) - 1
    while True:
        further = jump[jump]
        if np.array_equal(further, jump):
            break
        jump = further
    owner: npt.NDArray[np.int64] = shown[jump]
    return owner
