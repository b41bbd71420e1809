"""What calibration rows teach: the classes that a classifier gives which learned from them.

Linear discriminants over the logarithms of the model's probabilities, fitted to four fifths of the
labelled rows and answering the other fifth (stacking: Wolpert, "Stacked generalization", 1992).
They mend what a bias, a border turned the wrong way or a strong penalty did to the model, as far as
its probabilities still tell, and as far as so many rows can teach it. Errors that they do not make
are errors that more data takes away; those that they make may be, too.
"""

from __future__ import annotations

import numpy as np

from models.answers.class_scores import ClassScores
from models.arrays import Float, Int
from models.calibration.calibration import probability_blocks
from models.running import memory

N_FOLDS = 5
SHRINKAGE = 0.1
"""Of the covariance of rows in their classes, towards that of independent features alike."""
LEAST_LOG = -12.0
"""Smaller logarithms of probabilities are taken for this one."""
MOST_CLASSES = 1024
_ADVICE = "Give fewer classes."


def relearned(scores: ClassScores, label: Int, temperature: float, n_nodes: int) -> Int | None:
    """(n_rows,) the class of each labelled row by a classifier that has not seen it, -1 for others.

    label : (n_rows,) classes, -1 where unknown. n_nodes : of the tree, for the size of blocks. None
    with more than `MOST_CLASSES` classes, with fewer than two rows a fold, and where rows do not
    differ. A class without rows is never given.

    O(n n_classes^2 + n_classes^3) time, 120 n_classes^2 bytes. Raises UsageError `too-large`.
    """
    n_classes, known = scores.n_classes, label >= 0
    if n_classes > MOST_CLASSES or known.sum() < 2 * N_FOLDS:
        return None
    memory.require("calibration", 120 * n_classes**2, _ADVICE)
    fold = np.full(scores.n_rows, -1, dtype=np.int64)
    fold[known] = np.random.default_rng(0).permutation(int(known.sum())) % N_FOLDS
    count = np.zeros((N_FOLDS, n_classes))
    total, square = (np.zeros((N_FOLDS, n_classes, n_classes)) for _ in range(2))
    for probability, block in probability_blocks(scores, temperature, n_nodes):
        rows = _features(probability)
        for each in range(N_FOLDS):
            own = np.flatnonzero(fold[block] == each)
            of = label[block][own]
            count[each] += np.bincount(of, minlength=n_classes)
            np.add.at(total[each], of, rows[own])
            square[each] += rows[own].T @ rows[own]
    discriminants = []
    for each in range(N_FOLDS):
        others = np.arange(N_FOLDS) != each
        discriminant = _discriminants(
            count[others].sum(axis=0), total[others].sum(axis=0), square[others].sum(axis=0)
        )
        if discriminant is None:
            return None
        discriminants.append(discriminant)
    classes = np.full(scores.n_rows, -1, dtype=np.int64)
    for probability, block in probability_blocks(scores, temperature, n_nodes):
        rows = _features(probability)
        for each, (weight, bias) in enumerate(discriminants):
            own = np.flatnonzero(fold[block] == each)
            classes[own + block.start] = (rows[own] @ weight + bias).argmax(axis=1)
    return classes


def _features(probability: Float) -> Float:
    """(n, n_classes) centred logarithms."""
    with np.errstate(divide="ignore"):
        rows = np.maximum(np.log(probability), LEAST_LOG)
    rows -= rows.mean(axis=1, keepdims=True)
    return rows


def _discriminants(count: Float, total: Float, square: Float) -> tuple[Float, Float] | None:
    """(n_features, n_classes) weights and (n_classes,) biases of the linear discriminants of rows.

    count : (n_classes,). total : (n_classes, n_features) sums of the rows of each class. square :
    (n_features, n_features) sums of their products. None for rows that do not differ in a class.
    """
    mean = total / np.maximum(count, 1.0)[:, None]
    within = (square - mean.T @ (count[:, None] * mean)) / count.sum()
    n_features = within.shape[0]
    spread = float(np.trace(within)) / n_features
    if not spread > 1e-12:
        return None
    within = (1.0 - SHRINKAGE) * within
    within[np.diag_indices(n_features)] += SHRINKAGE * spread
    weight = np.linalg.solve(within, mean.T)
    with np.errstate(divide="ignore"):
        bias = np.log(count / count.sum()) - 0.5 * np.einsum("ij,ji->i", mean, weight)
    return weight, bias
