"""A tree of cluster centres in an embedding, which is trained, grows, and is pruned.

The centres of leaves are parameters with an optimizer of their own, which starts anew whenever the
tree changes. The weight of a leaf is a moving average of the number of its points in a batch. The
weight of an inner node is the sum of its leaves' weights, and its centre their mean by weight, so
that an update of the leaves updates the whole tree.

A leaf grows two children by k-means on its points. A leaf whose weight falls below a threshold is
removed, and its sibling takes the place of their parent.

`TreeShape` holds the nodes of a binary tree, as it grows by splits and shrinks by pruning. A shape
is never changed: a split and a pruning give a new one. Nodes are numbered parents first, the root
0. Leaves are taken in the order of their numbers.

What a batch changes is in `trees.leaf_steps`.

Source: Mautz, Plant and Böhm (2020), section 3. There the average halves with each batch; here it
does for trees of few leaves, and spans as many batches as bring a leaf `FULL` points on average, so
that leaves that get less than a point a batch are not removed by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from models.arrays import Array, Arrays, Float, Int, Mask, Single
from models.clusters.kmeans import KMeansEffort, best_run, squared_distances
from models.methods.deep.trees.leaf_steps import LeafSteps
from models.running.progress import Progress


@dataclass(frozen=True)
class TreeShape:
    """A binary tree: every node has two children or none.

    parent : (n_nodes,) of each node, -1 for the root.
    """

    parent: Int

    @classmethod
    def root(cls) -> TreeShape:
        """The tree of one node."""
        return cls(np.array([-1]))

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @property
    def n_leaves(self) -> int:
        return (self.n_nodes + 1) // 2

    @cached_property
    def leaves(self) -> Int:
        """(n_leaves,) the nodes without children."""
        return np.flatnonzero(np.bincount(self.parent[1:], minlength=self.n_nodes) == 0)

    @cached_property
    def sibling(self) -> Int:
        """(n_nodes,) the other child of each node's parent; the root's is itself."""
        sibling = np.zeros(self.n_nodes, dtype=np.int64)
        pairs = self.pairs.reshape(-1, 2)
        sibling[pairs] = pairs[:, ::-1]
        return sibling

    @cached_property
    def below(self) -> Mask:
        """(n_nodes, n_leaves) whether a leaf is the node or below it."""
        below = np.zeros((self.n_nodes, self.n_leaves), dtype=bool)
        below[self.leaves, np.arange(self.n_leaves)] = True
        for node in range(self.n_nodes - 1, 0, -1):
            below[self.parent[node]] |= below[node]
        return below

    @cached_property
    def pairs(self) -> Int:
        """(n_nodes - 1,) all nodes but the root, siblings side by side."""
        return 1 + np.argsort(self.parent[1:], kind="stable")

    def split(self, leaf: int) -> TreeShape:
        """The tree in which a leaf has two children, the last two nodes."""
        return TreeShape(np.append(self.parent, [leaf, leaf]))

    def pruned(self, leaf: int) -> tuple[TreeShape, Int]:
        """The tree without a leaf, whose sibling takes the place of their parent; and the nodes
        that are left, by their former numbers. The leaf is not the root."""
        above = int(self.parent[leaf])
        parent = self.parent.copy()
        parent[self.sibling[leaf]] = parent[above]
        left = np.delete(np.arange(self.n_nodes), [above, leaf])
        number = np.full(self.n_nodes + 1, -1)
        number[left] = np.arange(left.size)
        return TreeShape(number[parent[left]]), left


FULL = 25.0
"""Points of a leaf that the moving average spans at least, with leaves of equal size."""

SPLITS = KMeansEffort(n_init=10)

MOST_SPLIT_BY = 100_000
"""A leaf of more points is split by a random sample of this many."""


class ClusterTree:
    """A tree that starts as one leaf and is changed in place.

    learning_rate : of the leaves' centres. n_clusters, batch_size : leaves wanted, and points of a
        batch. threshold : a leaf of less weight is pruned. loss_weight, n_versions : as of
        `LeafSteps`.
    steps : what a batch changes; another one whenever the tree has changed.
    n_pruned : leaves that were pruned so far.
    """

    steps: LeafSteps

    def __init__(
        self,
        centre: Single,
        learning_rate: float,
        n_clusters: int,
        batch_size: float,
        threshold: float,
        device: str,
        loss_weight: float = 1.0,
        n_versions: int = 1,
    ) -> None:
        pace = 1.0 / max(2.0, FULL * n_clusters / batch_size)
        self._threshold, self.n_pruned = threshold, 0
        self._steps_of = partial(
            LeafSteps,
            pace=pace,
            threshold=threshold,
            learning_rate=learning_rate,
            loss_weight=loss_weight,
            n_versions=n_versions,
            device=device,
        )
        self._set(TreeShape.root(), centre[None], np.array([batch_size], dtype=np.float32))

    def _set(self, shape: TreeShape, leaf_centres: Single, weights: Single) -> None:
        """Take a shape with these leaves, and start their optimizer anew."""
        self.shape = shape
        self.steps = self._steps_of(shape.below[shape.pairs], leaf_centres, weights)

    @property
    def leaf_centres(self) -> Single:
        """(n_leaves, E) centres of the leaves, a copy."""
        centres: Single = self.steps.centres.cpu().numpy().copy()
        return centres

    @property
    def weights(self) -> Single:
        """(n_leaves,) weights of the leaves, a copy."""
        weights: Single = self.steps.weights.cpu().numpy().copy()
        return weights

    def node_centres(self) -> Single:
        """(n_nodes, E) centres of all nodes: of inner ones, the mean of the leaves below by weight.

        A node whose leaves all weigh nothing has their plain mean.
        """
        shape, centres = self.shape, self.leaf_centres.astype(np.float64)
        share = shape.below * self.weights.astype(np.float64)
        share = np.where(share.any(axis=1, keepdims=True), share, shape.below)
        mean: Single = (share @ centres / share.sum(axis=1, keepdims=True)).astype(np.float32)
        mean[shape.leaves] = self.leaf_centres
        return mean

    def prune_light(self) -> None:
        """Remove the leaves that have become too light."""
        self.prune(self.weights < self._threshold)

    def prune(self, dead: Array) -> None:
        """Remove leaves, but for the heaviest if it is one of all.

        dead : (n_leaves,) whether a leaf is removed.
        """
        shape, nodes = self.shape, np.arange(self.shape.n_nodes)
        leaves, weights = shape.leaves, self.weights
        kept = int(weights.argmax()) if dead.all() else -1
        for number in np.flatnonzero(dead):
            if number != kept:
                shape, left = shape.pruned(int(np.flatnonzero(nodes == leaves[number])[0]))
                nodes = nodes[left]
                self.n_pruned += 1
        row = np.searchsorted(leaves, nodes[shape.leaves])
        self._set(shape, self.leaf_centres[row], weights[row])

    def grow(
        self, embedding: Single, n_leaves: int, rng: np.random.Generator, progress: Progress
    ) -> None:
        """Split leaves until there are `n_leaves`, or none can be split.

        Each time it is the leaf with the largest sum of squared distances of its points to its
        centre. embedding : (n_points, E) of all points.
        """
        shape = self.shape
        leaves = self._grown_leaves(embedding)
        while shape.n_leaves < n_leaves:
            leaf = max(leaves, key=lambda leaf: leaf.spread)
            if not leaf.spread > 0:
                break
            progress(0.0, "growing the tree", f"{shape.n_leaves:,} of {n_leaves:,} leaves")
            parts = _two_means(embedding[leaf.rows], rng, progress)
            if parts is None:
                leaf.spread = 0.0
                continue
            shape = shape.split(leaf.node)
            leaves.remove(leaf)
            for node, part in zip((shape.n_nodes - 2, shape.n_nodes - 1), parts, strict=True):
                weight = leaf.weight * part.rows.size / leaf.rows.size
                rows = leaf.rows[part.rows]
                leaves.append(_Leaf(node, rows, part.centre, weight, part.spread))
        if shape.n_leaves > self.shape.n_leaves:
            leaves.sort(key=lambda leaf: leaf.node)
            self._set(
                shape,
                np.stack([leaf.centre for leaf in leaves]).astype(np.float32),
                np.array([leaf.weight for leaf in leaves], dtype=np.float32),
            )

    def _grown_leaves(self, embedding: Single) -> list[_Leaf]:
        """The leaves with their points."""
        centres = self.leaf_centres
        squared = squared_distances(embedding, centres.astype(np.float64))
        nearest = squared.argmin(axis=1)
        spread = np.bincount(nearest, squared.min(axis=1), len(centres))
        by_leaf = np.split(
            np.argsort(nearest, kind="stable"),
            np.cumsum(np.bincount(nearest, minlength=len(centres)))[:-1],
        )
        return [
            _Leaf(int(node), rows, centre, float(weight), float(inside))
            for node, rows, centre, weight, inside in zip(
                self.shape.leaves, by_leaf, centres, self.weights, spread, strict=True
            )
        ]

    def arrays(self) -> dict[str, Array]:
        """What `restore` needs, for checkpoints."""
        return {
            "parent": self.shape.parent.copy(),
            "n_pruned": np.array(self.n_pruned),
            **self.steps.arrays(),
        }

    def restore(self, arrays: Arrays) -> None:
        """Become the tree that `arrays` describes."""
        shape = TreeShape(np.array(arrays["parent"]))
        self._set(shape, np.array(arrays["centres"]), np.array(arrays["weights"]))
        self.steps.restore(arrays)
        self.n_pruned = int(arrays["n_pruned"])


@dataclass(slots=True, eq=False)
class _Leaf:
    """A leaf while the tree grows: its node, the rows of its points, and their sum of squared
    distances to its centre."""

    node: int
    rows: Int
    centre: Array
    weight: float
    spread: float


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the two parts of a leaf; rows count from the leaf's first."""

    rows: Int
    centre: Float
    spread: float


def _two_means(
    points: Single, rng: np.random.Generator, progress: Progress
) -> tuple[_Part, _Part] | None:
    """Points in two parts by k-means, neither empty; None where they all coincide."""
    sample = points
    if len(points) > MOST_SPLIT_BY:
        sample = points[rng.choice(len(points), MOST_SPLIT_BY, replace=False)]
    if (sample == sample[0]).all():
        return None
    centres = best_run(sample, 2, SPLITS, rng, progress).centers
    squared = squared_distances(points, centres)
    nearest = squared.argmin(axis=1)
    rows = [np.flatnonzero(nearest == side) for side in (0, 1)]
    if not all(part.size for part in rows):
        return None
    first, second = (
        _Part(rows[side], centres[side], float(squared[rows[side], side].sum())) for side in (0, 1)
    )
    return first, second
