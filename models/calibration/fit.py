"""A calibration fitted to rows with known classes that the model has not seen.

One temperature for all logits, and discriminants where `relearn` is set, are fitted to some of the
rows, drawn by the seed. Only the others set thresholds: a guarantee of conformal prediction needs
scores that treat calibration rows and new rows alike.

`selective_curve` gives what every threshold would answer, and how often that is wrong. The idea is
the curve of risk and coverage of Goren, Galil and El-Yaniv (NeurIPS 2024); the two axes are defined
here. The coverage of an answer is the share of the information that it gives, 1 - log(classes under
the node) / log(classes). The error is the share of all rows, not of the coverage, whose answer does
not hold the label; the root is never wrong, so it falls from that of the most probable classes to
0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from models.answers.beside_tree import ClassScores
from models.arrays import Array, Float, Int
from models.calibration.calibration import (
    Calibration,
    CalibrationTerms,
    enough_rows,
    fewest_rows,
    set_scores,
)
from models.calibration.climbing import (
    LEAF,
    ClassTree,
    TreeProbabilities,
    groups_at,
    scores,
    steps_of,
)
from models.calibration.climbing import scores as node_scores
from models.calibration.following import Following
from models.calibration.losses import RiskCurve, cost_losses, distance_losses
from models.calibration.pricing import Prices, cheapest, cost_bound
from models.calibration.pricing import costs as row_costs
from models.calibration.probabilities import BLOCK, probability_blocks
from models.calibration.relearning import Relearning
from models.calibration.shifts import Regions, Shift, class_shares, left_out
from models.calibration.temperature import Temperature, fitted_temperature
from models.errors import UsageError, listed
from models.running import budget
from models.running.progress import Progress, silent
from models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class SelectiveCurve:
    """Rising thresholds, and what each answers.

    threshold, coverage, error, depth : (n_steps,) the threshold, the mean share of information, the
    share of wrong answers, the mean depth of answers. area : under the error as a function of the
    coverage, over the coverages reached; smaller is better.
    """

    threshold: Float
    coverage: Float
    error: Float
    depth: Float
    area: float

    def thinned(self, most: int) -> SelectiveCurve:
        """The curve at so many of its thresholds, the first and last included; its area stays."""
        n_steps = self.threshold.shape[0]
        if n_steps <= most:
            return self
        kept = np.unique(np.linspace(0, n_steps - 1, most).round().astype(np.int64))
        return SelectiveCurve(
            self.threshold[kept],
            self.coverage[kept],
            self.error[kept],
            self.depth[kept],
            self.area,
        )


def selective_curve(
    blocks: Iterable[tuple[TreeProbabilities, Int]], classes: ClassTree
) -> SelectiveCurve:
    """The curve over all thresholds at which an answer changes by more than rounding.

    blocks : rows with their classes, at least one row. O(n depth log(n depth)) time, O(n depth)
    memory.
    """
    tree = classes.tree
    under = np.maximum(classes.n_under, 1)
    whole = np.log(under[0])
    share = 1 - np.log(under) / whole if whole > 0 else np.zeros(tree.n_nodes)
    others = classes.has_others
    at, gain, fall, score = ([np.zeros(0)] for _ in range(4))
    n_rows, most, deepest = 0, 0.0, 0.0
    for rows, label in blocks:
        n_rows += rows.n_rows
        most += float(share[rows.leaf].sum())
        deepest += float(tree.depth[rows.leaf].sum())
        score.append(scores(rows, label))
        # Edges that bring no class are climbed together with the next that does.
        pending_share = share[rows.leaf].copy()
        pending_depth = tree.depth[rows.leaf].astype(np.float64)
        for row, node, mass in rows.steps():
            climbs = others[node]
            row, up = row[climbs], tree.parent[node[climbs]]
            at.append(mass[climbs])
            gain.append(pending_share[row] - share[up])
            fall.append(pending_depth[row] - tree.depth[up])
            pending_share[row], pending_depth[row] = share[up], tree.depth[up]
    every = np.concatenate(at)
    order = np.argsort(every, kind="stable")
    threshold, stop = steps_of(every[order], classes.n_classes)
    taken = np.append(0, stop)
    lost = np.append(0.0, np.cumsum(np.concatenate(gain)[order]))
    climbed = np.append(0.0, np.cumsum(np.concatenate(fall)[order]))
    threshold = np.append(LEAF, threshold)
    coverage = (most - lost[taken]) / n_rows
    depth = (deepest - climbed[taken]) / n_rows
    rank = np.searchsorted(np.sort(np.concatenate(score)), threshold, side="right")
    error = (n_rows - rank) / n_rows
    area = float(-np.trapezoid(error, coverage))
    return SelectiveCurve(threshold, coverage, error, depth, area)


ADVICE = "Give fewer rows, or a smaller `temperature_share`; of costs and distances fewer classes."


@dataclass(frozen=True, slots=True)
class FittedCalibration:
    """A calibration and how it came about.

    temperature : None where it was given. curve : of the rows that set thresholds. n_rows,
    n_temperature, n_unlabelled : rows that set thresholds, that fit the temperature, that have no
    label.
    """

    calibration: Calibration
    temperature: Temperature | None
    curve: SelectiveCurve
    sizes: AnswerSizes
    n_rows: int
    n_temperature: int
    n_unlabelled: int
    warnings: tuple[str, ...]


def fitted_calibration(
    tree: Tree,
    scores: ClassScores,
    label: Int,
    terms: CalibrationTerms,
    *,
    cut: Int | None = None,
    costs: Array | None = None,
    regions: Regions | None = None,
    placed: Int | None = None,
    progress: Progress = silent,
) -> FittedCalibration:
    """label : (n_rows,) the class of each row, -1 where it is unknown. cut : nodes that cover all
    leaves, for subtrees. costs : as of `cost_losses`. regions, placed : of a `shift`: the drift's,
    and (n_rows,) the node where each row is placed.

    Raises UsageError `too-few-rows` with the number needed, `too-large`, and for wrong costs.
    O(n n_classes) for each of 60 steps of the temperature, O(n (n_classes + depth log(n depth))).
    """
    classes = ClassTree.of(tree, scores.node)
    labelled = np.flatnonzero(label >= 0)
    n_temperature = _n_temperature(labelled.shape[0], terms)
    n_rows = labelled.shape[0] - n_temperature
    _require_memory(tree, scores.n_classes, n_rows, n_temperature, terms)
    loss = _losses(classes, terms, costs)
    _require_rows(labelled.shape[0], _needed(classes, terms, loss), terms)
    order = np.random.default_rng(terms.seed).permutation(labelled)
    fitting, setting = np.sort(order[:n_temperature]), np.zeros(scores.n_rows, dtype=np.bool_)
    by_class = None if terms.per != "class" else _drawn_by_class(order, label, terms)
    if by_class is not None:
        fitting, n_temperature = by_class, by_class.size
        n_rows = labelled.size - n_temperature
    setting[np.setdiff1d(labelled, fitting)] = True
    progress(0.1, "fitting the temperature")
    temperature = None
    if terms.temperature == "fit":
        temperature = fitted_temperature(_taken(scores, fitting), label[fitting])
        value = temperature.value
    else:
        value = float(terms.temperature)
    relearning = None
    used, at = scores, value
    if terms.relearn:
        rng = np.random.default_rng([terms.seed, 1])
        share = np.bincount(label[labelled], minlength=scores.n_classes) / labelled.size
        relearning = Relearning.of(_taken(scores, fitting), label[fitting], value, rng, share)
        used, at = relearning.applied(scores), 1.0

    def blocks(begin: float, stage: str) -> Iterator[tuple[Float, Int]]:
        for probability, rows in probability_blocks(used, at, tree.n_nodes):
            progress(begin + 0.3 * rows.stop / scores.n_rows, stage)
            kept = setting[rows]
            if kept.any():
                yield probability[kept], label[rows][kept]

    def row_blocks(begin: float, stage: str) -> Iterator[tuple[TreeProbabilities, Int]]:
        for probability, own in blocks(begin, stage):
            yield TreeProbabilities.of(classes, probability), own

    curve = selective_curve(row_blocks(0.3, "measuring"), classes)
    unknown: tuple[str, ...] = ()
    if loss is not None:
        risk = RiskCurve.of(row_blocks(0.6, "scoring"), classes, loss)
        none = np.zeros(0)
        start = np.zeros(2, dtype=np.int64)
        calibration = Calibration(
            terms, value, scores.node, start, none, risk=risk, relearning=relearning
        )
    else:
        groups, share = None, np.zeros(0)
        if terms.shift is not None:
            assert regions is not None
            assert placed is not None
            groups, share, unknown = _moved(terms.shift, regions, placed, scores.node, label)
            groups, cut = groups[setting], regions.node
        calibration = replace(
            _scored(terms, value, scores, blocks(0.6, "scoring"), classes, cut, groups, share.size),
            relearning=relearning,
            share=share,
        )
        if by_class is not None:
            # Rows that are shared out by their labels are no draw of all: only promises of single
            # classes hold.
            calibration = replace(calibration, parent=np.zeros(0, dtype=np.int64))
        if terms.prices is not None:
            paid = np.concatenate(
                [
                    row_costs(rows, cheapest(rows, terms.prices), own, terms.prices)
                    for rows, own in row_blocks(0.7, "pricing")
                ]
            )
            most = terms.prices.most(int(tree.depth.max()))
            calibration = replace(calibration, cost=(float(paid.mean()), cost_bound(paid, most)))
    sizes = answer_sizes(calibration, classes, blocks(0.8, "answering"))
    return FittedCalibration(
        calibration,
        temperature,
        curve,
        sizes,
        n_rows,
        n_temperature,
        scores.n_rows - labelled.shape[0],
        (*_warnings(tree, calibration, temperature, label, setting), *unknown),
    )


def followed_calibration(
    earlier: Calibration, tree: Tree, scores: ClassScores, label: Int, progress: Progress = silent
) -> FittedCalibration:
    """The calibration after rows that it answered, whose classes became known (`following`).

    label : (n_rows,) the class of each row, -1 where it is unknown. Raises UsageError for
    calibrations of another promise than that of `miss` over all rows, without labelled rows, and
    `too-large`.
    O(n (n_classes + depth log(n depth))), of sets O(n n_nodes).
    """
    terms, known = earlier.terms, label >= 0
    if terms.loss != "miss" or terms.per != "all":
        raise UsageError(
            "Only calibrations of the loss miss over all rows can follow the rows that come.",
            code="wrong-input",
            role="after",
        )
    classes = ClassTree.of(tree, scores.node)
    _require_memory(tree, scores.n_classes, int(known.sum()), 0, terms)
    place = np.argsort(classes.order)
    used, at = earlier.scored(scores)
    thresholds = earlier.thresholds(terms.alpha)

    def blocks() -> Iterator[tuple[Float, Int]]:
        for probability, rows in probability_blocks(used, at, tree.n_nodes):
            progress(rows.stop / scores.n_rows, "answering")
            if known[rows].any():
                yield probability[known[rows]], label[rows][known[rows]]

    n_missed = 0
    for probability, own in blocks():
        rows = TreeProbabilities.of(classes, probability)
        start, node = earlier.nodes(rows, probability, thresholds)
        row = np.repeat(np.arange(rows.n_rows), np.diff(start))
        of = place[own[row]]
        inside = (of >= classes.start[node]) & (of < classes.end[node])
        n_missed += int((np.bincount(row, inside, rows.n_rows) == 0).sum())
    begun = earlier.following or Following.begun(terms.alpha, earlier.cap)
    calibration = replace(earlier, following=begun.after(terms.alpha, int(known.sum()), n_missed))
    n_unlabelled = int((~known).sum())
    rows_of = ((TreeProbabilities.of(classes, each), own) for each, own in blocks())
    return FittedCalibration(
        calibration,
        None,
        selective_curve(rows_of, classes),
        answer_sizes(calibration, classes, blocks()),
        calibration.score.size,
        0,
        n_unlabelled,
        (f"{n_unlabelled} row(s) are not labelled and were left out.",) if n_unlabelled else (),
    )


def _scored(
    terms: CalibrationTerms,
    temperature: float,
    scores: ClassScores,
    blocks: Iterator[tuple[Float, Int]],
    classes: ClassTree,
    cut: Int | None,
    region: Int | None,
    n_regions: int,
) -> Calibration:
    """The scores of the rows, by group. region : of each of the rows, with a shift."""
    every, groups = [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    nodes = np.zeros(0, dtype=np.int64) if cut is None else cut.astype(np.int64)
    for probability, label in blocks:
        rows = TreeProbabilities.of(classes, probability)
        if terms.answer == "node":
            every.append(node_scores(rows, label))
        else:
            of_class = set_scores(terms, classes, probability)[np.arange(rows.n_rows), label]
            if not terms.abstains:
                # The most probable class is in every set.
                of_class[probability.argmax(axis=1) == label] = LEAF
            every.append(of_class)
        if terms.per == "class":
            groups.append(label)
        elif terms.per == "subtree":
            groups.append(groups_at(classes.tree, rows, nodes))
        else:
            groups.append(np.zeros(rows.n_rows, dtype=np.int64))
    n_groups = {"all": 1, "class": classes.n_classes, "subtree": nodes.shape[0]}[terms.per]
    score, group = np.concatenate(every), np.concatenate(groups)
    if region is not None:
        n_groups, group = n_regions, region
    order = np.lexsort((score, group))
    order = order[group[order] >= 0]
    start = np.searchsorted(group[order], np.arange(n_groups + 1)).astype(np.int64)
    return Calibration(
        terms,
        temperature,
        scores.node,
        start,
        score[order],
        nodes,
        scores.by_edges,
        parent=classes.tree.parent.astype(np.int64),
    )


def _moved(
    shift: Shift, regions: Regions, placed: Int, node: Int, label: Int
) -> tuple[Int, Float, tuple[str, ...]]:
    """The region of each row, the regions' shares of new rows, and what these leave out."""
    at = regions.of[placed]
    if shift == "rows":
        return at, regions.n_batch / regions.n_batch.sum(), ()
    known = label >= 0
    true = np.where(known, regions.of[node[np.maximum(label, 0)]], 0)
    share = class_shares(at[known], true[known], regions.n_batch)
    return true, share, left_out(at[known], true[known], regions, regions.of[node])


@dataclass(frozen=True, slots=True)
class AnswerSizes:
    """What the rows that set thresholds are answered by.

    n_classes, low, high : mean classes of an answer, and its 95 % interval (normal). n_nodes : mean
    nodes. abstained : share of rows without a node. by_class : (n_classes,) mean classes of the
    answers to rows of each class, NaN without a row.
    """

    n_classes: float
    low: float
    high: float
    n_nodes: float
    abstained: float
    by_class: Float


def answer_sizes(
    calibration: Calibration, classes: ClassTree, blocks: Iterator[tuple[Float, Int]]
) -> AnswerSizes:
    """Raises UsageError as `thresholds`. O(n n_nodes)."""
    thresholds = calibration.thresholds(calibration.terms.alpha)
    n_classes, n_nodes, labels = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
    for probability, label in blocks:
        rows = TreeProbabilities.of(classes, probability)
        start, node = calibration.nodes(rows, probability, thresholds)
        row = np.repeat(np.arange(rows.n_rows), np.diff(start))
        under = np.bincount(row, classes.n_under[node], rows.n_rows)
        n_classes.append(under.astype(np.int64))
        n_nodes.append(np.diff(start))
        labels.append(label)
    size, of, label = (np.concatenate(each) for each in (n_classes, n_nodes, labels))
    count = np.bincount(label, minlength=classes.n_classes)
    with np.errstate(invalid="ignore"):
        by_class = np.bincount(label, size, classes.n_classes) / count
    mean = float(size.mean())
    off = 1.96 * float(size.std()) / np.sqrt(size.size)
    abstained = float((of == 0).mean())
    return AnswerSizes(mean, mean - off, mean + off, float(of.mean()), abstained, by_class)


def _taken(scores: ClassScores, rows: Int) -> Float:
    """(len(rows), n_classes) the scores of some rows, ascending."""
    taken = np.empty((rows.shape[0], scores.n_classes))
    step = max(1, BLOCK // scores.n_classes)
    for start in range(0, scores.n_rows, step):
        stop = min(start + step, scores.n_rows)
        first, last = np.searchsorted(rows, (start, stop))
        if first < last:
            taken[first:last] = scores.read(start, stop)[rows[first:last] - start]
    return taken


def _losses(classes: ClassTree, terms: CalibrationTerms, costs: Array | None) -> Float | None:
    if terms.loss in ("miss", "price"):
        return None
    if terms.loss == "distance":
        return distance_losses(classes)
    if costs is None:
        raise UsageError(
            "The loss 'cost' needs `costs`, a matrix with a row and a column for each class.",
            code="wrong-input",
            role="costs",
        )
    return cost_losses(classes, costs)


def _needed(classes: ClassTree, terms: CalibrationTerms, loss: Float | None) -> int:
    """The fewest rows with which a threshold can be set."""
    if terms.loss == "price":
        return 2
    if loss is None:
        return fewest_rows(terms.alpha)
    worst = float(loss[:, classes.n_under > 0].max(initial=0.0))
    return max(1, ceil(worst / terms.alpha) - 1)


def _n_temperature(n_labelled: int, terms: CalibrationTerms) -> int:
    if terms.temperature != "fit":
        return 0
    return min(n_labelled, max(1, round(terms.temperature_share * n_labelled)))


def _drawn_by_class(order: Int, label: Int, terms: CalibrationTerms) -> Int | None:
    """The rows for the temperature, ascending: the same share of each class's, and what is then
    more than `enough_rows`; None where that leaves a class with fewer rows than alpha needs.

    order : of labelled rows, drawn.
    """
    if terms.temperature != "fit":
        return None
    of = order[np.argsort(label[order], kind="stable")]
    _, first, n_rows = np.unique(label[of], return_index=True, return_counts=True)
    taken = np.round(terms.temperature_share * n_rows).astype(np.int64)
    if not taken.sum() or (n_rows - taken).min() < fewest_rows(terms.alpha):
        return None
    taken = n_rows - enough_rows(n_rows - taken, terms.alpha)
    place = np.arange(of.size) - np.repeat(first, n_rows)
    return np.sort(of[place < np.repeat(taken, n_rows)])


def _require_rows(n_labelled: int, needed: int, terms: CalibrationTerms) -> None:
    """Raises UsageError `too-few-rows` unless enough rows are left beside the temperature."""
    left = n_labelled - _n_temperature(n_labelled, terms)
    if left >= needed:
        return
    total = needed
    while total - _n_temperature(total, terms) < needed:
        total += 1
    besides = f" beside the {total - needed} that fit the temperature" if total > needed else ""
    raise UsageError(
        f"alpha {terms.alpha:g} needs at least {needed} labelled rows{besides}, {total} in all; "
        f"there are {n_labelled}.",
        code="too-few-rows",
        needed=total,
        n_rows=n_labelled,
    )


def _require_memory(
    tree: Tree, n_classes: int, n_rows: int, n_temperature: int, terms: CalibrationTerms
) -> None:
    """About the scores of the temperature's rows, five times; what blocks take, the steps of the
    curves, and the losses of all classes at all nodes."""
    n_bytes = 40 * n_classes * n_temperature + 80 * BLOCK
    n_bytes += 56 * n_rows * (int(tree.depth.mean()) + 1) + 200 * tree.n_nodes
    if terms.loss in ("distance", "cost"):
        n_bytes += 16 * n_classes * tree.n_nodes
    budget.require("calibration", n_bytes, ADVICE)


def _warnings(
    tree: Tree,
    calibration: Calibration,
    temperature: Temperature | None,
    label: Int,
    setting: Array,
) -> Iterator[str]:
    terms, node = calibration.terms, calibration.node
    if calibration.cost is not None and calibration.cost[1] > (terms.prices or Prices()).abstain:
        yield (
            "It is not sure that answers cost less than none: their bound is above the price of "
            "abstaining."
        )
    if terms.shift is not None:
        empty = (calibration.n_rows_of_group == 0) & (calibration.share > 0)
        yield (
            f"The batch's shares of {calibration.n_groups} region(s) are taken as the shares of "
            "new rows; nothing is promised for other shares."
        )
        if empty.any():
            yield (
                f"{int(empty.sum())} region(s) with {calibration.share[empty].sum():.3g} of the "
                "batch have no row that sets the threshold: their rows count as missed."
            )
        if terms.shift == "classes":
            yield "The shares of classes are an estimate: they are not seen in the batch."
    n_unlabelled = int((label < 0).sum())
    if n_unlabelled:
        yield f"{n_unlabelled} row(s) are not labelled and were left out."
    if calibration.by_edges:
        yield (
            "The method gives no probabilities, only the leaf of each row: answers climb from it "
            "by edges."
        )
    if temperature is not None and temperature.at_bound:
        yield (
            f"The likelihood of the rows still rises at the temperature {temperature.value:.3g}, "
            "which is where the search ends."
        )
    seen = np.bincount(label[setting], minlength=node.shape[0]) > 0
    if not seen.all():
        yield (
            f"{int((~seen).sum())} of {node.shape[0]} classes have no row that sets the threshold "
            f"({_named(tree, node[~seen])}): the promise is for rows like those given."
        )
    weak = ~calibration.promised(terms.alpha)
    needed = 0 if not calibration.has_ranks else fewest_rows(terms.alpha)
    if terms.per == "class":
        few = calibration.n_rows_of_group < needed
        for some, what in (
            (few & ~weak, "they share thresholds with those nearest in the tree, and the promise."),
            (weak, "they have the threshold of all rows, and no promise of their own."),
        ):
            if some.any():
                yield (
                    f"{int(some.sum())} of {some.shape[0]} classes have fewer than the {needed} "
                    f"rows that alpha {terms.alpha:g} needs ({_named(tree, node[some])}): {what}"
                )
    if terms.per == "subtree" and weak.any():
        yield (
            f"{int(weak.sum())} of {weak.shape[0]} subtrees have fewer than the {needed} rows that "
            f"alpha {terms.alpha:g} needs ({_named(tree, calibration.cut[weak])}): their rows are "
            "answered by the root."
        )


def _named(tree: Tree, nodes: Int) -> str:
    """Some of the nodes, by name or number."""
    names: list[str | None] = tree.name[nodes].tolist()
    texts = [
        f"node {node}" if name is None else name
        for name, node in zip(names, nodes.tolist(), strict=True)
    ]
    return listed(texts)
