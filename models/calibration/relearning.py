"""What calibration rows teach: linear discriminants over the logarithms of a model's probabilities.

They mend what a bias, a border turned the wrong way or a strong penalty did to the model, as far as
its probabilities still tell, and as far as so many rows can teach it (stacking: Wolpert, "Stacked
generalization", 1992). A class that the model never predicts, though its probabilities tell it from
others, is found again.

`relearned` shows it row by row: discriminants of four fifths of the labelled rows answer the other
fifth. `Relearning` is for new rows: the geometric mean of the model's probabilities and the
discriminants', whose own temperature is fitted to scores by discriminants of the other folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from models.answers.beside_tree import ClassScores
from models.arrays import Array, Float, Int
from models.calibration.probabilities import probability_blocks
from models.calibration.temperature import fitted_temperature
from models.errors import UsageError
from models.numerics.rows import log_softmax
from models.running import budget

N_FOLDS = 5
SHRINKAGE = 0.1
"""The weight of equal, independent features in the covariance of rows within classes."""
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
    budget.require("calibration", 120 * n_classes**2, _ADVICE)
    fold = np.full(scores.n_rows, -1, dtype=np.int64)
    fold[known] = np.random.default_rng(0).permutation(int(known.sum())) % N_FOLDS
    count = np.zeros((N_FOLDS, n_classes))
    total, square = (np.zeros((N_FOLDS, n_classes, n_classes)) for _ in range(2))
    for probability, block in probability_blocks(scores, temperature, n_nodes):
        # By fold, then class, so that rows of one lie together and are added at once.
        key = fold[block] * n_classes + label[block]
        order = np.argsort(key, kind="stable")[int((fold[block] < 0).sum()) :]
        rows, own = _features(probability[order]), key[order]
        first = np.flatnonzero(np.append(True, own[1:] != own[:-1])[: own.size])
        sums = np.add.reduceat(rows, first, axis=0) if first.size else rows
        total.reshape(-1, n_classes)[own[first]] += sums
        count += np.bincount(own, minlength=count.size).reshape(count.shape)
        edge = np.searchsorted(own, np.arange(N_FOLDS + 1) * n_classes)
        for each, (begin, end) in enumerate(pairwise(edge.tolist())):
            square[each] += rows[begin:end].T @ rows[begin:end]
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
            if own.size:
                classes[own + block.start] = (rows[own] @ weight + bias).argmax(axis=1)
    return classes


def _features(probability: Float) -> Float:
    """(n, n_classes) centred logarithms."""
    with np.errstate(divide="ignore"):
        rows = np.maximum(np.log(probability), LEAST_LOG)
    rows -= rows.mean(axis=1, keepdims=True)
    return rows


def _discriminants(
    count: Float, total: Float, square: Float, share: Float | None = None
) -> tuple[Float, Float] | None:
    """(n_features, n_classes) weights and (n_classes,) biases of the linear discriminants of rows.

    count : (n_classes,). total : (n_classes, n_features) sums of the rows of each class. square :
    (n_features, n_features) sums of their products. share : (n_classes,) of the classes; None: as
    counted. None for rows that do not differ in a class.
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
        prior = np.log(np.where(count > 0, count / count.sum() if share is None else share, 0.0))
        bias = prior - 0.5 * np.einsum("ij,ji->i", mean, weight)
    return weight, bias


@dataclass(frozen=True, slots=True)
class Relearning:
    """Discriminants beside the model.

    weight : (n_classes, n_classes) features x classes. bias : (n_classes,) -inf for a class without
    rows. temperature : of their scores. of_model : of the model's.
    """

    weight: Float
    bias: Float
    temperature: float
    of_model: float

    @classmethod
    def of(
        cls,
        logits: Float,
        label: Int,
        of_model: float,
        rng: np.random.Generator,
        share: Float | None = None,
    ) -> Relearning:
        """logits : (n, n_classes). label : (n,) classes. of_model : the model's temperature.
        share : (n_classes,) of the classes among rows to come; None: as here.

        O(N_FOLDS (n n_classes^2 + n_classes^3)). Raises UsageError for more than `MOST_CLASSES`
        classes, for rows that do not differ within a class and for too few rows.
        """
        n_rows, n_classes = logits.shape
        if n_classes > MOST_CLASSES:
            raise UsageError(
                f"`relearn` takes at most {MOST_CLASSES} classes; there are {n_classes}.",
                code="too-large",
            )
        budget.require("calibration", 60 * n_classes**2 + 40 * n_rows * n_classes, _ADVICE)
        rows = _features(np.exp(log_softmax(logits / of_model)))
        # Each class in all folds alike, as far as it has rows.
        order = rng.permutation(n_rows)
        order = order[np.argsort(label[order], kind="stable")]
        fold = np.empty(n_rows, dtype=np.int64)
        fold[order] = np.arange(n_rows) % N_FOLDS
        whole = _fitted(rows, label, share)
        judged, place = [np.zeros((0, n_classes))], [np.zeros(0, dtype=np.int64)]
        for each in range(N_FOLDS):
            learned = _fitted(rows[fold != each], label[fold != each], share)
            if learned is None or whole is None:
                raise UsageError(
                    "The rows that fit the temperature are too few, or do not differ within a "
                    "class, to `relearn` from; give more, or a larger `temperature_share`.",
                    code="too-few-rows",
                    n_rows=n_rows,
                )
            weight, bias = learned
            own = np.flatnonzero((fold == each) & np.isfinite(bias[label]))
            scores = rows[own] @ weight + bias
            least = np.where(np.isfinite(scores), scores, np.inf).min(axis=1, keepdims=True)
            judged.append(np.maximum(scores, least))
            place.append(label[own])
        labels = np.concatenate(place)
        value = 1.0
        if labels.size:
            value = fitted_temperature(np.concatenate(judged), labels).value
        assert whole is not None
        return cls(*whole, value, of_model)

    def applied(self, scores: ClassScores) -> ClassScores:
        """Scores whose softmax, at the temperature 1, is the geometric mean of both.

        A class that the discriminants have no row of keeps the model's own score.
        """
        seen = np.isfinite(self.bias)

        def read(start: int, stop: int) -> Array:
            own = log_softmax(np.asarray(scores.read(start, stop), np.float64) / self.of_model)
            learned = _features(np.exp(own)) @ self.weight
            learned = (learned + np.where(seen, self.bias, 0.0)) / self.temperature
            both = own.copy()
            if seen.any():
                both[:, seen] = (own[:, seen] + log_softmax(learned[:, seen])) / 2
            return both

        return ClassScores(scores.node, scores.n_rows, read, scores.by_edges)


def _fitted(rows: Float, label: Int, share: Float | None) -> tuple[Float, Float] | None:
    """Discriminants of rows; None as `_discriminants`, and without rows."""
    n_classes = rows.shape[1]
    if len(rows) < 2:
        return None
    total = np.zeros((n_classes, n_classes))
    np.add.at(total, label, rows)
    count = np.bincount(label, minlength=n_classes).astype(np.float64)
    return _discriminants(count, total, rows.T @ rows, share)
