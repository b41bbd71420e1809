"""What it would gain, and lose, to make one class of all classes under a node.

Merging the classes under a node corrects rows that were confused among them, and loses the
information that separates them. Both add up over separate nodes. For every price of a bit there is
a best set of nodes to merge; as the price falls, nodes only join (a node loses at least what the
nodes under it lose together), so the best sets for all prices form one sequence of steps: the
curve.

A part r[a] of the mass of a class a may be known in sum alone (`Confusions.unlisted`). It is taken
to be spread evenly over the K - 1 other classes, so that a node with n classes has the share
(n - 1) / (K - 1) of the rests of its classes. With `most[a]`, which no other class exceeds, a node
has of r[a] at least r[a] - (K - n) most[a] and at most (n - 1) most[a]: the sums are the bounds of
the curve. Where all classes are one, every row is right, whatever is known of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.answers.confusions import Confusions
from models.arrays import Float, Int
from models.tree.parents import under
from models.tree.tree import Tree
from models.tree.walk import leaf_counts, spans


@dataclass(frozen=True, slots=True)
class Merges:
    """The curve; step 0 is the tree without merges.

    node : (n_steps,) the node whose classes become one at each step; -1 at step 0.
    n_classes : (n_steps,) classes that remain. accuracy : (n_steps,) share of rows in the right
    class. bits : (n_steps,) information about the class that remains, the entropy of the merged
    classes. ratio : (n_steps,) share of rows made right for each bit lost by the step, falling; NaN
    at step 0.
    accuracy_low, accuracy_high : (n_steps,) bounds on the accuracy.
    gain, lost : (n_nodes,) share of rows made right, and bits lost, by merging this node alone.
    gain_low, gain_high : (n_nodes,) bounds on the gain.
    """

    node: Int
    n_classes: Int
    accuracy: Float
    bits: Float
    ratio: Float
    accuracy_low: Float
    accuracy_high: Float
    gain: Float
    lost: Float
    gain_low: Float
    gain_high: Float

    @property
    def warnings(self) -> tuple[str, ...]:
        """That there are estimates, where bounds are apart by more than rounding."""
        apart = self.accuracy_high - self.accuracy_low, self.gain_high - self.gain_low
        widest = max(float(np.max(each, initial=0.0)) for each in apart)
        if widest <= _ROUNDING:
            return ()
        return (
            "Accuracies and gains are estimates: mass that is not known pair by pair is spread "
            "evenly over the other classes. Their bounds (`accuracy_low`, `accuracy_high`, "
            f"`gain_low`, `gain_high`), at most {widest:.2g} apart, hold for certain.",
        )


_ROUNDING = 1e-5
"""Bounds of what is listed are no further apart."""


def merges(tree: Tree, confusions: Confusions) -> Merges:
    """The curve of all merges, to a single class.

    Every point is the most accurate set of merges for the bits that remain, among all sets of nodes
    on or above it for some price (a vertex of the concave hull, as in weakest-link pruning,
    Breiman et al., "Classification and Regression Trees", 1984, section 3.3). Steps that neither
    gain nor lose anything, of classes without rows, come with the node above them. Among steps of
    equal ratio, the one that loses less comes first.

    O(n_nodes n_steps): 10,000 classes take a few seconds. Empty for a tree without rows.
    """
    n_rows = max(confusions.n_rows, 1.0)
    right = float(confusions.right.sum()) / n_rows
    gain, low, high = _gains(tree, confusions)
    lost = _bits(tree, confusions.total)
    count = leaf_counts(tree)
    # What a node changes by itself, and what is changed under it so far.
    alone = np.column_stack((gain, lost, count - 1, low, high))
    own = np.zeros_like(alone)
    at = spans(tree)
    open_nodes = tree.n_children > 0
    steps = [(-1.0, *own[0], float("nan"))]
    least = 1e-12 * max(float(lost[0]), 1e-12)
    while open_nodes[0]:
        node = np.flatnonzero(open_nodes)
        more, price = gain[node] - own[node, 0], lost[node] - own[node, 1]
        more[more <= least] = 0.0
        free = price <= least
        ratio = np.where(free, np.where(more > 0, np.inf, -1.0), more / np.where(free, 1, price))
        chosen = int(np.lexsort((node, price, -ratio))[0])
        best = int(node[chosen])
        inside = (at.start >= at.start[best]) & (
            at.start + at.count <= at.start[best] + at.count[best]
        )
        open_nodes &= ~inside
        added = alone[best] - own[best]
        own[best] = alone[best]
        above = int(tree.parent[best])
        while above >= 0:
            own[above] += added
            above = int(tree.parent[above])
        steps.append((float(best), *own[0], float(max(ratio[chosen], 0.0))))
    nodes, gained, losses, merged, low_gained, high_gained, ratios = np.array(steps).T
    last, slack = nodes == 0, confusions.error / n_rows
    # Where `most` is not known, classes may have more of the rest themselves.
    free_rest = confusions.unlisted / n_rows * (confusions.most is None)
    accuracy, more = right + gained, float(free_rest.sum())
    below, above_it = right + low_gained - slack, right + high_gained + more + slack
    is_root = np.arange(tree.n_nodes) == 0
    return Merges(
        node=nodes.astype(np.int64),
        n_classes=count[0] - merged.astype(np.int64),
        accuracy=accuracy,
        bits=np.maximum(lost[0] - losses, 0.0),
        ratio=ratios,
        accuracy_low=np.where(last, accuracy, np.maximum(below, 0.0)),
        accuracy_high=np.where(last, accuracy, np.minimum(above_it, 1.0)),
        gain=gain,
        lost=lost,
        gain_low=np.maximum(low - more * is_root - slack, 0.0),
        gain_high=np.minimum(high + under(tree.parent, free_rest) * ~is_root + slack, 1.0),
    )


def _gains(tree: Tree, confusions: Confusions) -> tuple[Float, Float, Float]:
    """(gain, lower bound, upper bound) of each node, (n_nodes,), as shares of the rows: without
    rounding, and where `most` is not known without the rest. The root's are equal."""
    n_rows = max(confusions.n_rows, 1.0)
    listed = under(tree.parent, confusions.by_node(tree)) / n_rows
    rest, count = confusions.unlisted / n_rows, leaf_counts(tree)
    n_others = max(int(count[0]) - 1, 1)
    gain = listed + under(tree.parent, rest) * (count - 1) / n_others
    low, high = listed.copy(), listed.copy()
    if confusions.most is not None and rest.any():
        most = confusions.most / n_rows
        at = spans(tree)
        leaves = tree.leaves[np.argsort(at.start[tree.leaves])]
        rest, most = rest[leaves], most[leaves]
        for node in np.flatnonzero(tree.n_children > 0).tolist():
            here, n = slice(at.start[node], at.start[node] + count[node]), int(count[node])
            low[node] += np.maximum(rest[here] - (count[0] - n) * most[here], 0.0).sum()
            high[node] += np.minimum(rest[here], (n - 1) * most[here]).sum()
    if tree.n_nodes > 1 and confusions.n_rows:
        gain[0] = low[0] = high[0] = 1.0 - float(confusions.right.sum()) / n_rows
    return gain, low, high


def _bits(tree: Tree, total: Float) -> Float:
    """(n_nodes,) the entropy, in bits, of the classes under each node, times its share of rows."""
    inside = under(tree.parent, total)

    def times_log(value: Float) -> Float:
        return value * np.log2(np.maximum(value, 1e-300))

    leaves = np.where(tree.n_children == 0, times_log(total), 0.0)
    bits = times_log(inside) - under(tree.parent, leaves)
    share: Float = np.maximum(bits, 0.0) / max(float(total.sum()), 1.0)
    return share
