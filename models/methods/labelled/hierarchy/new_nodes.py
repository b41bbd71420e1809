"""New nodes among the nodes of Ward's tree, chosen by what known nodes look like.

From the top of Ward's tree down, a node becomes a new one with as many levels as its size and
spread allow (`Resemblance`), unless most of its rows' nearest labelled rows are below one child of
the node that it would hang under: then it holds leaves of that child. Where none fits, the new
leaves are of Ward's cut into as many as the rows make at the known leaves' mean size. The
same is done again below each new node, for fewer levels. A new node hangs under the known node that
its nearest labelled rows lead to and that has children with as many levels.

`Resemblance` tells how large and how wide nodes of each level are, as known ones show. The
logarithms of a node's size and of its rows' variance are normal, with a mean and a deviation for
each number of levels below it; deviations borrow from a half. Sizes are in rows of known nodes
whether labelled or not. Rows of classes that the user gave count as such: known leaves then look
larger, and new ones are larger and fewer. Where half of the hidden leaves are given as classes,
.53 of the others are found among emoji instead of .56, .14 in both among nouns, and .51 and .50 of
the new nodes match a hidden one instead of .43 and .38 (8 draws of `bench.taxonomy`'s sets).

`labelled_near` tells how labelled the surroundings of rows are, and `votes` near to which known
nodes rows lie. A row in a known leaf has about as many labelled rows among its nearest as a
labelled row has; a row of a new leaf has fewer. This holds whatever the leaf's shape, as long as a
fair share of the known leaves' rows is labelled.

`Spreads` tell how widely the leaves below a node lie, as known ones show, and what that says of a
new one. In the space of a node v, the leaves below a node u at or below v have means about that of
u, with a variance t_u in each direction. A cluster with the mean m is the more likely below u the
greater log n_u + log N(m; mean_u, t_u I), where n_u is the number of u's children. Nodes with few
leaves borrow their variance from others of as many levels.

`WardTree` is Ward's tree of some rows: size, spread and mean of each of its nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.arrays import Array, Float, Int, Mask, row_blocks
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.numerics.agglomeration import merged_points

FEWEST_ROWS = 4
PAIRS, DEVIATION = 2.0, 0.5
"""The weight, in nodes, and the value of the deviation that levels with few nodes have."""


@dataclass(frozen=True, slots=True)
class Resemblance:
    """mean, deviation : (levels, 2) of log size and log variance, NaN for a level that no node
    shows. whole : log variance of all labelled rows."""

    mean: Float
    deviation: Float
    whole: float

    @classmethod
    def of(cls, tree: KnownTree, points: Array, labelled_share: float) -> Resemblance:
        """labelled_share : of the rows of known nodes. O(nodes x rows)."""
        shown: dict[int, list[tuple[float, float]]] = {}
        for node in range(1, tree.n_nodes):
            rows = tree.labelled(node)
            # A node with one child is that child.
            if rows.size < FEWEST_ROWS or tree.children(node).size == 1:
                continue
            variance = _variance(points[rows])
            if variance > 0.0:
                pair = (np.log(rows.size / labelled_share), np.log(variance))
                shown.setdefault(int(tree.levels[node]), []).append(pair)
        mean = np.full((int(tree.levels[0]), 2), np.nan)
        deviation = np.full_like(mean, np.nan)
        for level, pairs in shown.items():
            values = np.array(pairs)
            mean[level] = values.mean(axis=0)
            squares = np.square(values - mean[level]).sum(axis=0) + PAIRS * DEVIATION**2
            deviation[level] = np.sqrt(squares / (len(pairs) - 1 + PAIRS))
        whole = max(_variance(points[tree.labelled(0)]), np.finfo(np.float64).tiny)
        return cls(mean, deviation, float(np.log(whole)))

    def allows(self, level: int, size: float, variance: float, wide: float) -> bool:
        """Whether a node of this size and variance may have this level: at least the usual size, at
        most two deviations above it, and at most the share `wide` of the way from the usual log
        variance to that of all rows."""
        mean, deviation = self.mean[level], self.deviation[level]
        if np.isnan(mean[0]) or variance <= 0.0:
            return False
        fits = mean[0] <= np.log(size) <= mean[0] + 2.0 * deviation[0]
        return bool(fits and np.log(variance) <= mean[1] + wide * (self.whole - mean[1]))


def _variance(points: Array) -> float:
    away = np.asarray(points, dtype=np.float64) - points.mean(axis=0, dtype=np.float64)
    return float(np.square(away).sum() / max(points.shape[0] - 1, 1))


FEWEST_NEIGHBOURS, MOST_NEIGHBOURS = 5, 20
N_VOTES = 10
VALUES = 1 << 20


def labelled_near(points: Array, row_node: Int) -> Float:
    """(n_rows,) the share of labelled rows among the rows nearest to each, over the mean share of
    labelled rows: about 1 in known leaves, 0 far from them.

    row_node : (n_rows,) the known leaf, 0 for none. The nearest rows are about as many as a leaf
    has, since more would be of other leaves. O(n_rows^2 r).
    """
    labelled = row_node > 0
    most = min(MOST_NEIGHBOURS, labelled.size - 1)
    near = np.empty((labelled.size, most), dtype=bool)
    for rows, squares in _squares(points, points):
        squares[np.arange(squares.shape[0]), np.arange(rows.start, rows.stop)] = np.inf
        some = np.argpartition(squares, most - 1, axis=1)[:, :most]
        order = np.argsort(np.take_along_axis(squares, some, axis=1), axis=1)
        near[rows] = labelled[np.take_along_axis(some, order, axis=1)]
    size = np.bincount(row_node[labelled])
    typical = max(int(np.median(size[size > 0])), FEWEST_NEIGHBOURS)
    of_all = typical / max(float(near[labelled, :typical].mean()), typical / labelled.size)
    n_near = min(round(of_all), most)
    share = near[:, :n_near].mean(axis=1)
    usual = float(share[labelled].mean())
    return np.asarray(share / usual if usual > 0.0 else np.full(share.size, np.inf))


def votes(tree: KnownTree, points: Array, rows: Int) -> Float:
    """(n, n_nodes) of some rows the share of the nearest labelled rows at or below each node.

    O(n x labelled rows x r).
    """
    labelled = np.flatnonzero(tree.row_node > 0)
    own = tree.row_node[labelled]
    n_near = min(N_VOTES, labelled.size)
    share = np.zeros((rows.size, tree.n_nodes))
    for some, squares in _squares(points[rows], points[labelled]):
        near = own[np.argpartition(squares, n_near - 1, axis=1)[:, :n_near]]
        for place in range(n_near):
            share[np.arange(some.start, some.stop), near[:, place]] += 1.0 / n_near
    for node in range(tree.n_nodes - 1, 0, -1):
        share[:, tree.parent[node]] += share[:, node]
    return share


def _squares(points: Array, others: Array) -> Iterator[tuple[slice, Float]]:
    """Slices of rows with their squared distances from `others`."""
    from scipy.spatial.distance import cdist

    for rows in row_blocks(points.shape[0], others.shape[0], VALUES):
        yield rows, cdist(points[rows], others, "sqeuclidean")


BORROWED = 2.0
"""The weight, in leaves, of the variance among all nodes of as many levels."""


@dataclass(frozen=True, slots=True)
class Spreads:
    """Means and variances of the inner nodes at or below one node; that node is the first.

    node : (n,). child : (n,) the place of that child of the node which is above or at each, -1 for
        the node itself. mean : (n, r). variance : (n,). n_children : (n,).
    by_level : (levels,) variance of leaves below nodes with 1, 2, ... levels.
    """

    node: Int
    child: Int
    mean: Float
    variance: Float
    n_children: Int
    by_level: Float

    @classmethod
    def of(cls, tree: KnownTree, node: int, leaves: Int, means: Float) -> Spreads:
        """leaves : (L,) the known leaves below the node. means : (L, r) theirs.

        O(L x levels x r).
        """
        parent = tree.parent
        sums: dict[int, Float] = {}
        squares: dict[int, float] = {}
        count: dict[int, int] = {}
        for leaf, mean in zip(leaves.tolist(), means, strict=True):
            above = int(parent[leaf])
            square = float(mean @ mean)
            while above >= 0:
                sums[above] = sums.get(above, 0.0) + mean
                squares[above] = squares.get(above, 0.0) + square
                count[above] = count.get(above, 0) + 1
                if above == node:
                    break
                above = int(parent[above])
        inner = np.array(sorted(sums), dtype=np.int64)
        times = np.array([count[some] for some in inner.tolist()], dtype=np.float64)
        mean = np.array([sums[some] for some in inner.tolist()]) / times[:, None]
        within = np.array([squares[some] for some in inner.tolist()])
        within = np.maximum(within - times * np.square(mean).sum(axis=1), 0.0) / means.shape[1]
        levels = tree.levels[inner]
        by_level = _by_level(within, times, levels)
        borrowed = by_level[levels - 1]
        variance = (within + BORROWED * borrowed) / (np.maximum(times - 1.0, 0.0) + BORROWED)
        child = np.full(inner.size, -1, dtype=np.int64)
        child[1:] = tree.place(node, inner[1:])
        n_children = np.array([tree.children(some).size for some in inner.tolist()])
        return cls(inner, child, mean, variance, n_children, by_level)

    def owner(self, means: Float) -> Int:
        """(n_new,) for clusters the place of the child that each lies below, -1 for none."""
        squares = np.square(means[:, None, :] - self.mean).sum(axis=2)
        score = np.log(self.n_children) - 0.5 * squares / self.variance
        score -= 0.5 * means.shape[1] * np.log(self.variance)
        place: Int = self.child[score.argmax(axis=1)]
        return place


def _by_level(within: Float, times: Float, levels: Int) -> Float:
    """Never falling; a level that no node with two leaves has gets that of the next lower one."""
    by_level = np.zeros(int(levels.max()))
    least = 1e-12
    for level in range(1, by_level.size + 1):
        some = levels == level
        freedom = float(np.maximum(times[some] - 1.0, 0.0).sum())
        if freedom > 0.0:
            least = max(least, float(within[some].sum()) / freedom)
        by_level[level - 1] = least
    return by_level


@dataclass(frozen=True, slots=True)
class WardTree:
    """Nodes 0 .. n - 1 are the rows, and later ones merges, children before parents.

    children : (n - 1, 2) of the merges. size : (2 n - 1,). mean : (2 n - 1, r).
    variance : (2 n - 1,) the sum over columns of the rows' variances, 0 for a row.
    """

    children: Int
    size: Int
    mean: Float
    variance: Float

    @classmethod
    def of(cls, points: Array) -> WardTree:
        """points : (n, r), n > 0. O(n^2 r) time, O(n r) memory."""
        n_rows, n_columns = points.shape
        children = np.empty((0, 2), dtype=np.int64)
        if n_rows > 1:
            children = merged_points(points, "ward")[:, :2].astype(np.int64)
        n_nodes = 2 * n_rows - 1
        size = np.ones(n_nodes, dtype=np.int64)
        mean = np.empty((n_nodes, n_columns))
        mean[:n_rows] = points
        squares = np.zeros(n_nodes)
        for node, (left, right) in enumerate(children.tolist(), start=n_rows):
            size[node] = size[left] + size[right]
            share = size[right] / size[node]
            away = mean[right] - mean[left]
            mean[node] = mean[left] + share * away
            squares[node] = squares[left] + squares[right] + size[left] * share * (away @ away)
        return cls(children, size, mean, squares / np.maximum(size - 1, 1))

    @property
    def n_rows(self) -> int:
        return int(self.children.shape[0]) + 1

    def below(self, node: int) -> list[int]:
        """The two children of a node, none of a row."""
        merge = node - self.n_rows
        return self.children[merge].tolist() if merge >= 0 else []

    def rows(self, node: int) -> Int:
        """The rows at or below a node."""
        rows, waiting = [], [node]
        while waiting:
            some = waiting.pop()
            if some < self.n_rows:
                rows.append(some)
            else:
                waiting.extend(self.below(some))
        return np.array(rows, dtype=np.int64)

    def means(self, values: Float) -> Float:
        """(2 n - 1, c) the mean over the rows of each node. values : (n, c)."""
        means = np.empty((self.size.size, values.shape[1]))
        means[: self.n_rows] = values
        for node, pair in enumerate(self.children, start=self.n_rows):
            means[node] = (self.size[pair] @ means[pair]) / self.size[node]
        return means


WIDE = 0.8
"""How far a subtree's log variance may lie from the usual one towards that of all rows."""

OWNED = 0.6
"""Share of votes for one child above which a node belongs to it alone."""

FOLLOWED = 0.4
"""Share of votes that leads on to a child, where a new node could also stay above."""

CLAIMED = 0.7
"""Share of votes by which a new node leaves a new subtree for a known node."""


@dataclass(frozen=True, slots=True)
class NewNode:
    """rows : of the points given. above : the known node that it hangs under, or -1 - p for
    the new one at the place p."""

    rows: Int
    above: int


def kept(new_nodes: Sequence[NewNode], least_size: int = 1) -> list[NewNode]:
    """Without nodes of fewer rows, and without those that are the only one left below a new node:
    it is them. Parents stay before children. O(nodes)."""
    n_below = np.zeros(len(new_nodes), dtype=np.int64)
    for node in new_nodes:
        if node.above < 0 and node.rows.size >= least_size:
            n_below[-1 - node.above] += 1
    left: list[NewNode] = []
    # For each node, its number among those that are left.
    number_of: list[int] = []
    for node in new_nodes:
        inside = node.above < 0
        if inside and n_below[-1 - node.above] == 1:
            number_of.append(number_of[-1 - node.above])
            continue
        number_of.append(len(left))
        if node.rows.size >= least_size:
            left.append(
                replace(node, above=-1 - number_of[-1 - node.above] if inside else node.above)
            )
    return left


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
        self._is_leaf = self._cut(tree, float(labelled.sum() / (~is_new).sum()))
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

    def _cut(self, tree: KnownTree, share: float) -> Mask:
        """(n_ward,) nodes of Ward's cut into as many leaves as the rows make at the known leaves'
        mean size.

        share : of the known leaves' rows that are labelled.
        """
        ward = self._ward
        size = np.bincount(tree.row_node[tree.row_node > 0])
        usual = float(size[size > 0].mean()) / share
        n_leaves = min(max(round(ward.n_rows / usual), 1), ward.n_rows)
        first_gone = 2 * ward.n_rows - n_leaves
        is_cut = np.zeros(ward.size.size, dtype=bool)
        is_cut[:first_gone] = True
        is_cut[ward.children[: first_gone - ward.n_rows].ravel()] = False
        return is_cut

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
        taken = [self._rows[rows] for rows in self._taken(places)]
        new_nodes = [NewNode(rows, own.above) for rows, own in zip(taken, places, strict=True)]
        return kept(new_nodes, self._least_size)

    def _taken(self, places: list[_Place]) -> list[Int]:
        """The rows of each place, without the rows of new nodes that were claimed from below it."""
        deepest = np.full(self._ward.n_rows, -1, dtype=np.int64)
        for number, own in enumerate(places):
            deepest[self._ward.rows(own.ward)] = number
        rows = [np.flatnonzero(deepest == number) for number in range(len(places))]
        for number in range(len(places) - 1, -1, -1):
            if places[number].above < 0:
                above = -1 - places[number].above
                rows[above] = np.concatenate([rows[above], rows[number]])
        return rows
