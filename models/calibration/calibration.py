"""What calibration rows leave, and the answers that it gives to new rows.

All scores are kept, so that any alpha has its own threshold. Thresholds of groups:

- `all`: one.
- `subtree`: one for each node of a cut. With too few rows it is infinite, and its rows are answered
  by the root, which keeps the promise.
- `class`: one for each class. Too few rows would need the root wherever such a class is not under
  the answer, so these classes have the threshold of all rows, and no promise of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from models.answers.beside_tree import ClassScores
from models.arrays import Array, Float, Int, Mask, row_blocks
from models.calibration.climbing import (
    ClassTree,
    TreeProbabilities,
    answers,
    answers_by_class,
    groups_at,
)
from models.calibration.node_sets import class_scores, class_sets, fewest_nodes
from models.calibration.options import CalibrationTerms
from models.calibration.quantiles import fewest_rows, group_quantiles, quantile
from models.calibration.risk import RiskCurve
from models.errors import UsageError
from models.numerics.softmax import log_softmax
from models.running.progress import Progress, silent
from models.tree.tree import Tree

BLOCK = 1 << 20
"""Values of rows x nodes at a time: 8 MiB, of which there are about ten."""


@dataclass(frozen=True, slots=True)
class NodeAnswers:
    """Nodes that hold the true class, as promised.

    start, node : row i has nodes `node[start[i]:start[i + 1]]`. depth : (n_rows,) edges from the
    root to the highest of them. n_classes : (n_rows,) classes under them. mass : (n_rows,) their
    probability.
    """

    start: Int
    node: Int
    depth: Int
    n_classes: Int
    mass: Float


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A fitted calibration.

    terms : the promise. temperature : what scores are divided by. node : (n_classes,) of each
    class. start, score : group g has the scores `score[start[g]:start[g + 1]]`, ascending; none
    where a risk is controlled. cut : (n_groups,) the nodes of subtrees; else empty. by_edges : as
    of `ClassScores`. risk : the losses, where they are controlled.
    """

    terms: CalibrationTerms
    temperature: float
    node: Int
    start: Int
    score: Float
    cut: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    by_edges: bool = False
    risk: RiskCurve | None = None

    @property
    def n_groups(self) -> int:
        return int(self.start.shape[0]) - 1

    @property
    def n_rows_of_group(self) -> Int:
        """(n_groups,) calibration rows."""
        return np.diff(self.start)

    def promised(self, alpha: float) -> Mask:
        """(n_groups,) whether a group has its own promise that says more than the root."""
        if self.risk is not None:
            return np.ones(1, dtype=np.bool_)
        enough: Mask = self.n_rows_of_group >= fewest_rows(alpha)
        return enough

    def thresholds(self, alpha: float) -> Float:
        """(n_groups,) threshold of each group.

        Raises UsageError for an alpha that is none, and `too-few-rows` with the number needed.
        """
        if self.risk is not None:
            return np.array([self.risk.threshold_at(alpha)])
        needed, n_rows = fewest_rows(alpha), self.n_rows_of_group
        if self.terms.per == "subtree" and n_rows.max() < needed:
            raise UsageError(
                f"alpha {alpha:g} needs at least {needed} calibration rows in a subtree; the "
                f"largest has {n_rows.max()}. Take a cut into fewer subtrees, or more rows.",
                code="too-few-rows",
                needed=needed,
                n_rows=int(n_rows.max()),
            )
        group = np.repeat(np.arange(self.n_groups), n_rows)
        own = group_quantiles(self.score, group, self.n_groups, alpha)
        if self.terms.per == "subtree":
            return own
        pooled = quantile(self.score, alpha)
        return np.where(self.promised(alpha), own, pooled)

    def answers(
        self, tree: Tree, scores: ClassScores, alpha: float, progress: Progress = silent
    ) -> NodeAnswers:
        """The nodes of each row. Raises UsageError as `thresholds`.

        O(n (n_classes + depth)), of sets O(n n_nodes).
        """
        classes = ClassTree.of(tree, self.node)
        thresholds = self.thresholds(alpha)
        counts, nodes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        masses: list[Float] = [np.zeros(0)]
        for probability, chosen in probability_blocks(scores, self.temperature, tree.n_nodes):
            progress(chosen.stop / scores.n_rows, "answering")
            rows = TreeProbabilities.of(classes, probability)
            start, node = self._nodes(rows, probability, thresholds)
            count = np.diff(start)
            row = np.repeat(np.arange(rows.n_rows), count)
            counts.append(count)
            nodes.append(node)
            masses.append(np.bincount(row, rows.mass(row, node), rows.n_rows).astype(np.float64))
        start = np.append(0, np.cumsum(np.concatenate(counts)))
        node = np.concatenate(nodes)
        row = np.repeat(np.arange(scores.n_rows), np.diff(start))
        depth = np.full(scores.n_rows, np.iinfo(np.int64).max)
        np.minimum.at(depth, row, tree.depth[node])
        n_classes = np.bincount(row, classes.n_under[node], scores.n_rows).astype(np.int64)
        return NodeAnswers(start, node, depth, n_classes, np.concatenate(masses))

    def _nodes(
        self, rows: TreeProbabilities, probability: Float, thresholds: Float
    ) -> tuple[Int, Int]:
        per = self.terms.per
        if per == "subtree":
            # A row under no node of the cut is in the last group, which has no threshold.
            group = groups_at(rows.classes.tree, rows, self.cut)
            thresholds = np.append(thresholds, np.inf)[group]
        if self.terms.answer == "set":
            score = class_scores(probability, self.terms.score)
            limit = thresholds[:, None] if per == "subtree" else thresholds
            return fewest_nodes(rows.classes, class_sets(probability, score, limit))
        if per == "class":
            node = answers_by_class(rows, thresholds)
        else:
            node = answers(rows, thresholds if per == "subtree" else float(thresholds[0]))
        return np.arange(rows.n_rows + 1), node


def probability_blocks(
    scores: ClassScores, temperature: float, n_nodes: int
) -> Iterator[tuple[Float, slice]]:
    """(n, n_classes) probabilities of consecutive rows, and which rows they are."""
    for rows in row_blocks(scores.n_rows, max(scores.n_classes, n_nodes), BLOCK):
        yield probabilities(scores.read(rows.start, rows.stop), temperature), rows


def probabilities(scores: Array, temperature: float) -> Float:
    """(n, n_classes) softmax of the scores at a temperature."""
    return np.exp(log_softmax(scores / temperature))
