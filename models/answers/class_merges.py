"""What it would gain, and lose, to make one class of all classes under a node.

Merging the classes under a node corrects rows that were confused among them, and loses the
information that separates them. Both add up over separate nodes. For every price of a bit there is
a best set of nodes to merge; as the price falls, nodes only join (a node loses at least what the
nodes under it lose together), so the best sets for all prices form one sequence of steps: the
curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.answers.confusions import Confusions
from models.arrays import Float, Int
from models.tree.leaf_ranges import leaf_counts, spans
from models.tree.parents import under
from models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Merges:
    """The curve; step 0 is the tree without merges.

    node : (n_steps,) the node whose classes become one at each step; -1 at step 0.
    n_classes : (n_steps,) classes that remain. accuracy : (n_steps,) share of rows in the right
    class. bits : (n_steps,) information about the class that remains, the entropy of the merged
    classes. ratio : (n_steps,) share of rows made right for each bit lost by the step, falling; NaN
    at step 0.
    gain, lost : (n_nodes,) share of rows made right, and bits lost, by merging this node alone.
    """

    node: Int
    n_classes: Int
    accuracy: Float
    bits: Float
    ratio: Float
    gain: Float
    lost: Float


def merges(tree: Tree, confusions: Confusions) -> Merges:
    """The curve of all merges, to a single class.

    Every point is the most accurate set of merges for the bits that remain, among all sets of nodes
    on or above it for some price (a vertex of the concave hull, as in weakest-link pruning,
    Breiman et al., "Classification and Regression Trees", 1984, section 3.3). Steps that neither
    gain nor lose anything, of classes without rows, come with the node above them. Among steps of
    equal ratio, the one that loses less comes first. Pairs left out of `confusions` gain nothing.

    O(n_nodes n_steps): 10,000 classes take a few seconds. Empty for a tree without rows.
    """
    n_rows = confusions.n_rows
    gain = under(tree.parent, confusions.by_node(tree)) / max(n_rows, 1.0)
    lost = _bits(tree, confusions.total)
    count = leaf_counts(tree)
    at = spans(tree)
    open_nodes = tree.n_children > 0
    own_gain, own_lost = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    own_merged = np.zeros(tree.n_nodes, dtype=np.int64)
    right = float(confusions.right.sum()) / max(n_rows, 1.0)
    steps = [(-1, int(count[0]), right, float(lost[0]), float("nan"))]
    least = 1e-12 * max(float(lost[0]), 1e-12)
    while open_nodes[0]:
        node = np.flatnonzero(open_nodes)
        more, price = gain[node] - own_gain[node], lost[node] - own_lost[node]
        free = price <= least
        ratio = np.where(
            free, np.where(more > least, np.inf, -1.0), more / np.where(free, 1, price)
        )
        best = node[np.lexsort((node, price, -ratio))[0]] if len(node) > 1 else node[0]
        chosen = int(np.flatnonzero(node == best)[0])
        inside = (at.start >= at.start[best]) & (
            at.start + at.count <= at.start[best] + at.count[best]
        )
        open_nodes &= ~inside
        added = more[chosen], price[chosen], int(count[best] - 1 - own_merged[best])
        above = int(best)
        while above >= 0:
            own_gain[above] += added[0]
            own_lost[above] += added[1]
            own_merged[above] += added[2]
            above = int(tree.parent[above])
        steps.append(
            (
                int(best),
                int(count[0] - own_merged[0]),
                right + float(own_gain[0]),
                max(float(lost[0] - own_lost[0]), 0.0),
                float(max(ratio[chosen], 0.0)),
            )
        )
    columns = np.array(steps, dtype=np.float64).reshape(-1, 5).T
    whole = columns[:2].astype(np.int64)
    return Merges(whole[0], whole[1], columns[2], columns[3], columns[4], gain, lost)


def _bits(tree: Tree, total: Float) -> Float:
    """(n_nodes,) the entropy, in bits, of the classes under each node, times its share of rows."""
    inside = under(tree.parent, total)

    def times_log(value: Float) -> Float:
        return value * np.log2(np.maximum(value, 1e-300))

    leaves = np.where(tree.n_children == 0, times_log(total), 0.0)
    bits = times_log(inside) - under(tree.parent, leaves)
    share: Float = np.maximum(bits, 0.0) / max(float(total.sum()), 1.0)
    return share
