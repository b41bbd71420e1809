"""Partial MAP inference (§2.4.2): the mode of the weights, the posterior of the precisions.

A sweep takes Newton's steps for the weights at the expected precisions, gives each weight the
variance of Laplace's approximation with independent weights, and updates the precisions. These
have no objective in common, so there is no bound: the curve has the log posterior of the weights
(without constants) for the precisions that they were found with, a value for each sweep.

Variances, equation 2.12 with what its print lacks: 1 / Psi_ii is the precision around the parent,
plus the children's precisions around the node, plus at a leaf sum x_i^2 p (1 - p).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Arrays, Float
from models.methods.classifiers.bayes.alternation import Sweep
from models.methods.classifiers.bayes.design import Design
from models.methods.classifiers.bayes.elimination import Elimination, Levels
from models.methods.classifiers.bayes.likelihood import Likelihood
from models.methods.classifiers.bayes.newton import Mode, climbed
from models.methods.classifiers.bayes.precisions import Precisions, information_of, spread_of
from models.methods.classifiers.classes.class_tree import ClassTree
from models.running.progress import Progress


@dataclass(frozen=True, slots=True, eq=False)
class MapState:
    """The mode of the leaves' weights and the precisions after it.

    variance : (n_nodes, n_columns) of Laplace's approximation; None before the first sweep.
    move, stride : (n_groups, width) the last change of the precisions' logarithms that was aimed
        at, and the share of it that was made.
    """

    mode: Mode
    precisions: Precisions
    move: Float
    stride: Float
    variance: Float | None = None


class PartialMap:
    """Partial MAP inference of a problem.

    design : whose weights are found, maybe turned. given : in the columns as they came, to which
        variances belong; None where these are the same. precisions : before the first sweep.

    A sweep takes some tens of products with the Hessian, O(N D K) each, sparse O(nnz K).
    """

    def __init__(
        self,
        design: Design,
        likelihood: Likelihood,
        tree: ClassTree,
        precisions: Precisions,
        given: Design | None = None,
    ) -> None:
        self._design, self._given = design, design if given is None else given
        self._likelihood, self._tree = likelihood, tree
        self._levels, self._precisions = Levels.of(tree), precisions

    def first(self) -> MapState:
        shape = (self._tree.n_classes, self._precisions.n_features)
        still = np.zeros_like(self._precisions.nu)
        return MapState(self._mode(np.zeros(shape)), self._precisions, still, still + 1.0)

    def sweep(self, state: MapState, progress: Progress) -> Sweep[MapState]:
        before = state.precisions
        penalty = Elimination(self._tree, self._levels, before.of_nodes)
        of_leaves = before.of_nodes[self._tree.node]
        mode, distance = climbed(
            state.mode, self._design, self._likelihood, penalty, of_leaves, progress
        )
        progress(0.0, "precisions")
        variance = self.variance(mode, before)
        spread = spread_of(self._tree, penalty.nodes(mode.weights), variance)
        move = np.log(before.nu / before.balanced(spread, variance).nu)
        turned = move * state.move < 0
        stride = np.where(turned, 0.5 * state.stride, np.minimum(1.0, 1.25 * state.stride))
        after = before.with_rates(before.nu * np.exp(-stride * move))
        change = max(float(np.abs(move).max()), float(np.sqrt(distance / mode.weights.size)))
        state = MapState(mode, after, move, stride, variance)
        return Sweep(state, (-mode.objective(penalty),), change)

    def variance(self, mode: Mode, precisions: Precisions) -> Float:
        """(n_nodes, n_columns) of Laplace's approximation with independent weights."""
        information = information_of(self._tree, precisions)
        information[self._tree.node] += self._given.information(mode.expansion.curvature)
        return np.asarray(1.0 / information)

    def arrays(self, state: MapState) -> Arrays:
        assert state.variance is not None
        return {
            "weights": state.mode.weights,
            "variance": state.variance,
            "nu": state.precisions.nu,
            "move": state.move,
            "stride": state.stride,
        }

    def restored(self, arrays: Arrays) -> MapState:
        precisions = self._precisions.with_rates(arrays["nu"])
        mode = self._mode(arrays["weights"])
        return MapState(mode, precisions, arrays["move"], arrays["stride"], arrays["variance"])

    def _mode(self, weights: Float) -> Mode:
        return Mode.at(weights, self._design, self._likelihood)
