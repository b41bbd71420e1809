"""Training from its start to its end as the docstrings have it, in plain loops of double precision:
layers, losses, gradients, Adam, weights of leaves, and which leaf is split into what.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from models.arrays import Float
from models.method import Run
from models.methods.deep.networks.scaling import measure_scaling
from models.methods.deep.trees.parameters import TreeParams
from models.methods.deep.trees.training import ScaledRows, Trainer
from models.running.device import computing
from models.running.progress import Alone, silent

pytestmark = pytest.mark.needs("torch")

PARAMS = TreeParams(
    n_clusters=3,
    hidden_sizes=[4],
    embedding_size=2,
    pretrain_epochs=3,
    epochs=6,
    growth=0.5,
    clustering_weight=0.7,
    batch_size=6,
    learning_rate=0.02,
    pruning_threshold=0.1,
    augment=False,
    device="cpu",
)


class Adam:
    """Kingma and Ba (2015), algorithm 1."""

    def __init__(self, n: int) -> None:
        self.mean, self.square, self.step = [0.0] * n, [0.0] * n, 0

    def moved(self, values: Float, gradient: Float) -> Float:
        self.step += 1
        moved = values.copy().ravel()
        for at, slope in enumerate(gradient.ravel()):
            self.mean[at] = 0.9 * self.mean[at] + 0.1 * slope
            self.square[at] = 0.999 * self.square[at] + 0.001 * slope**2
            mean = self.mean[at] / (1 - 0.9**self.step)
            square = self.square[at] / (1 - 0.999**self.step)
            moved[at] -= PARAMS.learning_rate * mean / (np.sqrt(square) + 1e-8)
        return moved.reshape(values.shape)


class Network:
    """Four layers, the first and the third with rectified units."""

    def __init__(self, arrays: dict[str, Float]) -> None:
        names = [f"{s}.{n}" for s in ("encoder", "decoder") for n in (0, 1)]
        parts = [arrays[f"{name}.{part}"] for name in names for part in ("weight", "bias")]
        self.layers = [part.astype(float) for part in parts]
        self.forget()

    def forget(self) -> None:
        self.adam = [Adam(layer.size) for layer in self.layers]

    def encoded(self, rows: Float) -> Float:
        a, b, c, d = self.layers[:4]
        return np.maximum(rows @ a + b, 0) @ c + d

    def step(self, rows: Float, of_embedding: Float) -> float:
        """One step down reconstruction and what has this gradient in the embedding."""
        inputs, gradients = [rows], []
        for n in range(4):
            out = inputs[-1] @ self.layers[2 * n] + self.layers[2 * n + 1]
            inputs.append(np.maximum(out, 0) if n in (0, 2) else out)
        back = 2 * (inputs[4] - rows) / rows.size
        for n in (3, 2, 1, 0):
            if n == 1:
                back = back + of_embedding
            if n in (0, 2):
                back = back * (inputs[n + 1] > 0)
            gradients = [inputs[n].T @ back, back.sum(axis=0), *gradients]
            back = back @ self.layers[2 * n].T
        self.layers = [
            adam.moved(layer, slope)
            for adam, layer, slope in zip(self.adam, self.layers, gradients, strict=True)
        ]
        return float(((inputs[4] - rows) ** 2).mean())


class Leaf:
    def __init__(self, centre: Float, weight: float) -> None:
        self.centre, self.weight, self.adam = centre, weight, Adam(2)
        self.children: list[Leaf] = []


def leaves(node: Leaf) -> list[Leaf]:
    return [leaf for child in node.children for leaf in leaves(child)] or [node]


def centre(node: Leaf) -> Float:
    """The mean of the leaves below, by their weights."""
    below = leaves(node)
    return sum(leaf.weight * leaf.centre for leaf in below) / sum(leaf.weight for leaf in below)


def own(root: Leaf, embedding: Float) -> list[tuple[Leaf, list[int]]]:
    """The leaves with the points to which they are nearest."""
    held: list[tuple[Leaf, list[int]]] = [(leaf, []) for leaf in leaves(root)]
    for row, z in enumerate(embedding):
        min(held, key=lambda one: float(np.linalg.norm(z - one[0].centre)))[1].append(row)
    return held


def spread(points: Float) -> float:
    return float(((points - points.mean(axis=0)) ** 2).sum())


def grow(root: Leaf, embedding: Float) -> None:
    """Split the leaf of the largest sum of squares by the best of all splits in two."""
    leaf, rows = max(
        own(root, embedding),
        key=lambda one: float(((embedding[one[1]] - one[0].centre) ** 2).sum()),
    )
    halves = [
        (list(some), [row for row in rows if row not in some])
        for n in range(1, len(rows))
        for some in combinations(rows, n)
    ]
    best = min(halves, key=lambda half: sum(spread(embedding[part]) for part in half))
    leaf.children = [
        Leaf(embedding[part].mean(axis=0), leaf.weight * len(part) / len(rows)) for part in best
    ]
    for each in leaves(root):
        each.adam = Adam(2)


def tree_step(root: Leaf, embedding: Float) -> tuple[Float, float, float]:
    """Move the centres; (the gradient in the embedding, the losses of centres and compression)."""
    gradient, compression, moves = np.zeros_like(embedding), 0.0, []
    held = own(root, embedding)
    n_nodes = 2 * len(held) - 1
    share = 1 / (len(embedding) * (n_nodes - 1))

    def press(node: Leaf) -> None:
        nonlocal compression
        for child, other in zip(node.children, node.children[::-1], strict=True):
            way = centre(child) - centre(other)
            way /= np.linalg.norm(way)
            for leaf, rows in held:
                if leaf in leaves(child):
                    for row in rows:
                        along = float(way @ (centre(child) - embedding[row]))
                        compression += share * abs(along)
                        gradient[row] -= share * np.sign(along) * way
            press(child)

    press(root)
    apart = 0.0
    for leaf, rows in held:
        away = leaf.centre - embedding[rows].mean(axis=0) if rows else np.zeros(2)
        length = float(np.linalg.norm(away))
        apart += length / len(held)
        moves.append(PARAMS.clustering_weight * away / (length or 1) / len(held))
    kept = 1 - 1 / max(2.0, 25 * PARAMS.n_clusters / len(embedding))
    for (leaf, rows), move in zip(held, moves, strict=True):
        leaf.centre = leaf.adam.moved(leaf.centre, move)
        leaf.weight = kept * leaf.weight + (1 - kept) * len(rows)
    return PARAMS.clustering_weight * gradient, apart, compression


@pytest.mark.parametrize("seed", range(3))
def test_training_is_the_literal_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = rng.normal(size=(12, 3)) + 4 * np.eye(3)[np.arange(12) % 3]
    scaled = ScaledRows(given, np.arange(12), measure_scaling(given, np.arange(12)))
    rows = (given - given.mean(axis=0)) / np.sqrt(given.var(axis=0).mean())
    trainer = Trainer(scaled, PARAMS, seed)
    network = Network(trainer.training.network.arrays())
    run = Run(np.random.default_rng(0), silent, 1, Alone(lambda piece, progress: {}))
    with computing(1):
        trained = trainer.train(run)

    # Half of the points each: at the mean of all its points a leaf's centre has no direction.
    def batches(epoch: int) -> list[Float]:
        return np.array_split(np.random.default_rng([seed, 1, epoch]).permutation(12), 2)

    for epoch in range(PARAMS.pretrain_epochs):
        for batch in batches(epoch):
            network.step(rows[batch], np.zeros((6, 2)))
    root = Leaf(network.encoded(rows).mean(axis=0), 6.0)
    network.forget()
    losses = []
    for epoch in range(PARAMS.epochs):
        while len(leaves(root)) < min(3, 2 + epoch // 2):
            grow(root, network.encoded(rows))
        sums = np.zeros(3)
        for batch in batches(PARAMS.pretrain_epochs + epoch):
            gradient, apart, compression = tree_step(root, network.encoded(rows[batch]))
            sums += network.step(rows[batch], gradient), apart, compression
        losses.append(sums / 2)

    assert PARAMS.n_epochs == 9
    assert [PARAMS.leaves_at(epoch) for epoch in range(6)] == [2, 2, 3, 3, 3, 3]
    assert trained.tree is not None
    assert trained.tree.n_pruned == 0
    for column, name in enumerate(("reconstruction", "centres", "compression")):
        found = [value for _, value in trained.curves[name][-PARAMS.epochs :]]
        assert found == pytest.approx([one[column] for one in losses], rel=1e-3, abs=1e-5)
    expected = sorted((*leaf.centre, leaf.weight) for leaf in leaves(root))
    found = sorted(
        (*at, weight)
        for at, weight in zip(trained.tree.leaf_centres, trained.tree.weights, strict=True)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    ends = Network(trained.network.arrays())
    for layer, own_layer in zip(ends.layers, network.layers, strict=True):
        np.testing.assert_allclose(layer, own_layer, rtol=1e-3, atol=1e-3)
