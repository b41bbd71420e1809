"""Small random problems of classification over a tree or a graph, and the literal objectives."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassGraph, ClassTree

# 0
# ├── 1
# │   ├── 3
# │   └── 4
# │       └── 6
# └── 2
#     └── 5
TREE = ClassTree(np.array([-1, 0, 0, 1, 1, 2, 4]), np.array([3, 5, 6]))
"""Three classes; nodes 4 and 2 have one child."""

GRAPH = ClassGraph.of_edges(np.array([["a", "b"], ["b", "x"]], dtype=object), ["a", "b", "c"])[0]
"""Classes a - b and c alone, and a node x without examples beside b."""


def problem(
    rng: np.random.Generator,
    *,
    tree: ClassTree | None = None,
    graph: ClassGraph | None = None,
    sparse: bool = False,
    several: bool = False,
    n_rows: int = 40,
) -> Problem:
    """Three classes, two features and the constant; with `several` rows of none to three."""
    centers = 1.5 * rng.normal(size=(3, 2))
    code = rng.permutation(np.arange(n_rows) % 3)
    design = np.column_stack([centers[code] + rng.normal(size=(n_rows, 2)), np.ones(n_rows)])
    design[rng.random(design.shape) < 0.2 * sparse] = 0.0
    has = np.eye(3, dtype=bool)[code]
    if several:
        has ^= rng.random(has.shape) < 0.2
    start = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    return Problem(
        sp.csr_array(design) if sparse else design, start, np.nonzero(has)[1], 3, tree, graph
    )


def tree_penalty(tree: ClassTree, weights: np.ndarray) -> float:
    """Half the squared distances from each node to its parent, and of the root to 0."""
    total = 0.0
    for node, parent in enumerate(tree.parent):
        above = weights[parent] if parent >= 0 else np.zeros_like(weights[node])
        total += 0.5 * ((weights[node] - above) ** 2).sum()
    return total


def graph_penalty(graph: ClassGraph, weights: np.ndarray) -> float:
    """Half the squared lengths of edges, and 0.001 times the square of each node."""
    total = 0.001 * (weights**2).sum()
    for node in range(graph.n_nodes):
        for other in graph.neighbor[graph.start[node] : graph.start[node + 1]]:
            if node < other:
                total += 0.5 * ((weights[node] - weights[other]) ** 2).sum()
    return total


def margins(problem: Problem, weights: np.ndarray) -> list[float]:
    """y w.x of each row and class, with the weights of classes."""
    design = problem.design.toarray() if sp.issparse(problem.design) else problem.design
    values = []
    for row in range(problem.n_rows):
        own = problem.code[problem.start[row] : problem.start[row + 1]]
        for class_ in range(problem.n_classes):
            sign = 1.0 if class_ in own else -1.0
            values.append(sign * float(design[row] @ weights[class_]))
    return values
