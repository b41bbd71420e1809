"""Which classes of a tree's leaves are taken for which, and what merging them would change.

Confusions are pairs of leaves with a mass. From labels, the mass of a pair is the number of rows of
one class that lie in the leaf of another: the confusion matrix without its zeros. From a method
alone (the hook `Method.confusions`), it is the probability that rows of one class give to another,
added up. Either way the cost of two classes is symmetric: the mean of the shares of each one's rows
that are taken for the other.

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

from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

import numpy as np

from models.arrays import Float, Int
from models.errors import UsageError, listed, shown
from models.tree.labels import Labels
from models.tree.named import NamedNodes
from models.tree.parents import under
from models.tree.tree import Tree
from models.tree.walk import lca, leaf_counts, spans


@dataclass(frozen=True, slots=True)
class Confusions:
    """Pairs of different leaves, by falling mass, then by node.

    leaf, taken_for : (n_pairs,) nodes of the class and of that which it is taken for.
    mass : (n_pairs,) rows, or the sum of probabilities.
    right : (n_nodes,) mass that each class gives itself; 0 at inner nodes.
    total : (n_nodes,) rows of each class; 0 at inner nodes.
    rest : mass of pairs that are not listed, of the whole tree.
    most : (n_nodes,) the most that one pair of each class lacks of its mass; None where `rest` is
        itself an upper bound, of which each class may have a part too.
    error : the most by which rounding changes a sum of masses.
    warnings : what is approximated.
    """

    leaf: Int
    taken_for: Int
    mass: Float
    right: Float
    total: Float
    rest: float = 0.0
    most: Float | None = None
    error: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def n_rows(self) -> float:
        return float(self.total.sum())

    @property
    def unlisted(self) -> Float:
        """(n_nodes,) mass of each class that neither it nor a listed pair of it has."""
        listed = np.bincount(self.leaf, self.mass, len(self.total))
        return np.maximum(self.total - self.right - listed, 0.0) if self.rest else 0.0 * self.total

    def under(self, tree: Tree, node: int) -> Confusions:
        """The confusions between classes under a node. O(n_pairs + n_nodes)."""
        at = spans(tree)
        begin, end = at.start[node], at.start[node] + at.count[node]
        inside = (at.start >= begin) & (at.start < end)
        kept = inside[self.leaf] & inside[self.taken_for]
        return replace(
            self,
            leaf=self.leaf[kept],
            taken_for=self.taken_for[kept],
            mass=self.mass[kept],
            right=np.where(inside, self.right, 0.0),
            total=np.where(inside, self.total, 0.0),
        )

    def by_node(self, tree: Tree) -> Float:
        """(n_nodes,) mass of the pairs that meet at each node: how much its children are taken for
        each other. O(n_nodes log n_nodes + n_pairs).
        """
        meet = lca(tree, self.leaf, self.taken_for)
        return np.bincount(meet, self.mass, tree.n_nodes).astype(np.float64)

    def costs(self) -> Float:
        """(n_pairs,) how alike the two classes of each pair are: half the sum of the share of the
        rows of each that is taken for the other; 0 for a class without rows. The same for both
        orders of a pair. O(n_pairs log n_pairs).
        """
        n_nodes = len(self.total)
        rows = self.total[self.leaf]
        share = np.divide(self.mass, rows, out=np.zeros(len(self.mass)), where=rows > 0)
        pair = self.leaf * n_nodes + self.taken_for
        order = np.argsort(pair)
        opposite = self.taken_for * n_nodes + self.leaf
        at = np.minimum(np.searchsorted(pair, opposite, sorter=order), len(pair) - 1)
        place = order[at]
        return (share + np.where(pair[place] == opposite, share[place], 0.0)) / 2

    def matrix(self, order: Int) -> Float:
        """(n, n) the masses between these leaves; row: the class, column: what it is taken for."""
        n_nodes = len(self.right)
        place = np.full(n_nodes, -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        row, column = place[self.leaf], place[self.taken_for]
        known = (row >= 0) & (column >= 0)
        matrix = np.zeros((len(order), len(order)))
        matrix[row[known], column[known]] = self.mass[known]
        np.fill_diagonal(matrix, self.right[order])
        return matrix


def ordered(
    leaf: Int,
    taken_for: Int,
    mass: Float,
    right: Float,
    total: Float,
    rest: float = 0.0,
    most: Float | None = None,
    error: float = 0.0,
    warnings: tuple[str, ...] = (),
) -> Confusions:
    """Confusions of pairs in any order, each once. O(n_pairs log n_pairs)."""
    order = np.lexsort((taken_for, leaf, -mass))
    pairs = leaf[order], taken_for[order], mass[order]
    return Confusions(*pairs, right, total, rest, most, error, warnings)


def of_labels(tree: Tree, labels: Labels) -> Confusions:
    """The confusions of rows with known classes: a row of class a in the leaf of class b is a taken
    for b. Rows without a label are left out.

    A label is the name of a leaf, its path of names, or, where no leaf has such a name, the number
    of a class: of the leaves in the order of their node ids, as the columns of logits.

    Raises UsageError `wrong-input` for labels that name no leaf or several, and for labels given
    per leaf. O(n_points + n_nodes).
    """
    if labels.of != "row":
        raise UsageError(
            "Confusions need a label for each row of the tree, not for each leaf.",
            code="wrong-shape",
            role="labels",
        )
    leaf = _leaves(tree, labels)
    known = labels.code >= 0
    true = leaf[labels.code[known]]
    placed = tree.leaf_of_point[known].astype(np.int64)
    n_nodes = tree.n_nodes
    total = np.bincount(true, minlength=n_nodes).astype(np.float64)
    right = np.bincount(true[true == placed], minlength=n_nodes).astype(np.float64)
    wrong = true != placed
    pair, mass = np.unique(true[wrong] * n_nodes + placed[wrong], return_counts=True)
    return ordered(pair // n_nodes, pair % n_nodes, mass.astype(np.float64), right, total)


def _leaves(tree: Tree, labels: Labels) -> Int:
    """(n_labels,) the leaf that each label means."""
    texts: list[str] = labels.text.to_pylist()
    nodes = NamedNodes(tree)
    leaf = np.fromiter(map(nodes.find, texts), dtype=np.int64, count=len(texts))
    lost = (leaf < 0) | (tree.n_children[leaf] > 0)
    if not lost.any():
        return leaf
    leaves = tree.leaves
    number = np.array(
        [text.isascii() and text.isdigit() and int(text) < len(leaves) for text in texts]
    )
    if number.all():
        numbered: Int = leaves[np.array([int(text) for text in texts])].astype(np.int64)
        return numbered
    names = [name for name in tree.name[leaves].tolist() if name is not None]
    # Where classes are numbers, what is none of theirs is wrong, and not the first of them.
    wrong = lost & ~number if (lost & ~number).any() else lost
    text = texts[int(np.flatnonzero(wrong)[0])]
    raise UsageError(
        f"Label {shown(text)} names no leaf of the tree, or several; its leaves are "
        f"{listed(names)}. A label is a leaf's name, its path of names, or the number of a class, "
        f"0 to {len(leaves) - 1}; a row of unknown class has none (null).",
        code="wrong-input",
        role="labels",
        label=text[:80],
    )


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

    O(n_nodes log(n_nodes)^2), whatever the shape of the tree. Empty for a tree without rows.
    """
    n_rows = max(confusions.n_rows, 1.0)
    right = float(confusions.right.sum()) / n_rows
    gain, low, high = _gains(tree, confusions)
    lost = _bits(tree, confusions.total)
    count = leaf_counts(tree)
    nodes, ratios, above = _hull(tree, gain, lost)
    # What each step adds: its node alone, without what is merged under it by then.
    alone = np.column_stack((gain, lost, count - 1, low, high))
    added = alone.copy()
    inside = nodes[above[nodes] >= 0]
    np.subtract.at(added, above[inside], alone[inside])
    sums = np.cumsum(np.vstack((np.zeros(5), added[nodes])), axis=0)
    sums[-1] = alone[0]
    gained, losses, merged, low_gained, high_gained = sums.T
    nodes = np.concatenate(([-1], nodes))
    last, slack = nodes == 0, confusions.error / n_rows
    # Where `most` is not known, classes may have more of the rest themselves.
    free_rest = confusions.unlisted / n_rows * (confusions.most is None)
    accuracy, more = right + gained, float(free_rest.sum())
    below, above_it = right + low_gained - slack, right + high_gained + more + slack
    is_root = np.arange(tree.n_nodes) == 0
    return Merges(
        node=nodes,
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


def _hull(tree: Tree, gain: Float, lost: Float) -> tuple[Int, Float, Int]:
    """The steps of `merges`: (n_steps,) their nodes, (1 + n_steps,) their ratios with NaN at the
    start, and (n_nodes,) the next node above each that is a step, -1 without one.

    From the leaves up, a node takes the place of the steps under it that have a lower ratio than
    its own, the lowest first; each of them raises its own.
    """
    least = 1e-12 * max(float(lost[0]), 1e-12)
    parents = tree.parent.tolist()
    more, price = gain.tolist(), lost.tolist()
    for node in np.flatnonzero(tree.n_children[1:] > 0).tolist():
        more[parents[node + 1]] -= gain[node + 1]
        price[parents[node + 1]] -= lost[node + 1]
    ratio = np.full(tree.n_nodes, np.nan)
    under_it: dict[int, list[tuple[float, int]]] = {}
    for node in np.flatnonzero(tree.n_children > 0)[::-1].tolist():
        steps = under_it.pop(node, [])
        own = _ratio(more[node], price[node], least)
        while steps:
            lowest, step = steps[0]
            # At the same ratio what loses less is first, and the node above where neither does.
            # What changes nothing by itself comes with the lowest step under it.
            if own >= 0 and (lowest > own or (lowest == own and price[node] > 0)):
                break
            heappop(steps)
            ratio[step] = np.nan
            more[node] += more[step]
            price[node] += price[step]
            own = _ratio(more[node], price[node], least)
        ratio[node] = own
        heappush(steps, (own, node))
        if node:
            other = under_it.get(parents[node], [])
            small, large = sorted((steps, other), key=len)
            for each in small:
                heappush(large, each)
            under_it[parents[node]] = large
    above = np.full(tree.n_nodes, -1, dtype=np.int64)
    for node in range(1, tree.n_nodes):
        parent = parents[node]
        above[node] = above[parent] if np.isnan(ratio[parent]) else parent
    nodes = _in_order(ratio, above, price)
    return nodes, np.concatenate(([np.nan], np.maximum(ratio[nodes], 0.0))), above


def _ratio(more: float, price: float, least: float) -> float:
    """Share of rows for each bit; infinite for what costs nothing, -1 for what changes nothing."""
    gains = more > least
    if price <= least:
        return np.inf if gains else -1.0
    return more / price if gains else 0.0


def _in_order(ratio: Float, above: Int, price: list[float]) -> Int:
    """The steps by ratio, then by what they lose; none before those under it."""
    waits = np.zeros(len(ratio), dtype=np.int64)
    nodes = np.flatnonzero(~np.isnan(ratio))
    inside = nodes[above[nodes] >= 0]
    np.add.at(waits, above[inside], 1)
    ready = [(-float(ratio[node]), price[node], node) for node in nodes[waits[nodes] == 0].tolist()]
    heapify(ready)
    ordered = []
    while ready:
        _, _, node = heappop(ready)
        ordered.append(node)
        over = int(above[node])
        if over >= 0:
            waits[over] -= 1
            if not waits[over]:
                heappush(ready, (-float(ratio[over]), price[over], over))
    return np.array(ordered, dtype=np.int64)


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
