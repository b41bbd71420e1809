"""One metric for each node whose known children are to be separated, tied to its parent's.

With f_v minus the log likelihood of the children of v given the rows below them (`likelihood`),
the semidefinite matrices A_v minimise

    sum_v f_v(A_v) + gamma |A_top - c I|^2 + gamma tie sum_(v below u) |A_v - A_u|^2,

where u is the nearest such node above v, and c is 1 ('identity') or 0 ('l2'). This is convex in all
of them at once, strongly because of the squares. A node with fewer than two known children has no
f_v, and nothing below it holds it elsewhere than at its parent's metric: it is left out of the
problem and has that metric, as new nodes do. With one node it is `tcs` with the same regularizer.

Source: Gopal, "Large-scale Structured Learning" (2014), §7.3.1 (matrices of parent and child that
are close), here by the square of the Frobenius norm; §6.4 for f.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Array, Float, Int
from models.method import Checkpoint
from models.methods.labelled.hierarchy.known_tree import KnownTree
from models.methods.labelled.metric.descent import Direct, Hold, minimize
from models.methods.labelled.metric.likelihood import ConditionalLikelihood
from models.running.progress import Progress

Anchor: TypeAlias = Literal["identity", "l2"]


@dataclass(frozen=True, slots=True)
class TiedMetrics:
    """metrics : (n_stacked, D, D). of_node : (n_nodes,) the place of each node's metric.

    objectives : after each step. bound : the last one is at most about this above its minimum.
    """

    metrics: Float
    of_node: Int
    objectives: list[float]
    bound: float
    warnings: tuple[str, ...]


class TiedLoss:
    """The objective on stacks (S, D, D), without the cone.

    likelihoods : of each node. parent : (S,) the place of the node that each is tied to, -1 for
        one that is tied to the anchor.
    """

    def __init__(
        self,
        likelihoods: Sequence[ConditionalLikelihood],
        parent: Int,
        anchor: Anchor,
        gamma: float,
        tie: float,
    ) -> None:
        self._likelihoods, self._parent = likelihoods, parent
        self._top = np.flatnonzero(parent < 0)
        self._tied = np.flatnonzero(parent >= 0)
        self._anchor = np.eye(likelihoods[0].n_columns) * (anchor == "identity")
        self.weight: Float = np.where(parent < 0, gamma, gamma * tie)

    def __call__(self, stack: Float) -> tuple[float, Float]:
        """The value and its gradient. O(sum of N_v K_v D + S D^2)."""
        value, gradient = 0.0, np.empty_like(stack)
        for place, likelihood in enumerate(self._likelihoods):
            own, gradient[place] = likelihood.of_matrix(stack[place])
            value += own
        away = stack.copy()
        away[self._top] -= self._anchor
        away[self._tied] -= stack[self._parent[self._tied]]
        pull = 2.0 * self.weight[:, None, None] * away
        value += 0.5 * float(np.vdot(pull, away))
        gradient += pull
        np.subtract.at(gradient, self._parent[self._tied], pull[self._tied])
        return value, gradient

    @property
    def ties(self) -> Float:
        """(S, S) M of which the squares' second derivative, between entries, is 2 M."""
        ties = np.diag(self.weight)
        above, weight = self._parent[self._tied], self.weight[self._tied]
        np.add.at(ties, (above, above), weight)
        ties[self._tied, above] -= weight
        ties[above, self._tied] -= weight
        return ties

    @property
    def steps(self) -> Float:
        """(S,) lengths in which the curvatures of all nodes are about alike."""
        own = np.array([some.curvature for some in self._likelihoods])
        return 1.0 / np.sqrt(own + 2.0 * np.diag(self.ties))


class ConeOfEach(Hold):
    """Each matrix of a stack on the cone. modulus : of the loss's strong convexity, for the bound.

    A step takes S eigenvalue problems, O(S D^3).
    """

    def __init__(self, modulus: float) -> None:
        self.modulus = modulus

    def value(self, metric: Float) -> float:
        return 0.0

    def step(self, metric: Float, weight: float) -> tuple[Float, float]:
        eigenvalues, vectors = np.linalg.eigh(metric)
        kept = np.maximum(eigenvalues, 0.0)
        return (vectors * kept[:, None, :]) @ vectors.transpose(0, 2, 1), 0.0


def fit_metrics(
    tree: KnownTree,
    points: Array,
    anchor: Anchor,
    gamma: float,
    tie: float,
    *,
    tol: float,
    max_iter: int,
    progress: Progress,
    checkpoint: Checkpoint,
    start: Float | None = None,
) -> TiedMetrics:
    """The metrics of all nodes at once, by accelerated proximal gradients (`descent`).

    points : (n_rows, D). start : (D, D) the metric of all nodes to begin with; None: the identity.

    Nodes are measured in units of their own curvature, which keeps the number of steps low: many
    rows at the root, few at the bottom. The cone stays the cone.
    """
    nodes = tree.supervised
    likelihoods = [_likelihood(tree, points, node) for node in nodes.tolist()]
    place = tree.supervised_above(nodes)
    parent = np.where(nodes > 0, place[tree.parent[nodes]], -1)
    loss = TiedLoss(likelihoods, parent, anchor, gamma, tie)
    unit = loss.steps[:, None, None]

    def scaled(stack: Float) -> tuple[float, Float]:
        value, gradient = loss(unit * stack)
        return value, unit * gradient

    steps = loss.steps
    modulus = 2.0 * float(np.linalg.eigvalsh(steps[:, None] * loss.ties * steps)[0])
    first = np.eye(points.shape[1]) if start is None else start
    fit = minimize(
        Direct(scaled),
        ConeOfEach(max(modulus, 0.0)),
        1.0,
        first / unit,
        tol=tol,
        max_iter=max_iter,
        progress=progress,
        checkpoint=checkpoint,
    )
    # Nodes above the first one with two children have its metric.
    of_node = np.maximum(place, 0)
    return TiedMetrics(unit * fit.metric, of_node, fit.objectives, fit.bound, fit.warnings)


def _likelihood(tree: KnownTree, points: Array, node: int) -> ConditionalLikelihood:
    rows = tree.labelled(node)
    place = tree.place(node, tree.row_node[rows])
    return ConditionalLikelihood(points[rows], place, tree.children(node).size)
