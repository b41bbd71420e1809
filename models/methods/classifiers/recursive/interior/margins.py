"""What rows of support vector machines must keep: for each row, by how much nodes lead others.

A row's loss is the largest, over its candidates and 0, of the candidate's loss minus the product of
its direction with the row's scores of nodes. Rows with the same candidates are together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Float, Int
from models.methods.classifiers.classes.class_tree import ClassTree
from models.methods.classifiers.classes.problem import Problem


@dataclass(frozen=True, eq=False)
class Margins:
    """Rows with the same candidates.

    rows : (n,) ascending. directions : (n_candidates, n_nodes), with the candidates' scales.
    losses : (n_candidates,).
    """

    rows: Int
    directions: Float
    losses: Float


def against_the_rest(problem: Problem, class_: int, node: int, n_nodes: int) -> list[Margins]:
    """Rows of a class score at least 1 at its node, others at most -1."""
    signs, margins = problem.signs(class_), []
    for sign in (1.0, -1.0):
        direction = np.zeros((1, n_nodes))
        direction[0, node] = sign
        rows = np.flatnonzero(signs == sign)
        if rows.size:
            margins.append(Margins(rows, direction, np.ones(1)))
    return margins


def along_the_tree(
    problem: Problem,
    tree: ClassTree,
    candidates: Literal["paths", "siblings"],
    rescaled: Literal["margin", "slack"],
) -> list[Margins]:
    """The candidates of `structured.loops`: a loss for each row, of one class."""
    on_path = np.zeros((tree.n_nodes, tree.n_nodes))
    for node in range(1, tree.n_nodes):
        on_path[node] = on_path[tree.parent[node]]
        on_path[node, node] = 1.0
    margins = []
    start, row = problem.by_class
    for class_, own in enumerate(tree.node.tolist()):
        rows = row[start[class_] : start[class_ + 1]]
        if candidates == "paths":
            others = np.setdiff1d(tree.node, [own])
            directions = on_path[own] - on_path[others]
            losses = 0.5 * np.abs(directions).sum(axis=1)
        else:
            path = np.flatnonzero(on_path[own])
            pairs = [
                (node, other)
                for node in path.tolist()
                for other in np.flatnonzero(tree.parent == tree.parent[node]).tolist()
                if other != node
            ]
            directions = np.zeros((len(pairs), tree.n_nodes))
            for place, (node, other) in enumerate(pairs):
                directions[place, [node, other]] = 1.0, -1.0
            losses = np.ones(len(pairs))
        if rescaled == "slack":
            directions = directions * losses[:, None]
        if rows.size and losses.size:
            margins.append(Margins(rows, directions, losses))
    return margins
