"""A known tree completed: rows that are not labelled join known leaves or form new nodes.

In the root's space, rows with few labelled ones near (`novelty`) are clustered by Ward's criterion,
and of the nodes of that tree those that look like known ones become new (`new_nodes`). All other
rows join known leaves from the root down, each node's in its own space.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from models.arrays import Array, Float, Int
from models.methods.labelled.discovery.mixture import Mixture
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.new_nodes import NewNode, NewNodes, novel
from models.running.progress import Progress


@dataclass(slots=True)
class CompletedTree:
    """Nodes, parents before children; node 0 is the root.

    leaf : (n_rows,) the node of each row.
    parent, name : of each node. known : its node in the known tree, -1 for a new one.
    metric : the place of a node's metric, used if it is inner.
    parts : of inner nodes the components of their rows, and the child that each belongs to.
    """

    leaf: Int
    parent: list[int] = field(default_factory=list)
    name: list[str | None] = field(default_factory=list)
    known: list[int] = field(default_factory=list)
    metric: list[int] = field(default_factory=list)
    parts: dict[int, tuple[Mixture, Int]] = field(default_factory=dict)

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
    least_share: float,
    least_size: int,
    max_depth: int | None,
    progress: Progress,
) -> CompletedTree:
    """The known tree with new nodes, and every row in a leaf.

    points : (n_rows, p). factors : (r, p) L of each metric, r > 0. of_node : (n_nodes,) the place
        of each known node's factor; new nodes have their parent's.
    least_share : of labelled rows near a known leaf's row, against a labelled row's.
    least_size : rows of a new leaf.
    max_depth : edges from the root to the deepest new node; None: as known nodes say.

    O(rows^2 r).
    """
    done = CompletedTree(tree.row_node.copy())
    for node in range(tree.n_nodes):
        done.add(int(tree.parent[node]), tree.name[node], node, int(of_node[node]))
    progress(0.0, "clustering")
    top = points @ factors[of_node[0]].T.astype(points.dtype)
    is_new = novel(top, tree.row_node, least_share)
    if is_new.any():
        _add_new(done, NewNodes(tree, top, is_new, least_size, max_depth).chosen())
    progress(0.8, "placing rows")
    _place(done, tree, points, factors)
    return done


def _add_new(done: CompletedTree, new_nodes: list[NewNode]) -> None:
    """New nodes with the rows that they hold."""
    first = done.n_nodes
    n_below = [0] * first
    n_top = 0
    for own in new_nodes:
        above = own.above if own.above >= 0 else first - 1 - own.above
        if own.above >= 0:
            n_top += 1
            name = f"new {n_top}"
        else:
            n_below[above] += 1
            name = f"{done.name[above]}.{n_below[above]}"
        n_below.append(0)
        node = done.add(above, name, -1, done.metric[above])
        done.leaf[own.rows] = node


def _place(done: CompletedTree, tree: KnownTree, points: Array, factors: list[Float]) -> None:
    """Components of inner nodes, and rows that are not in a leaf yet in the nearest one below their
    node; at known nodes only known leaves take rows.

    A leaf's component is at the mean of the rows that it has so far, with the spread of labelled
    rows in the node's space; all weigh the same.
    """
    n_nodes = done.n_nodes
    is_leaf = np.bincount(np.array(done.parent[1:]), minlength=n_nodes) == 0
    held = [np.flatnonzero(done.leaf == leaf) for leaf in np.flatnonzero(is_leaf).tolist()]
    means = np.array([points[rows].mean(axis=0, dtype=np.float64) for rows in held])
    below: list[list[int]] = [[] for _ in range(n_nodes)]
    branch: list[list[int]] = [[] for _ in range(n_nodes)]
    for place, leaf in enumerate(np.flatnonzero(is_leaf).tolist()):
        own = leaf
        while own:
            above = done.parent[own]
            below[above].append(place)
            branch[above].append(own)
            own = above
    labelled = np.flatnonzero(tree.row_node > 0)
    number = np.cumsum(is_leaf) - 1
    away = points[labelled] - means[number[tree.row_node[labelled]]]
    leaf_known = np.array(done.known)[is_leaf] >= 0
    for node in range(n_nodes):
        if is_leaf[node]:
            continue
        factor = factors[done.metric[node]]
        variance = float(np.square(away @ factor.T).mean())
        if not variance > 0.0:
            variance = float((points @ factor.T.astype(points.dtype)).var(dtype=np.float64))
        places, child = np.array(below[node]), np.array(branch[node])
        weights = np.full(places.size, 1.0 / places.size)
        mixture = Mixture("gmm", means[places] @ factor.T, weights, max(variance, 1e-12))
        done.parts[node] = (mixture, child)
        rows = np.flatnonzero(done.leaf == node)
        if rows.size:
            joint = mixture.log_joint(points[rows] @ factor.T.astype(points.dtype))
            if done.known[node] >= 0:
                joint[:, ~leaf_known[places]] = -np.inf
            done.leaf[rows] = child[joint.argmax(axis=1)]
