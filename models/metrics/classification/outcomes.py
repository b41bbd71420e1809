"""What a classifier answers for each row, beside the row's true labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int, Mask, row_blocks
from models.method import ClassAnswers, PredictionOptions, Predictions
from models.metrics.classification.true_labels import NodeSets, TrueLabels
from models.running.progress import Progress, silent

VALUES = 1 << 24
"""Probabilities that are held at a time (128 MiB)."""
EPSILON = float(np.finfo(np.float64).eps)
"""Probabilities are taken to be at least this far from 0 and 1 in logarithms."""

Predict = Callable[[Int, PredictionOptions], Predictions]
"""The predictions of the rows of these numbers."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The answers for the labelled rows, as nodes of `truth.tree`.

    given : the labels given to each row.
    row, node : the same pairs, the labels of a row from the most probable on.
    right : (n_rows,) whether the best class is a true label. confidence : (n_rows,) its
        probability.
    in_top : (n_rows,) whether a true label is among the `top_k` best classes; None without any.
    loss : (n_rows,) negative log-likelihood of the true labels, NaN where it is not defined; None
        if it was not requested.
    one_each : whether the classifier gives each row one label.
    """

    truth: TrueLabels
    given: NodeSets
    row: Int
    node: Int
    right: Mask
    confidence: Float
    in_top: Mask | None
    loss: Float | None
    one_each: bool

    @property
    def n_rows(self) -> int:
        return self.truth.sets.n_rows


def outcomes(
    truth: TrueLabels,
    n_classes: int,
    predict: Predict,
    *,
    top_k: int = 0,
    threshold: float | None = None,
    with_loss: bool = False,
    progress: Progress = silent,
) -> Outcomes:
    """Ask for the predictions of the labelled rows, by blocks that hold `VALUES` probabilities.

    top_k, threshold : as in `PredictionOptions`. with_loss : whether `loss` is computed, for which
        every probability is needed.

    The time and memory of the predictions, O(n_rows (n_classes + labels)) for the loss.
    """
    n_rows = truth.sets.n_rows
    options = PredictionOptions(max(1, top_k), threshold, every=with_loss)
    blocks, one_each = [], True
    for block in row_blocks(n_rows, n_classes if with_loss else max(1, top_k), VALUES):
        progress(block.start / n_rows, "predicting")
        classes = predict(truth.row[block], options).classes
        assert classes is not None, "the method classifies"
        one_each = classes.one_each
        blocks.append(_Block.of(truth, block, classes, with_loss))
    row = np.concatenate([block.row for block in blocks])
    node = np.concatenate([block.node for block in blocks])
    return Outcomes(
        truth=truth,
        given=NodeSets.of(truth.tree, n_rows, row, node),
        row=row,
        node=node,
        right=np.concatenate([block.right for block in blocks]),
        confidence=np.concatenate([block.confidence for block in blocks]),
        in_top=np.concatenate([block.in_top for block in blocks]) if top_k else None,
        loss=np.concatenate([block.loss for block in blocks]) if with_loss else None,
        one_each=one_each,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    row: Int
    node: Int
    right: Mask
    confidence: Float
    in_top: Mask
    loss: Float

    @classmethod
    def of(cls, truth: TrueLabels, block: slice, classes: ClassAnswers, with_loss: bool) -> _Block:
        first, n_rows = block.start, block.stop - block.start
        top = classes.node[classes.top]
        of_row = np.repeat(np.arange(first, block.stop), top.shape[1])
        hits = truth.sets.has(of_row, top.ravel()).reshape(top.shape)
        return cls(
            row=first + np.repeat(np.arange(n_rows), np.diff(classes.start)),
            node=classes.node[classes.code],
            right=hits[:, 0],
            confidence=classes.probability[:, 0],
            in_top=np.asarray(hits.any(axis=1)),
            loss=_losses(truth, block, classes) if with_loss else np.zeros(0),
        )


def _losses(truth: TrueLabels, block: slice, classes: ClassAnswers) -> Float:
    """(n,) negative log-likelihood of the true labels of the rows.

    Where a row has one class, that of its label, NaN for another number of labels. Else the sum
    over all classes of whether it is a label. A label that is no class has the probability 0.
    """
    sets, every = truth.sets, classes.every
    assert every is not None, "every probability was requested"
    n_rows = block.stop - block.start
    number = np.full(truth.tree.n_nodes, -1, dtype=np.int64)
    number[classes.node] = np.arange(classes.node.size)
    pairs = slice(*np.searchsorted(sets.row, [block.start, block.stop]))
    row, code = sets.row[pairs] - block.start, number[sets.node[pairs]]
    likelihood = np.where(code >= 0, every[row, code], 0.0)
    likelihood = np.clip(likelihood, EPSILON, 1.0 - EPSILON)
    if classes.one_each:
        loss = np.bincount(row, -np.log(likelihood), minlength=n_rows).astype(np.float64)
        loss[sets.n_each[block] != 1] = np.nan
        return loss
    loss = np.zeros(n_rows)
    for part in row_blocks(n_rows, every.shape[1]):
        loss[part] = -np.log1p(-np.clip(every[part], EPSILON, 1.0 - EPSILON)).sum(axis=1)
    # What the sum over all classes took for no label is one.
    taken = np.where(code >= 0, np.log1p(-likelihood), 0.0)
    return np.asarray(loss + np.bincount(row, taken - np.log(likelihood), minlength=n_rows))
