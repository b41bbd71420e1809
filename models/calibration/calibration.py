"""A calibration: what it promises, its thresholds, and the answers that it gives to new rows.

All scores are kept, so that any alpha has its own threshold. Thresholds of groups:

- `all`: one.
- `subtree`: one for each node of a cut. With too few rows it is infinite, and its rows are answered
  by the root, which keeps the promise.
- `class`: one for each class. Too few rows would need the root wherever such a class is not under
  the answer, so these classes have the threshold of all rows, and no promise of their own.

The threshold is the exact one of split conformal prediction. Given n exchangeable scores and one
more, the latter is at most the k-th smallest of the n with probability at least k / (n + 1),
whatever the ties; k = ceil((n + 1)(1 - alpha)) is the smallest that keeps the promise (Vovk,
Gammerman and Shafer, "Algorithmic learning in a random world", 2005; Angelopoulos and Bates,
"Conformal prediction: a gentle introduction", 2023). Without ties, the share of new rows that are
held, given the calibration rows, follows Beta(k, n + 1 - k). Groups with thresholds of their own
(Mondrian) have the promise each: groups by label for every class, groups by what is predicted for
every such prediction.

Or an expected loss is kept under a bound. Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal
risk control", ICLR 2024: the smallest threshold with n / (n + 1) R(q) + B / (n + 1) <= alpha, R the
mean loss of the n rows and B the largest possible loss, keeps the expected loss of a new row at
most alpha. That needs a loss which never rises while the answer climbs; the two here are made so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from models.answers.beside_tree import ClassScores
from models.arrays import Array, Float, Int, Mask, row_blocks
from models.calibration.climbing import (
    LEAF,
    ClassTree,
    SetScore,
    TreeProbabilities,
    answers,
    answers_by_class,
    class_scores,
    class_sets,
    fewest_nodes,
    groups_at,
    steps_of,
)
from models.errors import UsageError
from models.numerics.rows import log_softmax
from models.parameters import Exact
from models.running.progress import Progress, silent
from models.tree.tree import Tree

Loss = Literal["miss", "distance", "cost"]
Per = Literal["all", "subtree", "class"]
Answer = Literal["node", "set"]


class CalibrationTerms(Exact):
    """The promise, and how rows are split."""

    loss: Loss = Field(
        "miss",
        description="What is kept under `alpha`. `miss`: the probability that an answer does not "
        "hold the true class. `distance`: the expected number of edges from the answer up to the "
        "node that does. `cost`: the expected cost of the true class for the class under the "
        "answer that it is cheapest taken for, by `costs`.",
    )
    per: Per = Field(
        "all",
        description="For whom it holds. `all`: over all rows. `subtree`: for the rows whose most "
        "probable class lies under each node of `cut`. `class`: for the rows of each true class "
        "that has enough of them.",
    )
    answer: Answer = Field(
        "node",
        description="`node`: the deepest node on the path of the most probable class. `set`: the "
        "fewest nodes that together are a set of classes.",
    )
    score: SetScore = Field(
        "lac",
        description="For `set`: which classes are in it. `lac`: classes of at least some "
        "probability; the smallest sets. `aps`: the most probable ones up to some sum; rows that "
        "are hard get larger sets.",
    )
    alpha: float = Field(
        0.1,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="For `miss` a probability below 1; else a number of edges, or a cost. "
        "Predictions may ask for another.",
    )
    temperature: Literal["fit"] | float = Field(
        "fit",
        description="What scores are divided by before they become probabilities. `fit`: the one "
        "of largest likelihood, by rows that then set no threshold. A number: this one.",
    )
    temperature_share: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="The share of the labelled rows, drawn by `seed`, that fit the temperature.",
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of this draw.")

    @model_validator(mode="after")
    def _possible(self) -> CalibrationTerms:
        given = self.model_fields_set
        if self.loss == "miss" and self.alpha >= 1:
            raise ValueError(f"alpha is {self.alpha:g}; the probability of a miss is below 1")
        if self.loss != "miss" and (self.per != "all" or self.answer != "node"):
            raise ValueError(f"the loss {self.loss} is kept over all rows, by single nodes alone")
        if self.answer != "set" and "score" in given:
            raise ValueError("score is that of sets: give `answer` set too")
        if self.temperature != "fit" and not 2.0**-10 <= self.temperature <= 2.0**10:
            raise ValueError("temperature is 'fit' or a number from 1/1024 to 1024")
        if self.temperature != "fit" and given & {"temperature_share", "seed"}:
            raise ValueError("a temperature that is given needs no rows: leave out its share, seed")
        return self


def distance_losses(classes: ClassTree) -> Float:
    """(n_classes, n_nodes) edges that an answer must climb until it holds a class.

    At most the depth of the tree. O(n_classes n_nodes) time and memory.
    """
    loss = np.zeros((classes.n_classes, classes.tree.n_nodes))
    place = np.empty(classes.n_classes, dtype=np.int64)
    place[classes.order] = np.arange(classes.n_classes)
    for node in range(1, classes.tree.n_nodes):
        holds = (place >= classes.start[node]) & (place < classes.end[node])
        loss[:, node] = np.where(holds, 0.0, loss[:, classes.tree.parent[node]] + 1)
    return loss


def cost_losses(classes: ClassTree, costs: Array) -> Float:
    """(n_classes, n_nodes) the least cost, for a class, of the classes under a node.

    costs : (n_classes, n_classes), `costs[i, j]` of class i taken for j; finite, not negative, 0 on
    the diagonal. Infinite at nodes without classes, which no row is answered by. O(n_classes
    n_nodes) time and memory. Raises UsageError for other costs.
    """
    n = classes.n_classes
    if costs.shape != (n, n):
        raise UsageError(f"Costs are {n} x {n}, one row a class; these are {costs.shape}.")
    if not np.isfinite(costs).all() or (costs < 0).any() or np.diagonal(costs).any():
        raise UsageError("Costs are finite, not negative, and 0 from a class to itself.")
    loss = np.full((n, classes.tree.n_nodes), np.inf)
    for each, node in enumerate(classes.node.tolist()):
        loss[:, node] = np.minimum(loss[:, node], costs[:, each])
    for node in range(classes.tree.n_nodes - 1, 0, -1):
        up = classes.tree.parent[node]
        loss[:, up] = np.minimum(loss[:, up], loss[:, node])
    return loss


@dataclass(frozen=True, slots=True)
class RiskCurve:
    """The loss of calibration rows at every threshold, from which any bound has its own.

    threshold : (n_steps,) rising; answers change there. total : (n_steps + 1,) loss of all rows
    before the first step and after each. worst : the largest loss of any answer. n_rows : rows.
    """

    threshold: Float
    total: Float
    worst: float
    n_rows: int

    @classmethod
    def of(
        cls, blocks: Iterable[tuple[TreeProbabilities, Int]], classes: ClassTree, loss: Float
    ) -> RiskCurve:
        """blocks : rows with their classes. loss : (n_classes, n_nodes), not rising towards the
        root, 0 at the root. O(n depth log(n depth)).
        """
        parent = classes.tree.parent
        at, drop = [np.zeros(0)], [np.zeros(0)]
        n_rows = 0
        for rows, label in blocks:
            n_rows += rows.n_rows
            for row, node, mass in rows.steps():
                fall = loss[label[row], node] - loss[label[row], parent[node]]
                falls = fall > 0
                at.append(mass[falls])
                drop.append(fall[falls])
        every = np.concatenate(at)
        order = np.argsort(every, kind="stable")
        # Summed from the root, where nothing is lost.
        left = np.append(np.cumsum(np.concatenate(drop)[order][::-1])[::-1], 0.0)
        threshold, stop = steps_of(every[order], classes.n_classes)
        # Only nodes with classes can be an answer.
        worst = float(loss[:, classes.n_under > 0].max(initial=0.0))
        return cls(threshold, left[np.append(0, stop)], worst, n_rows)

    def threshold_at(self, bound: float) -> float:
        """The smallest threshold at which the expected loss of a new row is at most the bound.

        Raises UsageError for a bound that is not above 0, and `too-few-rows` with the number
        needed, where not even the root keeps the promise.
        """
        if not (np.isfinite(bound) and bound > 0):
            raise UsageError(
                f"alpha is {bound}; as the bound of a loss it is above 0.",
                code="invalid-parameter",
                parameter="alpha",
            )
        if self.worst > bound * (self.n_rows + 1):
            needed = ceil(self.worst / bound) - 1
            raise UsageError(
                f"To keep a loss of up to {self.worst:g} under {bound:g} takes at least {needed} "
                f"calibration rows; there are {self.n_rows}.",
                code="too-few-rows",
                needed=needed,
                n_rows=self.n_rows,
            )
        first = int(np.argmax(self.total + self.worst <= bound * (self.n_rows + 1)))
        return LEAF if first == 0 else float(self.threshold[first - 1])


def exact_alpha(alpha: float) -> Fraction:
    """The decimal exactly as written: 0.1 is a tenth, so that no rounding moves the rank.

    Raises UsageError outside (0, 1).
    """
    if not 0 < alpha < 1:
        raise UsageError(
            f"alpha is {alpha}; it is a probability above 0 and below 1.",
            code="invalid-parameter",
            parameter="alpha",
        )
    return Fraction(repr(float(alpha)))


def fewest_rows(alpha: float) -> int:
    """The fewest calibration rows with which a threshold is finite: ceil(1 / alpha) - 1."""
    return ceil(1 / exact_alpha(alpha)) - 1


def rank(n_rows: int, alpha: float) -> int:
    """ceil((n + 1)(1 - alpha)), computed exactly; above n if there are too few rows."""
    return n_rows + 1 - floor((n_rows + 1) * exact_alpha(alpha))


def quantile(scores: Float, alpha: float) -> float:
    """The score of that rank.

    Raises UsageError `too-few-rows` if there are fewer rows than alpha needs.
    """
    n_rows = scores.shape[0]
    place = rank(n_rows, alpha)
    if place > n_rows:
        needed = fewest_rows(alpha)
        raise UsageError(
            f"alpha {alpha} needs at least {needed} calibration rows; there are {n_rows}.",
            code="too-few-rows",
            needed=needed,
            n_rows=n_rows,
        )
    return float(np.partition(scores, place - 1)[place - 1])


def group_quantiles(scores: Float, group: Int, n_groups: int, alpha: float) -> Float:
    """(n_groups,) threshold of each group; infinite for groups with too few rows.

    group : (n,) group of each row, -1 for none. An infinite threshold keeps the promise by the
    root alone. O(n log n).
    """
    needed = fewest_rows(alpha)
    threshold = np.full(n_groups, np.inf)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    for each in range(n_groups):
        members = scores[order[bounds[each] : bounds[each + 1]]]
        if members.shape[0] >= needed:
            threshold[each] = quantile(members, alpha)
    return threshold


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
