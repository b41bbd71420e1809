"""A known tree completed from the root down: rows that are not labelled join known leaves or form
new nodes.

At each known node, in its space, its rows are clustered into its known leaves and new components
(`components`). A new component lies below that child to which its place is most likely (`spreads`),
and its rows go there and are clustered again; or it is new at this node. Components new at one node
are joined to new children, and these to their children, by average linkage of their squared
distances, cut where known nodes of as many levels say that two leaves part.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from models.arrays import Array, Float, Int
from models.methods.labelled.discovery.mixture import Mixture
from models.methods.labelled.hierarchy.components import Components, Search, find_components
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.spreads import Spreads
from models.progress import Progress


@dataclass(slots=True)
class CompletedTree:
    """Nodes, parents before children; node 0 is the root.

    leaf : (n_rows,) the node of each row.
    parent, name : of each node. known : its node in the known tree, -1 for a new one.
    metric : the place of a node's metric, used if it is inner.
    n_unconverged, n_full : known nodes at which EM, or the search for more components, was stopped.
    parts : of inner nodes the components of their rows, and the child that each belongs to.
    """

    leaf: Int
    parent: list[int] = field(default_factory=list)
    name: list[str | None] = field(default_factory=list)
    known: list[int] = field(default_factory=list)
    metric: list[int] = field(default_factory=list)
    parts: dict[int, tuple[Mixture, Int]] = field(default_factory=dict)
    n_unconverged: int = 0
    n_full: int = 0

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    def add(self, parent: int, name: str | None, known: int, metric: int) -> int:
        """The number of the new node."""
        self.parent.append(parent)
        self.name.append(name)
        self.known.append(known)
        self.metric.append(metric)
        return len(self.parent) - 1


def complete(
    tree: KnownTree,
    points: Array,
    factors: list[Float],
    of_node: Int,
    search: Search,
    max_depth: int | None,
    rng: np.random.Generator,
    progress: Progress,
) -> CompletedTree:
    """The known tree with new nodes, and every row in a leaf.

    points : (n_rows, p). factors : (r, p) L of each metric, r > 0. of_node : (n_nodes,) the place
        of each known node's factor; new nodes have their parent's.
    max_depth : edges from the root to the deepest new node; None: new nodes may have as many levels
        below them as their known siblings.

    O(rows x leaves x r) for each node, run and iteration of EM.
    """
    n_rows = tree.row_node.size
    done = CompletedTree(np.zeros(n_rows, dtype=np.int64))
    done.add(-1, tree.name[0], 0, int(of_node[0]))
    waiting: deque[tuple[int, Int, int]] = deque([(0, np.arange(n_rows), 0)])
    n_placed, n_new = 0, 0
    while waiting:
        node, rows, depth = waiting.popleft()
        known = done.known[node]
        if tree.is_leaf[known]:
            done.leaf[rows] = node
            n_placed += rows.size
            continue
        progress(n_placed / n_rows, "completing", f"{done.name[node] or 'root'}")
        leaves = tree.leaves(known)
        factor = factors[done.metric[node]]
        own_leaf = tree.row_node[rows]
        code = np.where(own_leaf > 0, np.searchsorted(leaves, own_leaf), -1)
        deeper = max_depth is None or depth < max_depth
        parts = find_components(
            points[rows] @ factor.T.astype(points.dtype),
            code,
            leaves.size,
            search if deeper else Search(0, search.least_size, search.n_init, search.penalty),
            rng,
        )
        done.n_unconverged += not parts.converged
        done.n_full += parts.full
        children = tree.children(known)
        for child in children.tolist():
            done.add(node, tree.name[child], child, int(of_node[child]))
        first = done.n_nodes - children.size
        spreads = Spreads.of(tree, known, leaves, parts.mixture.means[: leaves.size])
        owner = np.concatenate(
            [tree.place(known, leaves), spreads.owner(parts.mixture.means[leaves.size :])]
        )
        child_of = np.where(owner >= 0, first + owner, -1)
        own = np.flatnonzero(owner < 0)
        if own.size:
            levels = int(tree.levels[known])
            if max_depth is not None:
                levels = min(levels, max_depth - depth)
            n_new = _add_new(done, node, parts, own, child_of, levels, spreads, rows, n_new)
        done.parts[node] = (parts.mixture, child_of)
        of_row = child_of[parts.of_row]
        waiting.extend(
            (first + place, rows[of_row == first + place], depth + 1)
            for place in range(children.size)
        )
        n_placed += int((of_row >= first + children.size).sum())
    return done


def _add_new(
    done: CompletedTree,
    node: int,
    parts: Components,
    own: Int,
    child_of: Int,
    levels: int,
    spreads: Spreads,
    rows: Int,
    n_new: int,
) -> int:
    """New children of a node with all that is below them; the number of the last name.

    own : the components that are new here. child_of : to be filled in for them.
    levels : of the node: new children have one fewer.
    """
    means = parts.mixture.means
    # (node, its components, its levels)
    waiting = deque([(node, own, levels)])
    while waiting:
        above, some, levels = waiting.popleft()
        groups = _groups(means[some], levels - 1, spreads)
        if above != node and groups.max() == 0:
            # One child alone would be the same node.
            if levels > 2:
                waiting.append((above, some, levels - 1))
                continue
            groups = np.arange(some.size)
        of_part = np.full(means.shape[0], -1, dtype=np.int64)
        for group in range(int(groups.max()) + 1):
            members = some[groups == group]
            if above == node:
                n_new += 1
                name = f"new {n_new}"
            else:
                name = f"{done.name[above]}.{group + 1}"
            child = done.add(above, name, -1, done.metric[node])
            of_part[members] = child
            if members.size > 1:
                waiting.append((child, members, levels - 1))
            else:
                done.leaf[rows[parts.of_row == members[0]]] = child
        if above == node:
            child_of[own] = of_part[own]
        else:
            done.parts[above] = (parts.mixture.some(some), of_part[some])
    return n_new


def _groups(means: Float, levels: int, spreads: Spreads) -> Int:
    """(n,) the child that each component belongs to, of children with this many levels below."""
    if means.shape[0] < 2 or levels < 1:
        return np.arange(means.shape[0])
    squares = pdist(means, "sqeuclidean") / means.shape[1]
    cut = fcluster(linkage(squares, "average"), spreads.threshold(levels), "distance")
    # Numbered by their first component.
    _, first, group = np.unique(cut, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]
