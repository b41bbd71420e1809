"""The scores of classes in new rows, by any method that predicts.

A class is a leaf of the tree. Methods over logits and classifiers know its probability, mixtures
and other partitions the probability of a cluster. Other methods give only the path of a row, with
the probability of its nodes: what a node has more than its child on the path is spread evenly over
the leaves beside that child. Where all of these are 1, each edge up from the leaf leaves a third of
what was not held, so that thresholds climb all rows by the same number of edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models.answers.beside_tree import ClassScores, finite
from models.arrays import Array, Float, Int
from models.errors import UsageError
from models.inputs.data import Data
from models.method import Method, Model, PredictionOptions, Predictions
from models.running import memory
from models.tree.tree import Tree
from models.tree.walk import spans

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
        memory.require("calibration", 24 * n_rows * tree.n_leaves, _ADVICE)
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


def _of_probabilities(node: Int, probability: Array) -> ClassScores:
    def read(start: int, stop: int) -> Float:
        with np.errstate(divide="ignore"):
            return finite(np.log(probability[start:stop]))

    return ClassScores(node, probability.shape[0], read)


def _of_paths(tree: Tree, predictions: Predictions, by_edges: bool | None) -> ClassScores:
    n_rows = predictions.leaf.shape[0]
    memory.require("calibration", 8 * tree.n_leaves * min(n_rows, 1 << 12), _ADVICE)
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
