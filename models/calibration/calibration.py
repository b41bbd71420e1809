"""A calibration: what it promises, its thresholds, and the answers that it gives to new rows.

All scores are kept, so that any alpha has its own threshold. Thresholds of groups:

- `all`: one.
- `subtree`: one for each node of a cut. With too few rows it is infinite, and its rows are answered
  by the root, which keeps the promise.
- `class`: one for each class. Classes with too few rows share one with those nearest in the tree
  (`sharing`), and the promise for their rows together. Where even all of these are too few, they
  have the threshold of all rows, and no promise.

The threshold is the exact one of split conformal prediction. Given n exchangeable scores and one
more, the latter is at most the k-th smallest of the n with probability at least k / (n + 1),
whatever the ties; k = ceil((n + 1)(1 - alpha)) is the smallest that keeps the promise (Vovk,
Gammerman and Shafer, "Algorithmic learning in a random world", 2005; Angelopoulos and Bates,
"Conformal prediction: a gentle introduction", 2023). Without ties, the share of new rows that are
held, given the calibration rows, follows Beta(k, n + 1 - k). Groups with thresholds of their own
(Mondrian) have the promise each: groups by label for every class, groups by what is predicted for
every such prediction.

Or an expected loss is kept under a bound (`losses`), or answers are the cheapest at `prices`
(`pricing`). Where a drift says how shares moved, one threshold holds for these (`shifts`); after
rows whose classes became known, the level follows them (`following`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from math import ceil, floor
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from models.answers.beside_tree import ClassScores
from models.arrays import Float, Int, Mask
from models.calibration.climbing import (
    ClassTree,
    SetScore,
    TreeProbabilities,
    answers,
    answers_by_class,
    bounded_scores,
    class_scores,
    class_sets,
    fewest_nodes,
    groups_at,
    sized_scores,
)
from models.calibration.following import Following
from models.calibration.losses import RiskCurve
from models.calibration.pricing import CONFIDENCE, Prices, cheapest
from models.calibration.probabilities import probability_blocks
from models.calibration.relearning import Relearning
from models.calibration.sharing import ClassGroups
from models.calibration.shifts import Shift, least_threshold, missed, shifted_threshold
from models.errors import UsageError
from models.parameters import Exact
from models.running.progress import Progress, silent
from models.tree.tree import Tree

Loss = Literal["miss", "distance", "cost", "price"]
Per = Literal["all", "subtree", "class"]
Answer = Literal["node", "set"]


class CalibrationTerms(Exact):
    """The promise, and how rows are split."""

    loss: Loss = Field(
        "miss",
        description="What is kept under `alpha`. `miss`: the probability that an answer does not "
        "hold the true class. `distance`: the expected edges from the answer up to the node that "
        "does. `cost`: the expected cost of the class under it that is cheapest, by `costs`. "
        "`price`: answers are the cheapest by `prices`.",
    )
    per: Per = Field(
        "all",
        description="For whom it holds. `all`: over all rows. `subtree`: for rows whose most "
        "probable class lies under each node of `cut`. `class`: for rows of each true class; those "
        "with few rows share it with those nearest in the tree.",
    )
    answer: Answer = Field(
        "node",
        description="`node`: the deepest node on the path of the most probable class. `set`: the "
        "fewest nodes that together are a set of classes.",
    )
    score: SetScore = Field(
        "lac",
        description="For `set`. `lac`: classes of at least some probability; the smallest. "
        "`aps`: the most probable ones up to some sum; larger for hard rows.",
    )
    most_nodes: int | None = Field(
        None, ge=1, le=1000, description="For `set`: the most nodes of a set."
    )
    prices: Prices | None = Field(None, description="For `loss` price.")
    shift: Shift | None = Field(
        None,
        description="With `drift`, what moved: where `rows` are placed, or how often `classes` "
        "come.",
    )
    abstains: bool = Field(
        False,
        description="For `set`: no nodes where no class is likely enough. Else the likeliest is "
        "always held.",
    )
    relearn: bool = Field(
        False,
        description="Combine probabilities with discriminants of them, which the rows of the "
        "temperature teach.",
    )
    alpha: float = Field(
        0.1,
        gt=0,
        le=1e9,
        allow_inf_nan=False,
        description="For `miss` below 1; else edges, or a cost. Predictions may ask for another.",
    )
    temperature: Literal["fit"] | float = Field(
        "fit",
        description="What scores are divided by. `fit`: the likeliest, by rows that then set no "
        "threshold.",
    )
    temperature_share: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="Share of labelled rows, drawn by `seed`, that fit the temperature; by class "
        "at least.",
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of this draw.")

    @model_validator(mode="after")
    def _possible(self) -> CalibrationTerms:
        given = self.model_fields_set
        if self.loss == "miss" and self.alpha >= 1:
            raise ValueError(f"alpha is {self.alpha:g}; the probability of a miss is below 1")
        if self.loss != "miss" and (self.per != "all" or self.answer != "node"):
            raise ValueError(f"the loss {self.loss} is kept over all rows, by single nodes alone")
        if (self.prices is None) == (self.loss == "price"):
            raise ValueError("prices are for the loss price alone, which needs them")
        if self.loss == "price" and "alpha" in given:
            raise ValueError("alpha is no bound of the loss price: leave it out")
        if self.shift is not None and (self.loss != "miss" or self.per != "all"):
            raise ValueError("a shift is for the loss miss over all rows; `per` class needs none")
        of_sets = given & {"score", "most_nodes", "abstains"}
        if self.answer != "set" and of_sets:
            raise ValueError(f"{sorted(of_sets)[0]} is that of sets: give `answer` set too")
        if self.temperature != "fit" and not 2.0**-10 <= self.temperature <= 2.0**10:
            raise ValueError("temperature is 'fit' or a number from 1/1024 to 1024")
        if self.temperature != "fit" and self.relearn:
            raise ValueError("relearn needs the rows that fit a temperature: leave it 'fit'")
        if self.temperature != "fit" and given & {"temperature_share", "seed"}:
            raise ValueError("a temperature that is given needs no rows: leave out its share, seed")
        return self


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


def _written(value: float) -> str:
    """All digits: a rounded promise would be another one."""
    return repr(float(value)).removesuffix(".0")


def _rounded_up(value: float) -> str:
    """Four digits, never below the value: a bound that is rounded down is none."""
    return f"{Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(value):g}"


def fewest_rows(alpha: float) -> int:
    """The fewest calibration rows with which a threshold is finite: ceil(1 / alpha) - 1."""
    return ceil(1 / exact_alpha(alpha)) - 1


def rank(n_rows: int, alpha: float) -> int:
    """ceil((n + 1)(1 - alpha)), computed exactly; above n if there are too few rows."""
    return n_rows + 1 - floor((n_rows + 1) * exact_alpha(alpha))


def enough_rows(n_rows: Int, alpha: float) -> Int:
    """(n,) the fewest rows with as many misses allowed as so many rows allow, floor((n + 1) alpha):
    their threshold holds 1 - alpha of new rows, where that of more would hold up to alpha more."""
    exact = exact_alpha(alpha)
    found = [ceil(floor((n + 1) * exact) / exact) - 1 for n in n_rows.tolist()]
    return np.maximum(np.array(found, dtype=np.int64), 0)


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


@dataclass(frozen=True, slots=True)
class NodeAnswers:
    """Nodes that hold the true class, as promised.

    start, node : row i has nodes `node[start[i]:start[i + 1]]`, none where it abstains. depth :
    (n_rows,) edges from the root to the highest of them, -1 without one. n_classes : (n_rows,)
    classes under them. mass : (n_rows,) their probability. promise : what holds, in words.
    """

    start: Int
    node: Int
    depth: Int
    n_classes: Int
    mass: Float
    promise: str


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A fitted calibration.

    terms : the promise. temperature : what scores are divided by. node : (n_classes,) of each
    class. start, score : group g has the scores `score[start[g]:start[g + 1]]`, ascending; none
    where a risk is controlled. cut : (n_groups,) the nodes of subtrees; else empty. by_edges : as
    of `ClassScores`. risk : the losses, where they are controlled. parent : (n_nodes,) of the tree,
    by which classes share thresholds; empty where they do not. relearning : what rows taught.
    share : (n_groups,) of new rows in each region of a drift; groups are regions then. following :
    what rows given afterwards moved. cost : of rows at `prices`, their mean and its bound.
    by_size : whether bounded sets are by `sized_scores`, as in all but earlier versions.
    """

    terms: CalibrationTerms
    temperature: float
    node: Int
    start: Int
    score: Float
    cut: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    by_edges: bool = False
    risk: RiskCurve | None = None
    parent: Int = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    relearning: Relearning | None = None
    share: Float = field(default_factory=lambda: np.zeros(0))
    following: Following | None = None
    cost: tuple[float, float] | None = None
    by_size: bool = True

    @property
    def n_groups(self) -> int:
        return int(self.start.shape[0]) - 1

    @property
    def has_ranks(self) -> bool:
        """Whether each group has a threshold that is the quantile of its scores."""
        return self.terms.loss == "miss" and not self.share.size and self.following is None

    @property
    def n_rows_of_group(self) -> Int:
        """(n_groups,) calibration rows."""
        return np.diff(self.start)

    def groups(self, alpha: float) -> ClassGroups:
        """Groups whose scores set one threshold together: classes share one, other groups do not.

        Meaningless where a risk is controlled.
        """
        fewest, n_rows = fewest_rows(alpha), self.n_rows_of_group
        if self.terms.per == "class" and self.parent.size:
            return ClassGroups.below_nodes(self.parent, self.node, n_rows, fewest)
        own = np.flatnonzero(n_rows >= fewest)
        of = np.full(self.n_groups, -1, dtype=np.int64)
        of[own] = np.arange(own.size)
        nodes = {"all": np.zeros(1, dtype=np.int64), "class": self.node}
        at = nodes.get(self.terms.per, self.cut)
        return ClassGroups(of, np.where(of >= 0, at, -1), list(own[:, None]))

    def promised(self, alpha: float) -> Mask:
        """(n_groups,) whether a group has a promise, its own or shared, that says more than the
        root."""
        if not self.has_ranks:
            return np.ones(1 if self.risk is not None else self.n_groups, dtype=np.bool_)
        enough: Mask = self.groups(alpha).of >= 0
        return enough

    def held(self, alpha: float) -> tuple[Float, Float, Float]:
        """(n_groups,) the share of new rows of each group that is held on average, k / (n + 1), and
        the ends of the interval that holds it with 95 % given the calibration rows: Beta(k, n + 1 -
        k). All are lower bounds where scores tie, and NaN without a promise.
        """
        from scipy.special import betaincinv

        groups = self.groups(alpha)
        n_rows = np.array([self.n_rows_of_group[own].sum() for own in groups.members], dtype=float)
        place = np.array([rank(int(n), alpha) for n in n_rows.tolist()], dtype=float)
        ends = (betaincinv(place, n_rows + 1 - place, end) for end in (0.025, 0.975))
        low, high = (np.append(each, np.nan)[groups.of] for each in ends)
        return np.append(place / (n_rows + 1), np.nan)[groups.of], low, high

    def promise(self, alpha: float) -> str:
        """What holds of answers at a bound, in words."""
        terms = self.terms
        if self.cost is not None:
            mean, most = self.cost
            return (
                f"Costs {mean:.4g} a row on average over {self.score.size} rows, at most "
                f"{_rounded_up(most)} over all rows like them (confidence {CONFIDENCE})."
            )
        if terms.loss != "miss":
            what = "edges up to the class" if terms.loss == "distance" else "cost"
            return f"At most {_written(alpha)} expected: {what}."
        kept = _written(float(1 - exact_alpha(alpha)))
        if self.following is not None:
            own = self.following
            return (
                f"In the long run holds {kept} of the rows whose classes are given afterwards, "
                f"whatever they are: misses at most {ceil(own.surplus)} more, while no more are "
                f"given at once than so far. So far {own.n_missed} of {own.n_rows} missed. No "
                "promise for a single row."
            )
        text = f"Holds the class with probability at least {kept}"
        if terms.shift is not None:
            of = "rows are placed" if terms.shift == "rows" else "classes come"
            return f"{text} where {of} as in the drift's batch, and are otherwise as before."
        if terms.per == "all":
            return f"{text}."
        promised = self.promised(alpha)
        of = "each class" if terms.per == "class" else "each subtree"
        if terms.per == "class" and (self.n_rows_of_group < fewest_rows(alpha))[promised].any():
            of = "each class, or of those that share a threshold"
        some = "" if promised.all() else f" ({int(promised.sum())} of {promised.size})"
        return f"{text}, for rows of {of}{some}."

    def thresholds(self, alpha: float) -> Float:
        """(n_groups,) threshold of each group.

        Raises UsageError for an alpha that is none, and `too-few-rows` with the number needed.
        """
        if self.risk is not None:
            return np.array([self.risk.threshold_at(alpha)])
        if self.terms.loss == "price":
            if alpha != self.terms.alpha:
                raise UsageError(
                    "Answers at prices have no bound alpha.",
                    code="invalid-parameter",
                    parameter="alpha",
                )
            return np.array([np.inf])
        if self.following is not None:
            return np.array([self._followed(alpha)])
        if self.share.size:
            return np.array([shifted_threshold(self.start, self.score, self.share, alpha)])
        needed, n_rows = fewest_rows(alpha), self.n_rows_of_group
        if self.terms.per == "subtree" and n_rows.max() < needed:
            raise UsageError(
                f"alpha {alpha:g} needs at least {needed} calibration rows in a subtree; the "
                f"largest has {n_rows.max()}. Take a cut into fewer subtrees, or more rows.",
                code="too-few-rows",
                needed=needed,
                n_rows=int(n_rows.max()),
            )
        if self.terms.per == "subtree":
            group = np.repeat(np.arange(self.n_groups), n_rows)
            return group_quantiles(self.score, group, self.n_groups, alpha)
        groups, start = self.groups(alpha), self.start
        of_groups = [
            quantile(
                np.concatenate([self.score[start[one] : start[one + 1]] for one in own.tolist()]),
                alpha,
            )
            for own in groups.members
        ]
        return np.append(of_groups, quantile(self.score, alpha))[groups.of]

    @property
    def cap(self) -> float:
        """The level from which the threshold of all rows is the least."""
        share = self.share if self.share.size else np.ones(1)
        return min(1.0, float(missed(self.start, self.score, share)[1][0]))

    def _followed(self, alpha: float) -> float:
        """The threshold at the level that rows given afterwards moved to."""
        assert self.following is not None
        if alpha != self.terms.alpha:
            raise UsageError(
                f"The calibration follows rows at alpha {self.terms.alpha:g} alone, not at "
                f"{alpha:g}.",
                code="invalid-parameter",
                parameter="alpha",
            )
        level = self.following.level
        if level <= 0:
            return float("inf")
        if level >= self.cap:
            return float(self.score.min())
        share = self.share if self.share.size else np.ones(1)
        return least_threshold(self.start, self.score, share, level)

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
        scores, temperature = self.scored(scores)
        for probability, chosen in probability_blocks(scores, temperature, tree.n_nodes):
            progress(chosen.stop / scores.n_rows, "answering")
            rows = TreeProbabilities.of(classes, probability)
            start, node = self.nodes(rows, probability, thresholds)
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
        depth[np.diff(start) == 0] = -1
        n_classes = np.bincount(row, classes.n_under[node], scores.n_rows).astype(np.int64)
        promise = self.promise(alpha)
        return NodeAnswers(start, node, depth, n_classes, np.concatenate(masses), promise)

    def scored(self, scores: ClassScores) -> tuple[ClassScores, float]:
        """The scores that answers are by, and their temperature."""
        if self.relearning is None:
            return scores, self.temperature
        return self.relearning.applied(scores), 1.0

    def nodes(
        self, rows: TreeProbabilities, probability: Float, thresholds: Float
    ) -> tuple[Int, Int]:
        """Row i is answered by `node[start[i]:start[i + 1]]`; thresholds : (n_groups,)."""
        per, prices = self.terms.per, self.terms.prices
        if prices is not None:
            best = cheapest(rows, prices)
            return np.append(0, np.cumsum(best >= 0)), best[best >= 0]
        if per == "subtree":
            # A row under no node of the cut is in the last group, which has no threshold.
            group = groups_at(rows.classes.tree, rows, self.cut)
            thresholds = np.append(thresholds, np.inf)[group]
        if self.terms.answer == "set":
            score = set_scores(self.terms, rows.classes, probability, self.by_size)
            limit = thresholds[:, None] if per == "subtree" else thresholds
            within = class_sets(probability, score, limit, abstains=self.terms.abstains)
            if per == "class" and self.terms.most_nodes is not None:
                # By thresholds that differ, classes need not enter in the order of their scores.
                alone = np.where(within, 0.0, 1.0)
                within = bounded_scores(rows.classes, alone, self.terms.most_nodes) <= 0.0
            return fewest_nodes(rows.classes, within)
        if per == "class":
            node = answers_by_class(rows, thresholds)
        else:
            node = answers(rows, thresholds if per == "subtree" else float(thresholds[0]))
        return np.arange(rows.n_rows + 1), node


def set_scores(
    terms: CalibrationTerms, classes: ClassTree, probability: Float, by_size: bool = True
) -> Float:
    """(n, n_classes) the score of each class for sets. by_size : as of `Calibration`."""
    most = terms.most_nodes
    if most is None:
        return class_scores(probability, terms.score)
    if by_size and terms.score == "lac":
        return sized_scores(classes, probability, most, alone=terms.per == "class")
    return bounded_scores(classes, class_scores(probability, terms.score), most)
