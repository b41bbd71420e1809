"""Losses of answers, and thresholds that keep an expected loss under a bound.

Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal risk control", ICLR 2024: the smallest
threshold with n / (n + 1) R(q) + B / (n + 1) <= alpha, R the mean loss of the n rows and B the
largest possible loss, keeps the expected loss of a new row at most alpha. That needs a loss which
never rises while the answer climbs; the two here are made so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np

from models.arrays import Array, Float, Int
from models.calibration.climbing import LEAF, ClassTree, TreeProbabilities, steps_of
from models.errors import UsageError


def distance_losses(classes: ClassTree) -> Float:
    """(n_classes, n_nodes) edges that an answer must climb until it holds a class.

    At most the depth of the tree. O(n_classes n_nodes) time and memory.
    """
    loss = np.zeros((classes.n_classes, classes.tree.n_nodes))
    place = np.empty(classes.n_classes, dtype=np.int64)
    place[classes.order] = np.arange(classes.n_classes)
    for node in range(1, classes.tree.n_nodes):
        holds = (place >= classes.start[node]) & (place < classes.end[node])
        loss[:, node] = np.where(holds, 0.0, loss[:, classes.tree.parent[node]] + 1)
    return loss


def cost_losses(classes: ClassTree, costs: Array) -> Float:
    """(n_classes, n_nodes) the least cost, for a class, of the classes under a node.

    costs : (n_classes, n_classes), `costs[i, j]` of class i taken for j; finite, not negative, 0 on
    the diagonal. Infinite at nodes without classes, which no row is answered by. O(n_classes
    n_nodes) time and memory. Raises UsageError for other costs.
    """
    n = classes.n_classes
    if costs.shape != (n, n):
        raise UsageError(f"Costs are {n} x {n}, one row a class; these are {costs.shape}.")
    if not np.isfinite(costs).all() or (costs < 0).any() or np.diagonal(costs).any():
        raise UsageError("Costs are finite, not negative, and 0 from a class to itself.")
    loss = np.full((n, classes.tree.n_nodes), np.inf)
    for each, node in enumerate(classes.node.tolist()):
        loss[:, node] = np.minimum(loss[:, node], costs[:, each])
    for node in range(classes.tree.n_nodes - 1, 0, -1):
        up = classes.tree.parent[node]
        loss[:, up] = np.minimum(loss[:, up], loss[:, node])
    return loss


@dataclass(frozen=True, slots=True)
class RiskCurve:
    """The loss of calibration rows at every threshold, from which any bound has its own.

    threshold : (n_steps,) rising; answers change there. total : (n_steps + 1,) loss of all rows
    before the first step and after each. worst : the largest loss of any answer. n_rows : rows.
    """

    threshold: Float
    total: Float
    worst: float
    n_rows: int

    @classmethod
    def of(
        cls, blocks: Iterable[tuple[TreeProbabilities, Int]], classes: ClassTree, loss: Float
    ) -> RiskCurve:
        """blocks : rows with their classes. loss : (n_classes, n_nodes), not rising towards the
        root, 0 at the root. O(n depth log(n depth)).
        """
        parent = classes.tree.parent
        at, drop = [np.zeros(0)], [np.zeros(0)]
        n_rows = 0
        for rows, label in blocks:
            n_rows += rows.n_rows
            for row, node, mass in rows.steps():
                fall = loss[label[row], node] - loss[label[row], parent[node]]
                falls = fall > 0
                at.append(mass[falls])
                drop.append(fall[falls])
        every = np.concatenate(at)
        order = np.argsort(every, kind="stable")
        # Summed from the root, where nothing is lost.
        left = np.append(np.cumsum(np.concatenate(drop)[order][::-1])[::-1], 0.0)
        threshold, stop = steps_of(every[order], classes.n_classes)
        # Only nodes with classes can be an answer.
        worst = float(loss[:, classes.n_under > 0].max(initial=0.0))
        return cls(threshold, left[np.append(0, stop)], worst, n_rows)

    def threshold_at(self, bound: float) -> float:
        """The smallest threshold at which the expected loss of a new row is at most the bound.

        Raises UsageError for a bound that is not above 0, and `too-few-rows` with the number
        needed, where not even the root keeps the promise.
        """
        if not (np.isfinite(bound) and bound > 0):
            raise UsageError(
                f"alpha is {bound}; as the bound of a loss it is above 0.",
                code="invalid-parameter",
                parameter="alpha",
            )
        if self.worst > bound * (self.n_rows + 1):
            needed = ceil(self.worst / bound) - 1
            raise UsageError(
                f"To keep a loss of up to {self.worst:g} under {bound:g} takes at least {needed} "
                f"calibration rows; there are {self.n_rows}.",
                code="too-few-rows",
                needed=needed,
                n_rows=self.n_rows,
            )
        first = int(np.argmax(self.total + self.worst <= bound * (self.n_rows + 1)))
        return LEAF if first == 0 else float(self.threshold[first - 1])
