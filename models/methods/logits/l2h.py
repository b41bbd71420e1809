"""Logits to hierarchy (L2H): a binary tree over the classes of a classifier or flat clusterer.

Each class starts as a group. K - 1 times, the group G* with the lowest score is taken, its points
are given to their best class outside G*, and G* is merged with the group that they choose most
confidently.

Source: Palumbo et al., "From Logits to Hierarchies: Hierarchical Clustering made Simple" (2025),
section 3, algorithm 1, the code of appendix A, the score of appendix B.2. Beyond the paper, which
leaves them open: classes without points, and ties (`TIE`).

Cost: one pass over the (N, K) logits to find the assignments, then each merge reads the rows of G*
only; a row is read about log2(K) times. Memory: 12 bytes a row, K numbers per class and one block
of rows in float64; the logits are never copied whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.contract import (
    Fitted,
    Input,
    Method,
    Model,
    Paper,
    Params,
    Predictions,
    Progress,
    Run,
)
from models.data import Data, listed, require_finite
from models.errors import UsageError
from models.numerics.softmax import row_blocks, softmax, winners
from models.tree.build import from_merges
from models.tree.tree import Tree
from models.tree.walk import paths

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Aggregation = Literal["mean-sum", "sum", "mean", "size"]

TIE = 1e-10
"""Values within this relative distance of the best are tied; the group with the lowest smallest
class wins. Far above what the order of a summation changes, so no result depends on it."""


class L2HParams(Params):
    aggregation: Aggregation = Field(
        "mean-sum",
        description=(
            "Score of a group; the lowest is merged next. 'mean-sum': sum over its classes of the "
            "mean confidence of the points assigned to the class; 'sum': sum of the confidences "
            "of all its points; 'mean': their mean; 'size': the number of its points."
        ),
    )


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where the points of a classifier fall.

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
        """Per merge the classes of G* and of the group it joined, each ascending. Up to O(K^2)."""
        groups = [[c] for c in range(len(self.left) + 1)]
        for a, b in zip(self.left, self.right, strict=True):
            groups.append(sorted(groups[a] + groups[b]))
        return [(groups[a], groups[b]) for a, b in zip(self.left, self.right, strict=True)]


def assign(logits: npt.NDArray[Any], progress: Progress) -> Assignment:
    """Each row's class (the lowest of equal logits) and each class's points and confidence."""
    n_points, n_classes = logits.shape
    label = np.empty(n_points, dtype=np.int32)
    confidence = np.zeros(n_classes)
    for number, block in enumerate(row_blocks(n_points, n_classes)):
        best, probability = winners(np.array(logits[block], dtype=np.float64))
        label[block] = best
        confidence += np.bincount(best, weights=probability, minlength=n_classes)
        if number % 64 == 0:
            progress(0.05 + 0.25 * block.stop / n_points, "reading logits")
    size = np.bincount(label, minlength=n_classes)
    start = np.concatenate(([0], np.cumsum(size)))
    return Assignment(label, size, confidence, np.argsort(label, kind="stable"), start)


def merge(
    logits: npt.NDArray[Any], at: Assignment, aggregation: Aggregation, progress: Progress
) -> Merges:
    """The K - 1 merges of algorithm 1 with the rules for classes without points and for ties.

    A group lives in the slot of its smallest class, so the first of several tied slots is the one
    that the rule for ties asks for.
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
    hosts = _hosts(logits, at, progress)

    for step in range(n_classes - 1):
        if step % max(1, n_classes // 200) == 0:
            progress(0.4 + 0.6 * step / n_classes, "merging", f"{step} of {n_classes - 1}")
        if step < len(hosts):
            lowest, candidates = hosts[step]
            other = int(slot[candidates].min())
        else:
            lowest = _first_lowest(_scores(aggregation, size, confidence, mean_sum), alive)
            taken = _reassigned(logits, at.rows(members[lowest]), members[lowest])
            mean_taken = np.bincount(slot, weights=taken, minlength=n_classes) / n_members
            other = _first_highest(mean_taken)
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


def _reassigned(logits: npt.NDArray[Any], rows: Int, group: list[int]) -> Float:
    """rp (equation 1): per class outside `group` the winning probability of the rows it takes."""
    n_classes = logits.shape[1]
    taken = np.zeros(n_classes)
    for block in row_blocks(len(rows), n_classes):
        values = logits[rows[block]].astype(np.float64)
        values[:, group] = -np.inf
        best, probability = winners(values)
        taken += np.bincount(best, weights=probability, minlength=n_classes)
    return taken


def _hosts(logits: npt.NDArray[Any], at: Assignment, progress: Progress) -> list[tuple[int, Int]]:
    """For each class without points, in order: the class, and the classes tied as its best host.

    The host is the group G with points whose points give the class the highest mean probability.
    While classes without points are being placed, each such G has exactly one class with points,
    so the mean over D^G is that over one class.
    """
    empty = np.flatnonzero(at.size == 0)
    filled = np.flatnonzero(at.size)
    best = np.zeros(len(empty))
    near: list[list[tuple[float, int]]] = [[] for _ in empty]
    if not empty.size:
        return []
    for number, c in enumerate(filled.tolist()):
        if number % 16 == 0:
            progress(0.3 + 0.1 * number / len(filled), "placing classes without points")
        rows = at.rows([c])
        mass = np.zeros(len(empty))
        for block in row_blocks(len(rows), logits.shape[1]):
            mass += softmax(logits[rows[block]])[:, empty].sum(axis=0)
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


class L2H(Method[L2HParams]):
    """See the module's docstring."""

    id: ClassVar = "l2h"
    title: ClassVar = "Logits to hierarchy"
    family: ClassVar = "logits"
    paper: ClassVar = Paper(
        "From Logits to Hierarchies: Hierarchical Clustering made Simple",
        2025,
        "section 3, algorithm 1, appendices A and B.2",
    )
    Params: ClassVar = L2HParams
    inputs: ClassVar = {
        "logits": Input(
            description="One row per point, one column per class: real numbers, before softmax."
        ),
        "names": Input(required=False, description="One name per class, in order of columns."),
    }
    outputs: ClassVar = ("tree", "model")

    def _check(self, data: Data, params: L2HParams) -> None:
        logits = data.dense("logits")
        n_points, n_classes = logits.shape
        if n_points == 0:
            raise UsageError(
                "Input 'logits' has no rows; at least one point is needed.",
                code="wrong-shape",
                role="logits",
            )
        if n_classes < 2:
            raise UsageError(
                f"Input 'logits' has {n_classes} column(s), one per class; a hierarchy needs at "
                "least 2 classes.",
                code="wrong-shape",
                role="logits",
            )
        data.leaf_names(n_classes, "column of 'logits'")
        require_finite(logits, "logits")

    def _fit(self, data: Data, params: L2HParams, run: Run) -> Fitted:
        logits = np.asarray(data.dense("logits"))
        n_points, n_classes = logits.shape
        names = data.leaf_names(n_classes, "column of 'logits'")
        at = assign(logits, run.progress)
        merges = merge(logits, at, params.aggregation, run.progress)
        tree = from_merges(
            merges.left,
            merges.right,
            np.arange(1, n_classes),
            names=names,
            leaf_of_point=at.label,
            extra={"confidence": _confidence(at, merges)},
        )
        return Fitted(
            tree=tree,
            model=Model(
                arrays={"leaf_of_class": tree.leaves.astype(np.int32)},
                facts={"n_classes": n_classes},
            ),
            metrics={
                "n_empty_classes": float(merges.without_points),
                "mean_confidence": float(at.confidence.sum() / n_points),
            },
            warnings=tuple(_empty_warnings(names, at, merges)),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the largest logit; a node's probability is the softmax mass of its classes."""
        logits = np.asarray(data.dense("logits"))
        leaf_of_class = model.arrays["leaf_of_class"].astype(np.int64)
        if logits.shape[1] != len(leaf_of_class):
            raise UsageError(
                f"Input 'logits' has {logits.shape[1]} columns; the model was fitted on "
                f"{len(leaf_of_class)} classes.",
                code="wrong-shape",
                role="logits",
            )
        require_finite(logits, "logits")
        n_rows = logits.shape[0]
        leaf = np.empty(n_rows, dtype=np.int64)
        blocks = list(row_blocks(n_rows, tree.n_nodes, 1 << 20))
        for block in blocks:
            leaf[block] = leaf_of_class[logits[block].argmax(axis=1)]
        start, node = paths(tree, leaf)
        probability = np.empty(len(node))
        for block in blocks:
            mass = _masses(logits[block], leaf_of_class, tree)
            part = slice(start[block.start], start[block.stop])
            row = np.repeat(np.arange(mass.shape[1]), np.diff(start[block.start : block.stop + 1]))
            probability[part] = mass[node[part], row]
        return Predictions(leaf, start, node, probability)


def _masses(logits: npt.NDArray[Any], leaf_of_class: Int, tree: Tree) -> Float:
    """(n_nodes, n_rows) softmax mass of the classes under each node; the root's is exactly 1.

    Sums of what lies below, never differences, so no mass is lost to rounding and none is larger
    than its parent's.
    """
    mass = np.zeros((tree.n_nodes, logits.shape[0]))
    mass[leaf_of_class] = softmax(logits).T
    for node in range(tree.n_nodes - 1, 0, -1):
        mass[tree.parent[node]] += mass[node]
    mass /= mass[0]
    return mass


def _confidence(at: Assignment, merges: Merges) -> Float:
    """(2 K - 1,) mean winning probability of the points under each SciPy id; NaN without points."""
    n_classes = len(at.size)
    size = np.concatenate([at.size, np.zeros(n_classes - 1, dtype=np.int64)])
    total = np.concatenate([at.confidence, np.zeros(n_classes - 1)])
    for step, (a, b) in enumerate(zip(merges.left, merges.right, strict=True), n_classes):
        size[step], total[step] = size[a] + size[b], total[a] + total[b]
    return np.where(size > 0, total / np.maximum(size, 1), np.nan)


def _empty_warnings(names: list[str], at: Assignment, merges: Merges) -> tuple[str, ...]:
    empty = [names[c] for c in np.flatnonzero(at.size == 0)]
    if not empty:
        return ()
    return (
        f"{len(empty)} of {len(names)} classes have no point: {listed(empty)}.",
        f"The first {merges.without_points} merge(s) join these classes, for which no reassigned "
        "probability exists, to the group whose points give them the highest mean probability.",
    )
