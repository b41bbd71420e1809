"""Random trees of classes, probabilities that add without rounding, and the literal rules."""

from __future__ import annotations

import numpy as np

from models.arrays import Float, Int
from models.calibration.climbing import ClassTree, TreeProbabilities
from models.tree.tree import Tree
from tests.models.consensus.sets_kit import random_tree


def drawn(seed: int, n_rows: int = 6) -> tuple[ClassTree, Float, Int]:
    """Up to 7 classes at the leaves, every third time one at an inner node; with ties and zeros.

    Probabilities are 64ths, labels any classes.
    """
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(2, 8)))
    node = rng.permutation(tree.leaves)
    if seed % 3 == 0:
        node = np.append(node, rng.integers(0, tree.n_nodes))
    weights = rng.dirichlet(np.full(len(node), 0.5), n_rows)
    probability = np.array([rng.multinomial(64, each) for each in weights]) / 64
    label = rng.integers(0, len(node), n_rows)
    return ClassTree.of(tree, node), probability, label


def rows_of(classes: ClassTree, probability: Float) -> TreeProbabilities:
    return TreeProbabilities.of(classes, probability)


def up(tree: Tree, node: int) -> list[int]:
    """The path from a node to the root."""
    path = [node]
    while path[-1] > 0:
        path.append(int(tree.parent[path[-1]]))
    return path


def under(classes: ClassTree, node: int) -> set[int]:
    """The classes under a node, its own included."""
    return {
        each for each, place in enumerate(classes.node.tolist()) if node in up(classes.tree, place)
    }


def climbed(classes: ClassTree, probability: Float, threshold: float) -> int:
    """The climbing rule word by word: the first node of the path with mass above the threshold.

    Where no node has, the deepest that holds all classes.
    """
    path = up(classes.tree, int(classes.node[int(np.argmax(probability))]))
    for node in path:
        if sum(probability[list(under(classes, node))]) > threshold:
            return node
    return next(node for node in path if len(under(classes, node)) == classes.n_classes)
