"""Rows of a calibration: the scores of classes in them, the classes that their labels name, and the
labels that look wrong.

`class_scores` serves any method that predicts. A class is a leaf of the tree. Methods over logits
and classifiers know its probability, mixtures and other partitions the probability of a cluster.
Other methods give only the path of a row, with the probability of its nodes: what a node has more
than its child on the path is spread evenly over the leaves beside that child. Where all of these
are 1, each edge up from the leaf leaves a third of what was not held, so that thresholds climb all
rows by the same number of edges.

`label_errors` finds labels that look wrong by confident learning. Northcutt, Jiang and Chuang,
"Confident learning: estimating uncertainty in dataset labels" (JAIR 2021): a class is likely in a
row if its probability is at least the mean probability of that class in the rows labelled so; a row
whose most probable likely class is not its label is a count beside the diagonal of the confident
joint, and a suspect. Unlike there, a row whose most probable class is its label is none: where some
class is hardly ever probable, it is likely in many such rows. The probabilities must be of rows
that the model has not seen. The likeliest errors come first: by the probability of the label over
the square root of its median in the rows labelled so, which is small where the model hardly ever
knows the class, and a row that it does not know says little. Their place in the tree, whether
siblings or far apart, goes with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from models.answers.beside_tree import ClassScores, finite
from models.arrays import Float, Int, row_blocks
from models.calibration.climbing import ClassTree
from models.calibration.probabilities import BLOCK, probability_blocks
from models.errors import UsageError, listed, shown
from models.inputs.data import Data
from models.inputs.label_sets import LabelSets
from models.method import Method, Model, PredictionOptions, Predictions
from models.running import budget
from models.tree.named import SEVERAL, NamedNodes
from models.tree.tree import Tree
from models.tree.walk import lca, spans

_ADVICE = "Give fewer rows at a time."


def class_scores(
    method: Method[Any], model: Model, tree: Tree, data: Data, by_edges: bool | None = None
) -> ClassScores:
    """The scores of the classes of new rows.

    by_edges : where only paths are known, whether edges are counted; None: if no row tells more.

    Raises UsageError as `Method.predict`, `cannot-predict` where a row may have several classes,
    and `too-large`.
    """
    own = method.class_scores(model, data)
    if own is not None:
        return own
    if method.classifies or "logits" in method.outputs:
        # The probabilities of all classes, and what they are made of.
        n_rows = max((shape[0] for shape in data.shapes().values()), default=0)
        budget.require("calibration", 24 * n_rows * tree.n_leaves, _ADVICE)
    if method.classifies:
        options = PredictionOptions(every=True)
        classes = method.predict(model, tree, data, options).classes
        assert classes is not None
        assert classes.every is not None
        if not classes.one_each:
            raise UsageError(
                "Rows of this classifier may have several labels, so the probabilities of classes "
                "exclude nothing and cannot be calibrated.",
                code="cannot-predict",
            )
        return _of_probabilities(np.asarray(classes.node, dtype=np.int64), classes.every)
    if "logits" in method.outputs:
        logits = method.logits(model, data)
        return ClassScores(
            tree.leaves.astype(np.int64),
            logits.shape[0],
            lambda start, stop: finite(logits[start:stop]),
        )
    return _of_paths(tree, method.predict(model, tree, data), by_edges)


def _of_probabilities(node: Int, probability: Float) -> ClassScores:
    """Their logarithms, which overwrite `probability`: it is read several times."""
    probability = np.require(probability, np.float64, ["W"])
    for rows in row_blocks(probability.shape[0], probability.shape[1], BLOCK):
        with np.errstate(divide="ignore"):
            probability[rows] = finite(np.log(probability[rows]))
    probability.flags.writeable = False
    return ClassScores(node, probability.shape[0], lambda start, stop: probability[start:stop])


def _of_paths(tree: Tree, predictions: Predictions, by_edges: bool | None) -> ClassScores:
    n_rows = predictions.leaf.shape[0]
    budget.require("calibration", 8 * tree.n_leaves * min(n_rows, 1 << 12), _ADVICE)
    node, start = np.asarray(predictions.node), predictions.start
    probability = np.asarray(predictions.probability, dtype=np.float64)
    if by_edges is None:
        by_edges = bool((probability == 1.0).all())
    if by_edges:
        edges = np.repeat(start[1:] - 1, np.diff(start)) - np.arange(node.shape[0])
        probability = 1.0 - np.exp(np.log(3.0) * (-1.0 - edges))
        probability[start[:-1]] = 1.0
    spread = _Spread(tree, node, start, probability)
    return ClassScores(tree.leaves.astype(np.int64), n_rows, spread.read, by_edges)


class _Spread:
    """Leaf probabilities that agree with the probabilities along paths."""

    def __init__(self, tree: Tree, node: Int, start: Int, probability: Float) -> None:
        ranges = spans(tree)
        self._first = ranges.start.astype(np.int64)
        self._count = ranges.count.astype(np.int64)
        self._place = self._first[tree.leaves]
        self._node, self._start, self._probability = node, start, probability

    def read(self, start: int, stop: int) -> Float:
        """(stop - start, n_leaves), by the order of `Tree.leaves`. O(rows n_leaves + paths)."""
        begin, end = int(self._start[start]), int(self._start[stop])
        node, mass = self._node[begin:end], self._probability[begin:end]
        row = np.repeat(np.arange(stop - start), np.diff(self._start[start : stop + 1]))
        last = np.append(row[1:] != row[:-1], True)
        below = np.append(node[1:], 0)
        beside = self._count[node] - np.where(last, 0, self._count[below])
        rest = mass - np.where(last, 0.0, np.append(mass[1:], 0.0))
        density = np.divide(rest, beside, out=np.zeros(rest.shape), where=beside > 0)
        # A density holds from its node on, until that of the child takes over.
        above = np.where(np.append(True, last[:-1]), 0.0, np.append(0.0, density[:-1]))
        change = np.zeros((stop - start, self._place.shape[0] + 1))
        np.add.at(change, (row, self._first[node]), density - above)
        np.add.at(change, (row, self._first[node] + self._count[node]), above - density)
        leaves = np.cumsum(change[:, :-1], axis=1)[:, self._place]
        with np.errstate(divide="ignore"):
            return finite(np.log(np.maximum(leaves, 0.0)))


@dataclass(frozen=True, slots=True)
class LabelErrors:
    """Suspects in their order.

    row : (n,) rows. label, likely : (n,) the class that a row is labelled, and the likely one.
    of_label, of_likely : (n,) their probabilities. meet : (n,) the node where the two classes part.
    n_classes : (n,) classes under it.
    """

    row: Int
    label: Int
    likely: Int
    of_label: Float
    of_likely: Float
    meet: Int
    n_classes: Int


def label_errors(tree: Tree, scores: ClassScores, label: Int, temperature: float) -> LabelErrors:
    """label : (n_rows,) classes, -1 for rows that are not labelled, which are left out.

    A class that no row is labelled is never likely. O(n n_classes), the blocks are read twice.
    Memory: 40 bytes a row.
    """
    known = label >= 0
    count = np.bincount(label[known], minlength=scores.n_classes)
    total, of_own = np.zeros(scores.n_classes), np.zeros(len(label))
    for probability, rows in probability_blocks(scores, temperature, tree.n_nodes):
        own = np.flatnonzero(known[rows])
        of = label[rows][own]
        of_own[rows][own] = probability[own, of]
        total += np.bincount(of, probability[own, of], scores.n_classes)
    least = np.divide(total, count, out=np.full(scores.n_classes, np.inf), where=count > 0)
    none = np.zeros(0, dtype=np.int64)
    suspects, likely, of_label, of_likely = [none], [none], [np.zeros(0)], [np.zeros(0)]
    for probability, rows in probability_blocks(scores, temperature, tree.n_nodes):
        confident = np.where(probability >= least, probability, -1.0)
        best = confident.argmax(axis=1)
        at = np.arange(len(best))
        wrong = known[rows] & (confident[at, best] >= 0) & (best != label[rows])
        wrong &= probability.argmax(axis=1) != label[rows]
        at, best = at[wrong], best[wrong]
        suspects.append(at + rows.start)
        likely.append(best)
        of_label.append(probability[at, label[rows][at]])
        of_likely.append(probability[at, best])
    row, other = np.concatenate(suspects), np.concatenate(likely)
    given, sure = np.concatenate(of_label), np.concatenate(of_likely)
    meet = lca(tree, scores.node[label[row]], scores.node[other])
    n_classes = ClassTree.of(tree, scores.node).n_under[meet]
    usual = np.sqrt(_medians(label[known], of_own[known], count))[label[row]]
    # Where a class is never probable, no probability is less than usual.
    chance = np.divide(given, usual, out=np.full(len(row), np.inf), where=usual > 0)
    order = np.lexsort((row, given - sure, chance))
    return LabelErrors(
        row[order],
        label[row][order],
        other[order],
        given[order],
        sure[order],
        meet[order],
        n_classes[order],
    )


def _medians(label: Int, value: Float, count: Int) -> Float:
    """(n_classes,) the median value of each class, the lower of two; 0 for a class without rows."""
    order = np.lexsort((value, label))
    middle = np.cumsum(count) - count + np.maximum(count - 1, 0) // 2
    median = np.zeros(len(count))
    median[count > 0] = value[order[middle[count > 0]]]
    return median


def label_classes(labels: LabelSets, tree: Tree, node: Int) -> Int:
    """(n_rows,) the class of each row; -1 for rows that are not labelled.

    node : (n_classes,) of each class. A label is the name of a class's node, or its path of names;
    where no label is, all of them are numbers of classes, from 0.

    Raises UsageError for a row with several labels, and for a label that means no class, with its
    first row. O(n_nodes + length of the labels).
    """
    labels.require_at_most_one()
    class_of = np.full(tree.n_nodes, -1, dtype=np.int64)
    class_of[node] = np.arange(node.shape[0])
    nodes = NamedNodes(tree)
    occurs = np.flatnonzero(np.bincount(labels.code, minlength=len(labels.names)) > 0)
    found = np.full(len(labels.names), -1, dtype=np.int64)
    for number in occurs.tolist():
        found[number] = nodes.find(labels.names[number])
    if (found[occurs] == -1).all():
        numbers = {str(each): int(own) for each, own in enumerate(node.tolist())}
        for number in occurs.tolist():
            found[number] = numbers.get(labels.names[number], -1)
    own = np.where(found >= 0, class_of[np.maximum(found, 0)], -1)
    wrong = occurs[own[occurs] < 0]
    if wrong.size:
        number = int(wrong[0])
        first = int(np.argmax(labels.code == number))
        row = int(np.searchsorted(labels.start, first, side="right")) - 1
        why = "is no node of the tree"
        if found[number] == SEVERAL:
            why = "means several nodes of the tree"
        elif found[number] >= 0:
            why = "is an inner node of the tree"
        known = [f"node {at}" if tree.name[at] is None else tree.name[at] for at in node.tolist()]
        raise UsageError(
            f"Label {shown(labels.names[number])} at row {row} (counted from 0) {why}; "
            f"{wrong.size} label(s) are no class. Classes are {listed(known)}: a label is the name "
            f"of one, its path of names, or its number from 0 to {node.shape[0] - 1}.",
            code="unknown-label",
            role="labels",
            row=row,
        )
    label = np.full(labels.n_rows, -1, dtype=np.int64)
    times = np.diff(labels.start)
    label[times > 0] = own[labels.code]
    return label
