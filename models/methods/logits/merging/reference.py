"""L2H by its definition, in float64 and plain NumPy: the reference for every faster path.

Source: Palumbo et al., "From Logits to Hierarchies: Hierarchical Clustering made Simple" (2025),
section 3, algorithm 1, the code of appendix A, the score of appendix B.2. It adds rules for cases
that the paper leaves open: classes without points, ties (`TIE`), and rows that give every class
outside a group the probability 0 (they choose none).

Cost: one pass over the (N, K) logits for the assignments, then each merge reads only the rows of
G*; a row is read about log2(K) times. Memory: 12 bytes a row, K numbers per class and one block
of rows in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Float, Int, row_blocks
from models.methods.logits.merging.logit_matrix import LogitMatrix

Aggregation = Literal["mean-sum", "sum", "mean", "size"]

TIE = 1e-10
"""Values within this relative distance of the best are tied; the group with the lowest smallest
class wins. Far above what the order of a summation changes, so no result depends on it."""

UNDERFLOW = -708.0
"""Exponentials of lower numbers are 0: the smallest floats have too few digits to detect ties."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The assignment of points to the classes of a classifier.

    label : (n_points,) int32 class of each row.
    size : (n_classes,) number of points of each class.
    confidence : (n_classes,) sum of the winning probabilities of the class's points.
    order, start : the rows of class c, ascending, are `order[start[c]:start[c + 1]]`.
    """

    label: npt.NDArray[np.int32]
    size: Int
    confidence: Float
    order: Int
    start: Int

    def rows(self, classes: Sequence[int]) -> Int:
        """The rows of several classes, ascending."""
        parts = [self.order[self.start[c] : self.start[c + 1]] for c in classes]
        return np.sort(np.concatenate(parts)) if len(parts) > 1 else parts[0]


@dataclass(frozen=True, slots=True)
class Merges:
    """The merges in order.

    left, right : (K - 1,) G* and the group it joined as SciPy ids: below K a class, K + i merge i.
    without_points : how many of the first merges had a G* without points.
    """

    left: Int
    right: Int
    without_points: int

    @property
    def steps(self) -> list[tuple[list[int], list[int]]]:
        """For each merge the classes of G* and of the group it joined, ascending. Up to O(K^2)."""
        groups = [[c] for c in range(len(self.left) + 1)]
        for a, b in zip(self.left, self.right, strict=True):
            groups.append(sorted(groups[a] + groups[b]))
        return [(groups[a], groups[b]) for a, b in zip(self.left, self.right, strict=True)]


def assign(matrix: LogitMatrix) -> Assignment:
    """Each row's class (the lowest of equal logits) and each class's points and confidence."""
    n_points, n_classes = matrix.shape
    label = np.empty(n_points, dtype=np.int32)
    confidence = np.zeros(n_classes)
    for block in row_blocks(n_points, n_classes):
        values = np.array(matrix.block(block.start, block.stop), dtype=np.float64)
        best, probability = _winners(values, matrix.scale)
        label[block] = best
        confidence += np.bincount(best, weights=probability, minlength=n_classes)
    size = np.bincount(label, minlength=n_classes)
    start = np.concatenate(([0], np.cumsum(size)))
    return Assignment(label, size, confidence, np.argsort(label, kind="stable"), start)


def merge(matrix: LogitMatrix, at: Assignment, aggregation: Aggregation) -> Merges:
    """The K - 1 merges of algorithm 1 with the rules for classes without points and for ties.

    A group lives in the slot of its smallest class, so the first of several tied slots is the one
    selected by the rule for ties.
    """
    n_classes = len(at.size)
    members = [[c] for c in range(n_classes)]
    slot = np.arange(n_classes)
    node = np.arange(n_classes)
    alive = np.ones(n_classes, dtype=bool)
    size, confidence = at.size.copy(), at.confidence.copy()
    mean_sum = confidence / np.maximum(size, 1)
    n_members = np.ones(n_classes, dtype=np.int64)
    left, right = np.empty((2, n_classes - 1), dtype=np.int64)
    # Only classes without points score 0, so they all come first, one by one, in order.
    hosts = _hosts(matrix, at)

    for step in range(n_classes - 1):
        if step < len(hosts):
            lowest, candidates = hosts[step]
            other = int(slot[candidates].min())
        else:
            lowest = _first_lowest(_scores(aggregation, size, confidence, mean_sum), alive)
            reassigned = _reassigned(matrix, at.rows(members[lowest]), members[lowest])
            mean_reassigned = np.bincount(slot, weights=reassigned, minlength=n_classes) / n_members
            mean_reassigned[~alive] = -1.0
            mean_reassigned[lowest] = -1.0
            other = _first_highest(mean_reassigned)
        left[step], right[step] = node[lowest], node[other]
        home, gone = min(lowest, other), max(lowest, other)
        slot[members[gone]] = home
        members[home] = members[lowest] + members[other]
        members[gone] = []
        for column in (size, confidence, mean_sum, n_members):
            column[home] += column[gone]
        alive[gone] = False
        node[home] = n_classes + step
    return Merges(left, right, len(hosts))


def _scores(aggregation: Aggregation, size: Int, confidence: Float, mean_sum: Float) -> Float:
    match aggregation:
        case "mean-sum":
            return mean_sum
        case "sum":
            return confidence
        case "mean":
            return confidence / np.maximum(size, 1)
        case "size":
            return size.astype(np.float64)


def _first_lowest(scores: Float, alive: npt.NDArray[np.bool_]) -> int:
    lowest = scores[alive].min()
    return int(np.argmax(alive & (scores <= lowest * (1.0 + TIE))))


def _first_highest(values: Float) -> int:
    return int(np.argmax(values >= values.max() * (1.0 - TIE)))


def _reassigned(matrix: LogitMatrix, rows: Int, group: list[int]) -> Float:
    """rp (equation 1): for each class outside `group`, the winning probability of its new rows."""
    n_classes = matrix.shape[1]
    total = np.zeros(n_classes)
    for block in row_blocks(len(rows), n_classes):
        values = matrix.take(rows[block]).astype(np.float64)
        values[:, group] = -np.inf
        best, probability = _winners(values, matrix.scale)
        total += np.bincount(best, weights=probability, minlength=n_classes)
    return total


def _winners(values: Float, scale: float) -> tuple[Int, Float]:
    """Each row's largest value: its column (the lowest of equals) and its softmax probability, 0
    where all are -inf. Overwrites `values`."""
    best = values.argmax(axis=1)
    exponentials(values, scale)
    total = values.sum(axis=1)
    return best, np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)


def exponentials(values: Float, scale: float) -> None:
    """Replace each row x of `values` by exp((x - max x) scale).

    Zeros where all of a row is -inf, and for exponents below UNDERFLOW.
    """
    highest = values.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        values -= np.where(np.isfinite(highest), highest, 0.0)
        values *= scale
    np.copyto(values, -np.inf, where=values < UNDERFLOW)
    np.exp(values, out=values)


def _hosts(matrix: LogitMatrix, at: Assignment) -> list[tuple[int, Int]]:
    """For each class without points, in order: the class, and the classes tied as its best host.

    The host is the group G whose points give the class the highest mean probability.
    While classes without points are being placed, each such G has exactly one class with points,
    so the mean over D^G is that over one class.
    """
    empty = np.flatnonzero(at.size == 0)
    filled = np.flatnonzero(at.size)
    best = np.zeros(len(empty))
    near: list[list[tuple[float, int]]] = [[] for _ in empty]
    if not empty.size:
        return []
    for c in filled.tolist():
        rows = at.rows([c])
        mass = np.zeros(len(empty))
        for block in row_blocks(len(rows), matrix.shape[1]):
            values = matrix.take(rows[block]).astype(np.float64)
            exponentials(values, matrix.scale)
            values /= values.sum(axis=1, keepdims=True)
            mass += values[:, empty].sum(axis=0)
        mass /= len(rows)
        for e in np.flatnonzero((mass > 0) & (mass >= best * (1.0 - TIE))).tolist():
            near[e].append((float(mass[e]), c))
            best[e] = max(best[e], mass[e])
    # A mass that underflows to 0 everywhere is a tie of all groups.
    return [
        (
            c,
            np.array([host for mass, host in near[e] if mass >= best[e] * (1.0 - TIE)])
            if near[e]
            else filled,
        )
        for e, c in enumerate(empty.tolist())
    ]
