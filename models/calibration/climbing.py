"""Answers by a threshold: from the predicted class up the tree, or as sets of classes.

Climbing goes up until the node is sure enough. The mass of a node is the probability of the classes
under it. The answer at a threshold q is the deepest node, on the path from the most probable class
to the root, that has mass above q; the root where none has. This is the climbing rule of Goren,
Galil and El-Yaniv, "Hierarchical selective classification", NeurIPS 2024, section 3, but for masses
that equal q. The score of a row is the smallest q whose answer holds the label, so the quantile of
scores (`calibration`) makes it split conformal prediction with nested sets (Angelopoulos and Bates,
"Conformal prediction: a gentle introduction", 2023): the answer holds the label exactly if the
score is at most q. Ties are conservative: answers hold the label with at least the probability
promised, and with more where a leaf alone is right more often.

Sets of classes that hold the label are the sets of flat conformal prediction: `lac` (Sadinle, Lei
and Wasserman, "Least ambiguous set-valued classifiers with bounded error levels", 2019) takes all
classes of at least some probability, and is smallest on average; `aps` (Romano, Sesia and Candes,
"Classification with valid and adaptive coverage", NeurIPS 2020) takes the most probable classes up
to some sum. They are named by the fewest nodes: naming a set by the topmost nodes all of whose
classes are in it changes nothing in it, so its guarantee stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.arrays import Array, Float, Int, Mask
from models.errors import UsageError
from models.tree.tree import Tree
from models.tree.walk import lca, ranks

LEAF = -1.0
"""Score of a row whose most probable class is its label: any threshold from here on holds it."""


@dataclass(frozen=True, slots=True)
class ClassTree:
    """A tree with its classes in order of preorder, so that those under a node are an interval.

    tree : the tree. node : (n_classes,) node of each class. order : (n_classes,) the classes from
    left to right. start, end : (n_nodes,) the classes under v are `order[start[v]:end[v]]`.
    """

    tree: Tree
    node: Int
    order: Int
    start: Int
    end: Int

    @classmethod
    def of(cls, tree: Tree, node: Int) -> ClassTree:
        """Raises UsageError for a node that is not there. O(n_nodes log n_nodes)."""
        wrong = np.flatnonzero((node < 0) | (node >= tree.n_nodes))
        if wrong.size or not node.size:
            raise UsageError("Every class needs a node of the tree.", classes=wrong[:5].tolist())
        rank, weight = ranks(tree.parent)
        order = np.argsort(rank[node], kind="stable")
        place = rank[node][order]
        start = np.searchsorted(place, rank).astype(np.int64)
        end = np.searchsorted(place, rank + weight).astype(np.int64)
        return cls(tree, node, order, start, end)

    @property
    def n_classes(self) -> int:
        return int(self.node.shape[0])

    @property
    def n_under(self) -> Int:
        """(n_nodes,) number of classes under each node."""
        return self.end - self.start

    @property
    def has_others(self) -> Mask:
        """(n_nodes,) whether the parent has classes that the node has not; false for the root."""
        others: Mask = self.n_under[self.tree.parent] > self.n_under
        others[0] = False
        return others


@dataclass(frozen=True, slots=True)
class TreeProbabilities:
    """The probabilities of rows over a tree of classes.

    total : (n, n_classes + 1) sums of the probabilities from left to right, from 0. leaf : (n,)
    node of the most probable class, of equal ones the first.
    """

    classes: ClassTree
    total: Float
    leaf: Int

    @classmethod
    def of(cls, classes: ClassTree, probability: Array) -> TreeProbabilities:
        """probability : (n, n_classes), not negative, finite.

        Raises UsageError for another width and for other values.
        """
        if probability.ndim != 2 or probability.shape[1] != classes.n_classes:
            raise UsageError(
                f"Rows have {classes.n_classes} probabilities each; these have shape "
                f"{probability.shape}.",
                n_classes=classes.n_classes,
            )
        wrong = np.argwhere(~(np.isfinite(probability) & (probability >= 0)))
        if wrong.size:
            row, column = (int(each) for each in wrong[0])
            raise UsageError(
                f"Probability {column} of row {row} is negative or not finite.",
                row=row,
                column=column,
            )
        total = np.zeros((probability.shape[0], classes.n_classes + 1))
        np.cumsum(probability[:, classes.order], axis=1, out=total[:, 1:])
        return cls(classes, total, classes.node[probability.argmax(axis=1)])

    @property
    def n_rows(self) -> int:
        return int(self.leaf.shape[0])

    def mass(self, rows: Int, node: Int) -> Float:
        """(n,) mass of `node[i]` in row `rows[i]`.

        A difference of rising sums, which rounding cannot make fall on the way up.
        """
        upper = self.total[rows, self.classes.end[node]]
        mass: Float = upper - self.total[rows, self.classes.start[node]]
        return mass

    def steps(self) -> Iterator[tuple[Int, Int, Float]]:
        """Rows, the nodes that they leave, and the masses of these, one edge up at a time.

        A row that has reached the root no longer appears. O(n) for each level of the tree.
        """
        rows = np.arange(self.n_rows)
        node = self.leaf
        while True:
            below = node > 0
            rows, node = rows[below], node[below]
            if not rows.size:
                return
            yield rows, node, self.mass(rows, node)
            node = self.classes.tree.parent[node].astype(np.int64)


def steps_of(mass: Float, n_classes: int) -> tuple[Float, Int]:
    """(threshold, stop): of rising masses of `TreeProbabilities.steps`, those at which answers
    change, and how many masses are at most each.

    Masses no further apart than the rounding of sums of `n_classes` probabilities are one step, at
    the largest of them. O(n).
    """
    apart = np.diff(mass, append=np.inf) > n_classes * np.finfo(np.float64).eps
    last = np.flatnonzero(apart)
    return mass[last], last + 1


def scores(rows: TreeProbabilities, label: Int) -> Float:
    """(n,) the smallest threshold at which the answer to a row holds its label.

    label : (n,) classes. The mass of the child, towards the most probable class, of the node where
    that class and the label meet; `LEAF` where there is none. O(n depth).
    """
    classes = rows.classes
    depth = classes.tree.depth
    meet = depth[lca(classes.tree, rows.leaf, classes.node[label])]
    score = np.full(rows.n_rows, LEAF)
    for row, node, mass in rows.steps():
        below = depth[node] > meet[row]
        score[row[below]] = mass[below]
    return score


def answers(rows: TreeProbabilities, threshold: Array | float) -> Int:
    """(n,) the deepest node that holds every class whose score is at most the threshold.

    threshold : one, or (n,) one a row; infinite where the root must be answered. O(n depth).
    """
    limit = np.broadcast_to(np.asarray(threshold, dtype=np.float64), (rows.n_rows,))
    others = rows.classes.has_others
    answer = rows.leaf.copy()
    for row, node, mass in rows.steps():
        climbs = others[node] & (mass <= limit[row])
        answer[row[climbs]] = rows.classes.tree.parent[node[climbs]]
    return answer


def answers_by_class(rows: TreeProbabilities, threshold: Array) -> Int:
    """(n,) the deepest node that holds every class whose score is at most its own threshold.

    threshold : (n_classes,). The scores of the classes that a step up brings are the mass of the
    node left, so the largest of their thresholds decides. O(n_nodes + n depth).
    """
    largest = _largest_beside(rows.classes, np.asarray(threshold, dtype=np.float64))
    answer = rows.leaf.copy()
    for row, node, mass in rows.steps():
        climbs = mass <= largest[node]
        answer[row[climbs]] = rows.classes.tree.parent[node[climbs]]
    return answer


def groups_at(tree: Tree, rows: TreeProbabilities, cut: Int) -> Int:
    """(n,) which node of a cut the most probable class lies under, by its place in `cut`.

    cut : nodes none of which lies under another; -1 where a row is under none of them. The groups
    depend on the row alone, as the guarantee for each of them needs. O(n_nodes + n).
    """
    group = np.full(tree.n_nodes, -1, dtype=np.int64)
    group[cut] = np.arange(cut.shape[0])
    for node in range(1, tree.n_nodes):
        if group[node] < 0:
            group[node] = group[tree.parent[node]]
    return group[rows.leaf]


def _largest_beside(classes: ClassTree, threshold: Float) -> Float:
    """(n_nodes,) largest threshold of the classes under the parent and not under the node."""
    parent = classes.tree.parent
    n_nodes = classes.tree.n_nodes
    own = np.full(n_nodes, -np.inf)
    np.maximum.at(own, classes.node, threshold)
    # The two largest of a node's own classes and of each of its children.
    first, second = own.copy(), np.full(n_nodes, -np.inf)
    for node in range(n_nodes - 1, 0, -1):
        up = parent[node]
        second[up] = max(second[up], min(first[up], first[node]))
        first[up] = max(first[up], first[node])
    beside: Float = np.where(first < first[parent], first[parent], second[parent])
    beside[0] = -np.inf
    return beside


SetScore = Literal["lac", "aps"]


def class_scores(probability: Array, score: SetScore) -> Float:
    """(n, n_classes) score of each class in each row; a class is in the set up to the threshold.

    `lac`: 1 - p. `aps`: the sum of all probabilities that are at least as large, not randomised,
    and the same for equal probabilities: sets are conservative. O(n n_classes log n_classes).
    """
    if score == "lac":
        return np.asarray(1.0 - probability, dtype=np.float64)
    order = np.argsort(-probability, axis=1, kind="stable")
    falling = np.take_along_axis(probability, order, axis=1).astype(np.float64)
    total = np.cumsum(falling, axis=1)
    last = np.ones(falling.shape, dtype=np.bool_)
    last[:, :-1] = falling[:, :-1] > falling[:, 1:]
    tied = np.where(last, total, np.inf)
    tied = np.minimum.accumulate(tied[:, ::-1], axis=1)[:, ::-1]
    result = np.empty_like(total)
    np.put_along_axis(result, order, tied, axis=1)
    return result


def bounded_scores(classes: ClassTree, scores: Float, most_nodes: int) -> Float:
    """(n, n_classes) the scores at which classes enter sets of at most `most_nodes` nodes.

    Classes join a row's set by rising score. Where its nodes become too many, two neighbours give
    way to the lowest node over both, of all pairs the one that adds the fewest classes; what it
    adds enters at that score. So sets only grow, and those up to any threshold have at most so many
    nodes: the quantile of such scores keeps the promise as that of any others (the aim is that of
    Mortier et al., "Conformal prediction in hierarchical classification with constrained
    representation complexity", 2025; the growing sets are this project's). A class at an inner
    node brings all that are below it. O(n n_classes (log n_classes + most_nodes log most_nodes +
    depth)).
    """
    from models.calibration.loops import entered

    tree = classes.tree
    place = np.empty(classes.n_classes, dtype=np.int64)
    place[classes.order] = np.arange(classes.n_classes)
    own = np.ascontiguousarray(scores, dtype=np.float64)
    entry = np.empty_like(own)
    entered(
        own,
        np.argsort(own, axis=1, kind="stable"),
        classes.node.astype(np.int64),
        place,
        tree.parent.astype(np.int64),
        tree.depth.astype(np.int64),
        classes.start.astype(np.int64),
        classes.end.astype(np.int64),
        most_nodes,
        entry,
    )
    return entry


def sized_scores(classes: ClassTree, probability: Array, most_nodes: int, *, alone: bool) -> Float:
    """(n, n_classes) what a class costs in a set of at most `most_nodes` nodes, as a logarithm.

    Sets grow by falling probability, as in `bounded_scores`. All that enters at once, d classes of
    the probability m, costs d / m, and no less than what entered before; without a bound that is
    1 / p, the order of `lac`. So the sets that hold a share of rows with the fewest classes come
    first, among sets that grow. These have at most so many nodes up to any threshold.

    alone : each class by its own probability p instead, (n / r)^2 / p where n > r = `most_nodes`
    classes are in once it has entered, else 1 / p; for thresholds that differ by class, by which
    classes enter in any order. A class that is only held together with many others is dear then;
    the square is by trial (`docs/decisions/calibrations.md`).

    Finite. O(n n_classes log n_classes), and that of `bounded_scores`.
    """
    p = np.maximum(probability, np.finfo(np.float64).tiny).astype(np.float64)
    entry = bounded_scores(classes, -np.log(p), most_nodes)
    order = np.argsort(entry, axis=1, kind="stable")
    rising = np.take_along_axis(entry, order, axis=1)
    last = np.ones(rising.shape, dtype=np.bool_)
    last[:, :-1] = rising[:, :-1] < rising[:, 1:]
    # Where the last of all that enters at once stands.
    place = np.where(last, np.arange(rising.shape[1]), rising.shape[1])
    place = np.minimum.accumulate(place[:, ::-1], axis=1)[:, ::-1]
    if alone:
        cost = 2.0 * np.log(np.maximum((place + 1) / most_nodes, 1.0))
    else:
        before = np.zeros(place.shape, dtype=np.int64)
        before[:, 1:] = np.maximum.accumulate(np.where(last, place + 1, 0), axis=1)[:, :-1]
        total = np.zeros((len(p), p.shape[1] + 1))
        np.cumsum(np.take_along_axis(p, order, axis=1), axis=1, out=total[:, 1:])
        mass = np.take_along_axis(total, place + 1, axis=1)
        mass -= np.take_along_axis(total, before, axis=1)
        # Sums may lose what is far below the rest; a class alone is its own probability.
        mass = np.maximum(mass, np.exp(-rising))
        cost = np.maximum.accumulate(np.log(place + 1 - before) - np.log(mass), axis=1)
    result = np.empty_like(cost)
    np.put_along_axis(result, order, cost, axis=1)
    return result - np.log(p) if alone else result


def class_sets(
    probability: Array, scores: Float, threshold: Array | float, *, abstains: bool = False
) -> Mask:
    """(n, n_classes) which classes are in the set of each row.

    threshold : one, or (n_classes,) one a class. The most probable class is always in, so that no
    set is empty: that can only add to what the sets hold. abstains : it is not; sets may be empty.
    """
    within: Mask = scores <= threshold
    if not abstains:
        within[np.arange(within.shape[0]), probability.argmax(axis=1)] = True
    return within


def fewest_nodes(classes: ClassTree, within: Mask) -> tuple[Int, Int]:
    """The nodes that name each row's set: row i has `node[start[i]:start[i + 1]]`.

    within : (n, n_classes). A node is taken if all classes under it are in the set and not all
    under its parent are; of a chain with the same classes, the deepest. A class at an inner node
    that is in the set without the classes below cannot be named exactly, and its node is taken.
    O(n n_nodes).
    """
    n_rows = within.shape[0]
    total = np.zeros((n_rows, classes.n_classes + 1), dtype=np.int64)
    np.cumsum(within[:, classes.order], axis=1, out=total[:, 1:])
    full: Mask = total[:, classes.end] - total[:, classes.start] == classes.n_under
    full[:, classes.n_under == 0] = False
    own = np.zeros((n_rows, classes.tree.n_nodes), dtype=np.bool_)
    for each, node in enumerate(classes.node.tolist()):
        own[:, node] |= within[:, each]
    full |= own
    covered = np.zeros_like(full)
    for node in range(1, classes.tree.n_nodes):
        up = classes.tree.parent[node]
        covered[:, node] = covered[:, up] | full[:, up]
    topmost = full & ~covered
    # Down a chain that holds the same classes.
    for node in range(1, classes.tree.n_nodes):
        up = int(classes.tree.parent[node])
        if classes.n_under[node] == classes.n_under[up]:
            topmost[:, node] |= topmost[:, up]
            topmost[:, up] = False
    row, node_of = np.nonzero(topmost)
    start = np.searchsorted(row, np.arange(n_rows + 1)).astype(np.int64)
    return start, node_of.astype(np.int64)
