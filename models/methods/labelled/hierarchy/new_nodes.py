"""New nodes among the nodes of Ward's tree, chosen by what known nodes look like.

From the top of Ward's tree down, a node becomes a new one with as many levels as its size and
spread allow (`resemblance`), unless most of its rows' nearest labelled rows are below one child of
the node that it would hang under: then it holds leaves of that child. Where none fits, the new
leaves are those nodes that, over all ways to cut what is below, look most like known leaves. The
same is done again below each new node, for fewer levels. A new node hangs under the known node that
its nearest labelled rows lead to and that has children with as many levels.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from models.arrays import Array, Int, Mask
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.novelty import votes
from models.methods.labelled.hierarchy.resemblance import Resemblance
from models.methods.labelled.hierarchy.spreads import Spreads
from models.methods.labelled.hierarchy.ward import WardTree

WIDE = 0.8
"""How far a subtree's log variance may lie from the usual one towards that of all rows."""

OWNED = 0.6
"""Share of votes for one child above which a node belongs to it alone."""

FOLLOWED = 0.4
"""Share of votes that leads on to a child, where a new node could also stay above."""

CLAIMED = 0.7
"""Share of votes by which a new node leaves a new subtree for a known node."""

UNLIKE = -4.0
"""Log density, for each row, of being in no new leaf."""


@dataclass(frozen=True, slots=True)
class NewNode:
    """rows : of the points given. above : the known node that it hangs under, or -1 - p for
    the new one at the place p."""

    rows: Int
    above: int


@dataclass(frozen=True, slots=True)
class _Place:
    ward: int
    level: int
    above: int
    depth: int


class NewNodes:
    """The choice among the nodes of one Ward's tree."""

    def __init__(
        self,
        tree: KnownTree,
        points: Array,
        is_new: Mask,
        least_size: int,
        max_depth: int | None,
    ) -> None:
        """points : (n_rows, r). is_new : (n_rows,) rows of no known leaf, at least one."""
        self._tree, self._max_depth = tree, max_depth
        self._rows = np.flatnonzero(is_new)
        self._least_size = least_size
        self._ward = WardTree.of(points[self._rows])
        labelled = tree.row_node > 0
        self._like = Resemblance.of(tree, points, labelled.sum() / (~is_new).sum())
        self._votes = self._ward.means(votes(tree, points, self._rows))
        leaves = tree.leaves(0)
        means = np.array([points[tree.row_node == leaf].mean(axis=0) for leaf in leaves.tolist()])
        spreads = Spreads.of(tree, 0, leaves, means.astype(np.float64))
        self._outside = spreads.owner(self._ward.mean) < 0
        self._is_leaf = self._best_cut()
        depth = np.zeros(tree.n_nodes, dtype=np.int64)
        for node in range(1, tree.n_nodes):
            depth[node] = depth[tree.parent[node]] + 1
        self._depth = depth
        self._levels_of_children = [
            set(tree.levels[tree.children(node)].tolist()) for node in range(tree.n_nodes)
        ]

    def chosen(self) -> list[NewNode]:
        """Parents before children."""
        places: list[_Place] = []
        top = self._ward.size.size - 1
        waiting = deque(
            _Place(node, level, self._parent(node, level), -1)
            for node, level in self._below([top], int(self._tree.levels[0]) - 1, inside=False)
        )
        while waiting:
            own = waiting.popleft()
            if own.above < 0:
                parent = self._parent(own.ward, own.level)
                claimed = self._votes[own.ward, parent] >= CLAIMED
                if parent and claimed and not self._outside[own.ward]:
                    own = _Place(own.ward, own.level, parent, -1)
            above = own.above
            depth = 1 + (int(self._depth[above]) if above >= 0 else places[-1 - above].depth)
            number = len(places)
            places.append(_Place(own.ward, own.level, above, depth))
            if own.level and (self._max_depth is None or depth < self._max_depth):
                below = self._below(self._ward.below(own.ward), own.level - 1, inside=True)
                waiting.extend(_Place(node, level, -1 - number, -1) for node, level in below)
        return self._kept(places)

    def _best_cut(self) -> Mask:
        """(n_ward,) nodes that are leaves where the sum of their log densities, each times its
        size, is largest; nodes above them are not looked at."""
        ward = self._ward
        own = ward.size * self._like.score(0, ward.size.astype(np.float64), ward.variance)
        own[ward.size < self._least_size] = -np.inf
        value = np.full(own.size, UNLIKE)
        is_leaf = np.zeros(own.size, dtype=bool)
        for node, pair in enumerate(ward.children.tolist(), start=ward.n_rows):
            apart = value[pair].sum()
            is_leaf[node] = own[node] >= apart
            value[node] = max(own[node], apart)
        return is_leaf

    def _below(self, start: list[int], most_levels: int, *, inside: bool) -> list[tuple[int, int]]:
        """The uppermost nodes at or below some that are new, and their levels."""
        new: list[tuple[int, int]] = []
        waiting = list(start)
        while waiting:
            node = waiting.pop()
            if self._ward.size[node] < self._least_size:
                continue
            level = next(
                (
                    level
                    for level in range(most_levels, 0, -1)
                    if self._is_subtree(node, level, inside=inside)
                ),
                0,
            )
            if level or self._is_leaf[node]:
                new.append((node, level))
            else:
                waiting.extend(self._ward.below(node))
        return new

    def _is_subtree(self, node: int, level: int, *, inside: bool) -> bool:
        size, variance = float(self._ward.size[node]), float(self._ward.variance[node])
        if not self._like.allows(level, size, variance, WIDE):
            return False
        if inside:
            return True
        parent = self._parent(node, level)
        owned = self._votes[node, self._tree.children(parent)].max() > OWNED
        return not owned or (parent == 0 and bool(self._outside[node]))

    def _parent(self, node: int, level: int) -> int:
        """The known node that a new node of this level hangs under."""
        tree, share = self._tree, self._votes[node]
        at = 0
        while self._max_depth is None or self._depth[at] + 1 < self._max_depth:
            children = tree.children(at)
            children = children[tree.levels[children] > level]
            if not children.size:
                break
            best = int(children[share[children].argmax()])
            stays = level in self._levels_of_children[at] and share[best] < FOLLOWED
            if stays or share[best] == 0.0:
                break
            at = best
        return at

    def _kept(self, places: list[_Place]) -> list[NewNode]:
        """Without new nodes that too few rows are left to, and without those that are the only one
        below a new node: it is them."""
        taken = self._taken(places)
        is_kept = [rows.size >= self._least_size for rows in taken]
        n_below = np.zeros(len(places), dtype=np.int64)
        for number, own in enumerate(places):
            if own.above < 0 and is_kept[number]:
                n_below[-1 - own.above] += 1
        new_nodes: list[NewNode] = []
        # Of each place the one among the new nodes that it is.
        number_of: list[int] = []
        for number, own in enumerate(places):
            inside = own.above < 0
            if inside and n_below[-1 - own.above] == 1:
                number_of.append(number_of[-1 - own.above])
                continue
            number_of.append(len(new_nodes))
            if is_kept[number]:
                above = -1 - number_of[-1 - own.above] if inside else own.above
                new_nodes.append(NewNode(self._rows[taken[number]], above))
        return new_nodes

    def _taken(self, places: list[_Place]) -> list[Int]:
        """The rows of each place, without those of new nodes that were claimed from below it."""
        deepest = np.full(self._ward.n_rows, -1, dtype=np.int64)
        for number, own in enumerate(places):
            deepest[self._ward.rows(own.ward)] = number
        rows = [np.flatnonzero(deepest == number) for number in range(len(places))]
        for number in range(len(places) - 1, -1, -1):
            if places[number].above < 0:
                above = -1 - places[number].above
                rows[above] = np.concatenate([rows[above], rows[number]])
        return rows
