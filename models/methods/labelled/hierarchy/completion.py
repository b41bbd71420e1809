"""A known tree completed: rows that are not labelled join known leaves or form new nodes; new rows.

In the root's space, rows with few labelled ones near (`novelty`) are clustered by Ward's criterion,
and of the nodes of that tree those that look like known ones become new (`new_nodes`), with the
rows that are nearest to them (`gathering`). All other rows join known leaves from the root down,
each node's in its own space.

`place_rows` places new rows in a completed tree: from the root to the child of the likeliest
component, and on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from models.arrays import Array, Arrays, Float, Int
from models.clusters.placing import normalize
from models.method import Predictions
from models.methods.labelled.discovery.mixture import Mixture
from models.methods.labelled.hierarchy.answers import Places, read_answers
from models.methods.labelled.hierarchy.gathering import gathered
from models.methods.labelled.hierarchy.hanging import Hanging, Hung, Texts
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.hierarchy.new_nodes import NewNode, NewNodes, labelled_near
from models.methods.labelled.hierarchy.placing import Placing
from models.running.progress import Progress
from models.tree.tree import Tree
from models.tree.walk import paths

TAKEN = -1
"""The leaf of rows of new classes, which take no part in the search."""

LENIENT = 1.25
"""How much higher the bound is for rows than for clusters: means are surer than rows."""

N_BY_CHANCE = 5
"""Draws of new nodes where there are none, of which real ones hold more rows than any."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is known beside labelled rows.

    classes : by name the rows of a class that the known tree does not have. texts : of the rows.
    answers : of a person, see `answers`. with_chance : whether new nodes must hold more rows
    than in any of `N_BY_CHANCE` draws by chance.
    """

    classes: Mapping[str, Int] = field(default_factory=dict)
    texts: Texts | None = None
    answers: Sequence[str] = ()
    with_chance: bool = False


NOTHING = Given()


@dataclass(slots=True)
class CompletedTree:
    """Nodes, parents before children; node 0 is the root.

    leaf : (n_rows,) the node of each row.
    parent, name : of each node. known : its node in the known tree, -1 for a new one.
    metric : the place of a node's metric, used if it is inner.
    hung : by new node how it was placed.
    parts : of inner nodes the components of their rows, and the child that each belongs to.
    placing : how new nodes were placed; None where there are none.
    by_chance : new leaves that are to be expected where there are none. n_as_chance : new nodes
        that were dropped as no more than that.
    not_kept_to : new nodes that could not hang as was answered.
    """

    leaf: Int
    parent: list[int] = field(default_factory=list)
    name: list[str | None] = field(default_factory=list)
    known: list[int] = field(default_factory=list)
    metric: list[int] = field(default_factory=list)
    hung: dict[int, Hung] = field(default_factory=dict)
    parts: dict[int, tuple[Mixture, Int]] = field(default_factory=dict)
    placing: Placing | None = None
    by_chance: float = 0.0
    n_as_chance: int = 0
    not_kept_to: list[int] = field(default_factory=list)

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
    rng: np.random.Generator,
    given: Given = NOTHING,
) -> CompletedTree:
    """The known tree with new nodes, and every row in a leaf.

    points : (n_rows, p). factors : (r, p) L of each metric, r > 0. of_node : (n_nodes,) the place
        of each known node's factor; new nodes have their parent's.
    least_share : of labelled rows near a known leaf's row, against a labelled row's.
    least_size : rows of a new leaf.
    max_depth : edges from the root to the deepest new node; None: as known nodes say.
    given : what is known beside labelled rows.

    Raises UsageError for answers that do not fit. O(rows^2 r).
    """
    done = CompletedTree(tree.row_node.copy())
    for node in range(tree.n_nodes):
        done.add(int(tree.parent[node]), tree.name[node], node, int(of_node[node]))
    progress(0.0, "clustering")
    top = points @ factors[of_node[0]].T.astype(points.dtype)
    new_nodes: list[NewNode] = []
    free = np.ones(points.shape[0], dtype=bool)
    for rows in given.classes.values():
        free[rows] = False
    searched = replace(tree, row_node=np.where(free, tree.row_node, TAKEN))
    new_nodes, share = _found(searched, top, least_share, least_size, max_depth)
    if new_nodes and given.with_chance:
        chance = [
            new_by_chance(tree, top, share, least_share, least_size, own)
            for own in (rng, *rng.spawn(N_BY_CHANCE - 1))
        ]
        done.by_chance = float(np.mean([_n_leaves(own) for own in chance])) / share
        if _n_rows(new_nodes) <= max(_n_rows(own) for own in chance) / share:
            done.n_as_chance = len(new_nodes)
            new_nodes = []
    names = [*[None] * len(new_nodes), *given.classes]
    new_nodes += [NewNode(rows, 0) for rows in given.classes.values()]
    progress(0.6, "placing new nodes")
    if new_nodes:
        hanging = Hanging(tree, points, new_nodes, given.texts, rng, max_depth, least_size, names)
        answers = hanging.answers(given.answers)
        hung = hanging.hung(answers)
        done.not_kept_to = [done.n_nodes + own for own in hanging.not_kept_to(hung, answers)]
        _add_new(done, hung)
        done.placing = hanging.placing
    elif given.answers:
        read_answers(given.answers, Places())
    progress(0.8, "placing rows")
    _place(done, tree, points, factors)
    return done


def new_by_chance(
    tree: KnownTree,
    points: Array,
    share: float,
    least_share: float,
    least_size: int,
    rng: np.random.Generator,
) -> list[NewNode]:
    """New nodes found among labelled rows, of which the share `share` stays labelled: there are
    none. Each leaf keeps a row. O(labelled rows^2 r)."""
    labelled = np.flatnonzero(tree.row_node > 0)
    row_node = tree.row_node[labelled]
    hidden = rng.random(labelled.size) >= share
    hidden[np.unique(row_node, return_index=True)[1]] = False
    known, _ = replace(tree, row_node=row_node).without(hidden)
    return _found(known, points[labelled], least_share, least_size, None)[0]


def _found(
    tree: KnownTree, points: Array, least_share: float, least_size: int, max_depth: int | None
) -> tuple[list[NewNode], float]:
    """New nodes, and the share of known leaves' rows that are labelled."""
    row_node = tree.row_node
    free = row_node != TAKEN
    near = np.full(free.size, np.inf)
    near[free] = labelled_near(points[free], row_node[free])
    is_new = near < LENIENT * least_share
    is_new &= row_node == 0
    share = float((row_node > 0).sum() / (free & ~is_new).sum())
    if not is_new.any():
        return [], share
    known = replace(tree, row_node=np.maximum(row_node, 0))
    found = NewNodes(known, points, is_new, least_size, max_depth).chosen()
    return gathered(points, row_node, found, least_size, near, least_share), share


def _n_rows(new_nodes: Sequence[NewNode]) -> int:
    return sum(node.rows.size for node in new_nodes if node.above >= 0)


def _n_leaves(new_nodes: Sequence[NewNode]) -> int:
    return len(new_nodes) - len({node.above for node in new_nodes if node.above < 0})


def _add_new(done: CompletedTree, new_nodes: list[Hung]) -> None:
    """New nodes with the rows that they hold."""
    first = done.n_nodes
    n_below = [0] * first
    n_top = 0
    for own in new_nodes:
        above = own.above if own.above >= 0 else first - 1 - own.above
        if own.name is not None:
            name = own.name
        elif own.above >= 0:
            n_top += 1
            name = f"new {n_top}"
        else:
            n_below[above] += 1
            name = f"{done.name[above]}.{n_below[above]}"
        n_below.append(0)
        node = done.add(above, name, -1, done.metric[above])
        done.hung[node] = own
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


def stored(done: CompletedTree, factors: Sequence[Float]) -> dict[str, Array]:
    """What `place_rows` needs, as arrays of a model.

    Means are in as many columns as the widest space has, filled up with zeros for narrower ones.
    """
    widest = max(factor.shape[0] for factor in factors)
    nodes = sorted(done.parts)
    parts = [done.parts[node] for node in nodes]
    means = [
        np.pad(mixture.means, ((0, 0), (0, widest - mixture.means.shape[1])))
        for mixture, _ in parts
    ]
    return {
        "factors": np.concatenate(factors),
        "factor_start": _starts([factor.shape[0] for factor in factors]),
        "inner": np.array(nodes, dtype=np.int64),
        "inner_metric": np.array([done.metric[node] for node in nodes], dtype=np.int64),
        "variance": np.array([mixture.variance for mixture, _ in parts]),
        "component_start": _starts([child.size for _, child in parts]),
        "means": np.concatenate(means),
        "weights": np.concatenate([mixture.weights for mixture, _ in parts]),
        "child": np.concatenate([child for _, child in parts]),
    }


def place_rows(arrays: Arrays, tree: Tree, points: Array) -> Predictions:
    """points : (n_rows, p) prepared. A node's probability is its share of its parent's components'
    posteriors, times its parent's probability.

    O(rows at a node x its components x r) for each node.
    """
    at = np.zeros(points.shape[0], dtype=np.int64)
    start, first = arrays["factor_start"], arrays["component_start"]
    chance_of: list[tuple[Array, Array, Float]] = []
    for place, node in enumerate(arrays["inner"].tolist()):
        rows = np.flatnonzero(at == node)
        if not rows.size:
            continue
        metric = int(arrays["inner_metric"][place])
        factor = arrays["factors"][start[metric] : start[metric + 1]]
        own = slice(int(first[place]), int(first[place + 1]))
        mixture = Mixture(
            "gmm",
            np.asarray(arrays["means"][own, : factor.shape[0]]),
            np.asarray(arrays["weights"][own]),
            float(arrays["variance"][place]),
        )
        child = np.asarray(arrays["child"][own])
        logits = mixture.log_joint(points[rows] @ factor.T.astype(points.dtype))
        at[rows] = child[logits.argmax(axis=1)]
        normalize(logits)
        same = child == at[rows][:, None]
        chance = np.minimum(np.where(same, np.exp(logits), 0.0).sum(axis=1), 1.0)
        chance_of.append((rows, at[rows], chance))
    begin, node_of = paths(tree, at)
    # The probability of each node on a row's path: the product of its steps so far.
    depth = tree.depth
    probability = np.ones(node_of.size)
    for rows, nodes, chance in chance_of:
        probability[begin[rows] + depth[nodes]] = chance
    for level in range(1, int(depth.max()) + 1):
        some = np.flatnonzero(depth[node_of] == level)
        probability[some] *= probability[some - 1]
    return Predictions(at, begin, node_of, probability)


def _starts(sizes: Sequence[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
