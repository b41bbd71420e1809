"""The fit of `deepect`, from rows to the tree, its model, metrics, curves and warnings."""

from __future__ import annotations

import copy

import numpy as np

from models.answers.learned_steps import LearnedStep, packed, unpacked
from models.arrays import Array, Float, Int, Single
from models.clusters.kmeans import SMALLEST_VARIANCE, squared_distances
from models.clusters.placing import by_size
from models.inputs.data import ImageSize
from models.method import Fitted, Model, Run
from models.methods.deep.networks.scaling import Augmentation, measure_scaling
from models.methods.deep.trees.cluster_tree import ClusterTree
from models.methods.deep.trees.parameters import TreeParams
from models.methods.deep.trees.placing import embed, log_posteriors, node_pictures
from models.methods.deep.trees.training import CURVES, Curve, ScaledRows, Trainer
from models.numerics.rows import canonical
from models.tree.build import from_parents
from models.tree.tree import Tree

MOST_LATE_FALL = 0.1
"""The largest share of a loss's fall in the last fifth of the epochs that is not warned of."""


def fit(
    rows: Array,
    size: ImageSize | None,
    names: list[str],
    params: TreeParams,
    run: Run,
    keep_steps: int = 0,
) -> Fitted:
    """The whole fit. To be called within `models.running.device.computing`.

    rows : (n_points, n_features), finite. size : of the images that they are.
    names : of the leaves, the largest first. keep_steps : the most earlier trees.
    """
    run.progress(0.01, "reading rows")
    order = canonical(rows)
    scaling = measure_scaling(rows, order)
    run.progress(0.05, "starting the network")
    seed = int(run.rng.integers(2**63))
    augmentation = None
    if params.augment and size is not None:
        augmentation = Augmentation(size, scaling, params.device)
    scaled = ScaledRows(rows, order, scaling)
    trainer = Trainer(scaled, params, seed, augmentation, keep_steps, _described)
    training = trainer.train(run)
    tree = training.tree
    assert tree is not None
    run.progress(0.92, "placing points")
    network = training.network.arrays()
    arrays: dict[str, Array] = {
        **scaling.arrays(),
        **{name: array for name, array in network.items() if name.startswith("encoder.")},
    }
    embedding = embed(arrays, rows[order])
    leaf = _without_empty_leaves(tree, embedding)
    nodes = _NumberedNodes(tree, embedding, leaf)
    leaf_of_point = np.empty(len(rows), dtype=np.int64)
    leaf_of_point[order] = nodes.leaf
    result = nodes.tree(leaf_of_point, names[: len(nodes.leaves)])
    arrays |= {
        "centers": nodes.centre,
        "leaves": nodes.leaves,
        "variance": np.array([nodes.variance]),
    }
    cost = nodes.cost
    facts = {}
    if size is not None:
        run.progress(0.96, "drawing nodes")
        arrays["pictures"] = node_pictures(result, nodes.centre, network, scaling, rows, size)
        facts["image_size"] = list(size)
    model = Model(arrays, facts)
    run.progress(0.98, "assigning points")
    return Fitted(
        tree=result,
        model=model,
        logits=log_posteriors(model, rows)[1],
        metrics={
            **{name: training.curves[name][-1][1] for name in CURVES[:3]},
            "inertia": nodes.total,
            "n_leaves": float(len(nodes.leaves)),
            "n_pruned": float(tree.n_pruned),
            "cost": cost,
            "best_step": float(training.n_epochs),
        },
        steps=tuple(
            _learned(step, own_cost, state, order, names)
            for step, own_cost, state in trainer.kept.falling(training.n_epochs, cost)
        ),
        curves={name: curve for name, curve in training.curves.items() if curve},
        warnings=(
            *_leaf_warnings(len(nodes.leaves), tree.n_pruned, params),
            *_loss_warnings(training.curves, params),
        ),
    )


def _without_empty_leaves(tree: ClusterTree, embedding: Single) -> Int:
    """(n_points,) the number of each point's leaf, once leaves without points are pruned."""
    squared = squared_distances(embedding, tree.leaf_centres.astype(np.float64))
    leaf: Int = squared.argmin(axis=1)
    used = np.bincount(leaf, minlength=tree.shape.n_leaves) > 0
    if not used.all():
        tree.prune(~used)
    return (np.cumsum(used) - 1)[leaf]


def _described(tree: ClusterTree, embedding: Single) -> tuple[float, Array]:
    """The cost of a tree on its way, and the tree as an array; leaves without points are left out.
    The tree itself stays."""
    kept = copy.copy(tree)
    nodes = _NumberedNodes(kept, embedding, _without_empty_leaves(kept, embedding))
    return nodes.cost, packed(nodes.parent, nodes.height, nodes.leaf)


def _learned(step: int, cost: float, state: Array, order: Int, names: list[str]) -> LearnedStep:
    """A tree that was kept. order : (n_points,) the row of each of its points."""
    parent, height, leaf = unpacked(state)
    leaf_of_point = np.empty(len(order), dtype=np.int64)
    leaf_of_point[order] = leaf
    leaves = np.flatnonzero(np.bincount(parent[1:], minlength=len(parent)) == 0)
    name = np.full(len(parent), None, dtype=object)
    name[leaves] = names[: len(leaves)]
    extra = {"inertia": height}
    return LearnedStep(step, cost, from_parents(parent, height, name, leaf_of_point, extra=extra))


class _NumberedNodes:
    """The nodes of a tree, inner ones first, leaves from the largest to the smallest.

    parent, centre, inertia : (n_nodes, ...) of each node; the inertia is the sum of squared
        distances of its points to their mean.
    leaves : the nodes that are leaves. leaf : (n_points,) the node of each point's leaf.
    total : inertia of the leaves about their centres. variance : the share of each value in it.
    """

    def __init__(self, tree: ClusterTree, embedding: Single, leaf: Int) -> None:
        shape = tree.shape
        centre = tree.node_centres()
        n_inner = shape.n_nodes - shape.n_leaves
        by_rank = by_size(np.bincount(leaf), centre[shape.leaves].astype(np.float64))
        inner = np.setdiff1d(np.arange(shape.n_nodes), shape.leaves)
        order = np.concatenate([inner, shape.leaves[by_rank]])
        number = np.empty(shape.n_nodes, dtype=np.int64)
        number[order] = np.arange(shape.n_nodes)
        self.parent = np.where(order == 0, -1, number[shape.parent[order]])
        self.centre: Single = centre[order]
        self.leaves = np.arange(n_inner, shape.n_nodes)
        self.leaf: Int = number[shape.leaves[leaf]]
        apart = embedding.astype(np.float64) - self.centre[self.leaf]
        self.total = float(np.square(apart).sum())
        spread = float(self.centre[self.leaves].astype(np.float64).var(axis=0).mean()) or 1.0
        self.variance = max(self.total / embedding.size, SMALLEST_VARIANCE * spread)
        self.inertia = inertia_of_nodes(self.parent, self.leaf, embedding)

    @property
    def cost(self) -> float:
        """The share of the points' squares about their mean that is left about leaves' centres."""
        return self.total / (float(self.inertia[0]) or 1.0)

    @property
    def height(self) -> Float:
        """(n_nodes,) the inertia of inner nodes, 0 for leaves."""
        height = self.inertia.copy()
        height[self.leaves] = 0.0
        return height

    def tree(self, leaf_of_point: Int, names: list[str]) -> Tree:
        """The tree, whose inner nodes have their inertia as height."""
        name = np.full(len(self.parent), None, dtype=object)
        name[self.leaves] = names
        extra = {"inertia": self.inertia}
        return from_parents(self.parent, self.height, name, leaf_of_point, extra=extra)


def inertia_of_nodes(parent: Int, leaf: Int, points: Array) -> Float:
    """(n_nodes,) the sum of squared distances of each node's points to their mean.

    parent : (n_nodes,) of a binary tree, parents first. leaf : (n_points,) the node of each point.
    Never less than a child's, also in its last digit: it is the sum of both children's and of
    n m / (n + m) times the squared distance of their means.
    """
    n_nodes, n_columns = len(parent), points.shape[1]
    size = np.bincount(leaf, minlength=n_nodes).astype(np.float64)
    sums = np.empty((n_nodes, n_columns))
    for column in range(n_columns):
        sums[:, column] = np.bincount(leaf, points[:, column], n_nodes)
    mean = sums / np.maximum(size, 1.0)[:, None]
    inertia = np.zeros(n_nodes)
    for column in range(n_columns):
        inertia += np.bincount(leaf, (points[:, column] - mean[leaf, column]) ** 2, n_nodes)
    for node in range(n_nodes - 1, 0, -1):
        above = parent[node]
        if size[above] == 0:
            size[above], mean[above], inertia[above] = size[node], mean[node], inertia[node]
            continue
        total = size[above] + size[node]
        apart = float(np.square(mean[node] - mean[above]).sum())
        inertia[above] += inertia[node] + size[node] * size[above] / total * apart
        mean[above] += (mean[node] - mean[above]) * (size[node] / total)
        size[above] = total
    return inertia


def _leaf_warnings(n_leaves: int, n_pruned: int, params: TreeParams) -> tuple[str, ...]:
    warnings = []
    if n_leaves < params.n_clusters:
        warnings.append(
            f"The tree has {n_leaves:,} leaves, not 'n_clusters' = {params.n_clusters:,}: others "
            "were left without points, or leaves could not be split. Lower 'clustering_weight', "
            "or raise 'epochs'."
        )
    if n_pruned:
        warnings.append(
            f"{n_pruned:,} leaves were pruned, since fewer than 'pruning_threshold' = "
            f"{params.pruning_threshold:g} points of a batch, or none, came to them."
        )
    return tuple(warnings)


def _loss_warnings(curves: dict[str, Curve], params: TreeParams) -> tuple[str, ...]:
    """Warnings if a loss was still falling at the end, or the network learned nothing."""
    start = params.n_pretrained
    reconstruction = [value for _, value in curves["reconstruction"]]
    tree_losses = zip(curves["centres"], curves["compression"], strict=True)
    joint = [
        value + params.clustering_weight * (centres + compression)
        for value, ((_, centres), (_, compression)) in zip(
            reconstruction[start:], tree_losses, strict=True
        )
    ]
    stages = (
        ("reconstruction in pretraining", reconstruction[:start], "pretrain_epochs"),
        ("training with the tree", joint, "epochs"),
    )
    warnings = [
        f"The loss of {what} was still falling: {fall:.0%} of its fall came in the last fifth of "
        f"the epochs. Raise {parameter!r} (it is {len(losses):,})."
        for what, losses, parameter in stages
        if (fall := _late_fall(losses)) > MOST_LATE_FALL
    ]
    if reconstruction[-1] >= 1.0:
        warnings.append(
            f"The network reconstructs rows no better than by their mean (the loss is "
            f"{reconstruction[-1]:.3g}, that of the mean 1). Lower 'learning_rate', or raise "
            "'pretrain_epochs' or 'embedding_size'."
        )
    return tuple(warnings)


def _late_fall(losses: list[float]) -> float:
    """The share of a loss's fall from its highest value that came in the last fifth of the epochs;
    0 for fewer than five epochs."""
    fifth = len(losses) // 5
    fall = max(losses, default=0.0) - losses[-1] if fifth else 0.0
    return max(0.0, losses[-fifth - 1] - losses[-1]) / fall if fall > 0 else 0.0
