"""Which nodes of a tree gained or lost mass, confidence or purity, from a reference to a batch.

Rows of both samples are placed in the tree. At each node three things may have changed.

- mass: the share of the rows of its parent that go to it. Given how many rows reach the parent,
  these splits are independent of all others, so a change is found at the split where it happens and
  not at all nodes above and below. Fisher's exact test.
- confidence: the probability of the leaf of each row under it; Wilcoxon's rank test.
- purity: the share of its labelled rows whose label is the most frequent one there, in both samples
  together: chosen in the reference alone it would look purer in the reference by the choice.
  Fisher's exact test.

The hypotheses form a tree: something changed; one of the three did; of mass, the split of a node,
then its children; of the others, the nodes. `selected` rejects them from the top. What changed in
confidence or purity at a node changes, diluted, at the nodes above and, in part, at those below:
among nodes one above another the one with the smallest p-value stands for the others, and
rejections count by the nodes that stand. Nodes reached by so few rows that not even a total change
could be distinguished from chance are not tested. Which these are depends on the margins of the
tables alone, so this takes nothing from the control.

`selected` takes hypotheses arranged in a tree from the top, under control of false discoveries, by
TreeBH of Bogomolov, Peterson, Benjamini and Sabatti, "Hypotheses on a tree: new error rates and
testing strategies" (Biometrika 108, 2021). A hypothesis above others says that all of these hold;
its p-value is theirs combined by Simes. A family, the hypotheses below one that was rejected, is
tested by the procedure of Benjamini and Hochberg at the level of the family above times the share
of that which was rejected. For independent p-values, and in practice for positively dependent ones,
the selective false discovery rate is at most the level at each depth: the mean, over the rejected
families, of the expected share of false rejections in a family, itself averaged along the way down.
With one level of hypotheses it is the procedure of Benjamini and Hochberg.

Where only some of the rejected hypotheses are listed, since they stand for the others, the listed
ones are what is to be mostly true: Focused BH of Katsevich, Sabatti and Bogomolov, "Filtering the
rejection set while preserving false discovery rate control" (JASA 118, 2023) rejects by how many
would be listed (`focused`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import mannwhitneyu, norm

from models.arrays import Array, Float, Int, Mask
from models.drift import proportions
from models.drift.options import ASPECTS, Aspect
from models.drift.proportions import Tables
from models.errors import UsageError
from models.metrics.nodes import report_on_nodes
from models.running.progress import Progress, silent
from models.tree.rows import over_rows
from models.tree.tree import Tree, sizes
from models.tree.walk import ranks, spans


@dataclass(frozen=True, slots=True)
class Selection:
    """p_value : (n,) of each hypothesis; above others, theirs combined. rejected : (n,)."""

    p_value: Float
    rejected: Mask


def selected(parent: Int, p_value: Float, level: float) -> Selection:
    """The hypotheses that TreeBH rejects.

    parent : (n,) the hypothesis above each, -1 in the first family; parents come first.
    p_value : (n,) of the hypotheses with none below; the others' are not read.

    O(n log n).
    """
    n = parent.shape[0]
    depth = np.zeros(n, dtype=np.int64)
    for each in np.flatnonzero(parent >= 0).tolist():
        depth[each] = depth[parent[each]] + 1
    by_depth = np.argsort(depth, kind="stable")
    ends = np.searchsorted(depth[by_depth], np.arange(depth.max(initial=-1) + 2))
    depths = [by_depth[begin:end] for begin, end in pairwise(ends.tolist())]

    combined = p_value.astype(np.float64)
    for members in reversed(depths[1:]):
        families = _Families.of(parent[members], combined[members])
        combined[families.above] = families.simes()

    rejected = np.zeros(n, dtype=bool)
    # One place more for the level of the first family, which -1 reads.
    level_below = np.zeros(n + 1)
    level_below[-1] = level
    for members in depths:
        families = _Families.of(parent[members], combined[members])
        n_rejected = families.n_rejected(level_below[families.above])
        rejected[members[families.order]] = families.rank <= families.of_member(n_rejected)
        below = level_below[families.above] * n_rejected / families.size
        level_below[members[families.order]] = families.of_member(below)
        level_below[members[~rejected[members]]] = 0.0
    return Selection(combined, rejected)


def focused(p_value: Float, listed: Mask) -> Float:
    """(n,) the level from which Focused BH rejects each hypothesis; the least is the p-value of all
    together.

    p_value : (n,) rising. listed : (n,) whether each would be listed if all up to it were rejected,
    and stay so if more are. With all listed these are the adjusted p-values of Benjamini and
    Hochberg.
    """
    level = p_value.size * p_value / np.maximum(np.cumsum(listed), 1)
    return np.minimum(np.minimum.accumulate(level[::-1])[::-1], 1.0)


@dataclass(frozen=True, slots=True)
class _Families:
    """Hypotheses by the one above them, each family's from the smallest p-value on.

    order : (n,) of the hypotheses. rank : (n,) in this order, from 1 in each family. p_value : (n,)
    in this order. above, first, size : (n_families,).
    """

    order: Int
    rank: Int
    p_value: Float
    above: Int
    first: Int
    size: Int

    @classmethod
    def of(cls, above: Int, p_value: Float) -> _Families:
        order = np.lexsort((p_value, above))
        family, first, size = np.unique(above[order], return_index=True, return_counts=True)
        rank = np.arange(order.size) - np.repeat(first, size) + 1
        return cls(order, rank, p_value[order], family, first, size)

    def of_member(self, value: Array) -> Array:
        return np.repeat(value, self.size)

    def simes(self) -> Float:
        """(n_families,) the p-value of all hypotheses of each family together."""
        return np.minimum.reduceat(self.p_value * self.of_member(self.size) / self.rank, self.first)

    def n_rejected(self, level: Float) -> Int:
        """(n_families,) by the procedure of Benjamini and Hochberg at the level of each."""
        most = self.of_member(level) * self.rank / self.of_member(self.size)
        small = (self.p_value <= most) & (self.of_member(level) > 0)
        return np.maximum.reduceat(np.where(small, self.rank, 0), self.first)


FEWEST_RANKED = 10
"""The rows of each sample from which ranks are compared, by their normal approximation."""

MOST_RANKED = 200_000_000
"""Rows that are ranked, each counted at every node above it: about a minute."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows that were placed in a tree; at least one.

    leaf : (n_rows,) the leaf of each row. confidence : (n_rows,) the probability of that leaf.
    label : (n_rows,) the number of each row's label, -1 for none; None: no labels are given.
    """

    leaf: Int
    confidence: Float
    label: Int | None = None

    @property
    def n_rows(self) -> int:
        return int(self.leaf.shape[0])


@dataclass(frozen=True, slots=True)
class NodeTests:
    """One aspect of all nodes, (n_nodes,) each.

    before, after : the share of the parent's rows, the mean confidence, or the purity; NaN where
    there are no rows. low, high : the 95% interval of the change. direction : 1 where it rose, -1
    where it fell, 0 where it did neither. p_value : NaN where it was not tested. rejected : whether
    the change was found.
    """

    before: Float
    after: Float
    low: Float
    high: Float
    direction: Int
    p_value: Float
    rejected: Mask

    @property
    def n_tested(self) -> int:
        return int(np.isfinite(self.p_value).sum())

    @property
    def n_moved(self) -> int:
        return int(self.rejected.sum())


@dataclass(frozen=True, slots=True)
class Drift:
    """What moved.

    nodes : the tests of each aspect; without purity where there are no labels, without confidence
    where all rows have the same. p_value, moved : of each aspect as a whole. split_p_value :
    (n_nodes,) of the split of each node's rows over its children, NaN where it was not tested.
    count_before, count_after : (n_nodes,) rows under each node. majority : (n_nodes,) the number of
    the label of purity, -1 for none; None without labels. warnings : one sentence each.
    """

    nodes: Mapping[Aspect, NodeTests]
    p_value: Mapping[Aspect, float]
    moved: Mapping[Aspect, bool]
    split_p_value: Float
    count_before: Int
    count_after: Int
    majority: Int | None
    warnings: tuple[str, ...]

    @property
    def mass(self) -> Tables:
        """The rows of each node among all rows."""
        n_before = np.broadcast_to(self.count_before[0], self.count_before.shape)
        n_after = np.broadcast_to(self.count_after[0], self.count_after.shape)
        return Tables(self.count_before, n_before, self.count_after, n_after)

    def moves(self, tree: Tree) -> list[tuple[Aspect, int]]:
        """Where it moved: aspects and nodes, the surest first: every rejected share of mass, and of
        confidence and purity the nodes that stand for others. O(n_nodes log n_nodes)."""
        found = []
        for place, (aspect, tests) in enumerate(self.nodes.items()):
            nodes = np.flatnonzero(tests.rejected)
            if aspect != "mass":
                nodes = _surest_first(tree, tests.p_value, nodes)
                nodes = nodes[_standing(tree, nodes)]
            found += [(float(tests.p_value[node]), place, node) for node in nodes.tolist()]
        aspects = list(self.nodes)
        return [(aspects[place], node) for _, place, node in sorted(found)]


def _surest_first(tree: Tree, p_value: Float, nodes: Int) -> Int:
    """The nodes by their p-values, of equally sure ones the deepest first."""
    return nodes[np.lexsort((-tree.depth[nodes], p_value[nodes]))]


def _standing(tree: Tree, nodes: Int) -> Mask:
    """(n,) whether each node is neither above nor below one that stands before it.

    O(n_nodes log depth).
    """
    rank, weight = ranks(tree.parent)
    is_above, is_below = (np.zeros(tree.n_nodes, dtype=bool) for _ in range(2))
    standing = np.zeros(nodes.size, dtype=bool)
    for place, node in enumerate(nodes.tolist()):
        begin = int(rank[node])
        if is_above[node] or is_below[begin]:
            continue
        standing[place] = True
        is_below[begin : begin + int(weight[node])] = True
        while node >= 0 and not is_above[node]:
            is_above[node] = True
            node = int(tree.parent[node])
    return standing


def drift(
    tree: Tree, before: Sample, after: Sample, level: float, progress: Progress = silent
) -> Drift:
    """What changed from one sample to the other.

    level : the accepted rate of false discoveries, as `selected` has it.

    Raises UsageError where one sample alone has labels.
    O((rows + n_nodes) log (rows + n_nodes)), the tests of shares, and the ranks of the rows under
    each node.
    """
    if (before.label is None) != (after.label is None):
        raise UsageError(
            "Labels are given for one sample alone; purity is compared where both have them.",
            code="wrong-input",
            role="labels",
        )
    counts = (
        sizes(tree.parent, before.leaf.astype(np.int32)),
        sizes(tree.parent, after.leaf.astype(np.int32)),
    )
    progress(0.0, "comparing mass")
    nodes: dict[Aspect, NodeTests] = {"mass": _mass(tree, *counts, level)}
    warnings = _too_few(counts, nodes["mass"], level)
    distinct = _distinct(tree, *counts)
    progress(0.1, "comparing confidence")
    confidence, omitted = _confidence(tree, before, after, distinct, progress)
    if confidence is not None:
        nodes["confidence"] = confidence
    warnings += omitted
    majority = None
    if before.label is not None and after.label is not None:
        progress(0.9, "comparing purity")
        majority, nodes["purity"] = _purity(tree, before, after, distinct, level)
    return _selected(tree, nodes, counts, majority, level, warnings)


def _mass(tree: Tree, n_before: Int, n_after: Int, level: float) -> NodeTests:
    """Each node among its parent's rows; only children have a chance to be rejected."""
    parent = np.maximum(tree.parent, 0)
    tables = Tables(n_before, n_before[parent], n_after, n_after[parent])
    tests = _of_tables(tables, level)
    # The root, and only children, have all rows of theirs.
    alone = (tree.parent < 0) | (tree.n_children[parent] < 2)
    tests.p_value[alone] = np.nan
    return tests


def _of_tables(tables: Tables, level: float) -> NodeTests:
    """Tests of shares, not yet selected; none where no rows so many could give `level`."""
    tests = proportions.proportion_tests(tables)
    low, high = proportions.newcombe(tables)
    before, after = tables.share_before, tables.share_after
    direction = np.sign(np.nan_to_num(after - before)).astype(np.int64)
    p_value = np.where(tests.least <= level, tests.p_value, np.nan)
    rejected = np.zeros(p_value.shape, dtype=bool)
    return NodeTests(before, after, low, high, direction, p_value, rejected)


def _too_few(counts: tuple[Int, Int], mass: NodeTests, level: float) -> tuple[str, ...]:
    n_before, n_after = (int(count[0]) for count in counts)
    n_tested = mass.n_tested
    if not n_tested:
        return (
            f"The reference has {n_before} row(s) and the batch {n_after}: at the level {level:g} "
            "not even a total change of mass could be distinguished from chance at any node. Give "
            "more rows.",
        )
    reached = int((counts[0] + counts[1] > 0)[1:].sum())
    if n_tested < reached:
        return (
            f"{reached - n_tested} of {reached} nodes that rows reach have too few of them for any "
            "change of mass to be distinguished from chance.",
        )
    return ()


def _distinct(tree: Tree, n_before: Int, n_after: Int) -> Mask:
    """The nodes whose rows are not all under one child; what holds of any other node is reported at
    that child."""
    parent = tree.parent[1:]
    same = (n_before[1:] == n_before[parent]) & (n_after[1:] == n_after[parent])
    distinct = np.ones(tree.n_nodes, dtype=bool)
    distinct[parent[same]] = False
    return distinct


def _confidence(
    tree: Tree, before: Sample, after: Sample, distinct: Mask, progress: Progress
) -> tuple[NodeTests | None, tuple[str, ...]]:
    """The ranks of the rows under each node; and warnings."""
    both = (before.confidence, after.confidence)
    if np.ptp(np.concatenate(both)) == 0.0:
        return None, (
            "All rows have the same probability of their leaf, so confidence is not compared.",
        )
    ranges = spans(tree)
    first = ranges.start.astype(np.int64)
    values, ends = [], []
    for sample in (before, after):
        place = first[sample.leaf]
        order = np.argsort(place, kind="stable")
        values.append(sample.confidence[order])
        inside = np.searchsorted(place[order], np.arange(tree.n_leaves + 1))
        ends.append((inside[first], inside[first + ranges.count]))
    sums = [_moments(value, *end) for value, end in zip(values, ends, strict=True)]
    n_before, n_after = (end[1] - end[0] for end in ends)
    able = np.flatnonzero(distinct & (np.minimum(n_before, n_after) >= FEWEST_RANKED))
    able = able[np.argsort(tree.depth[able], kind="stable")]
    n_ranked = np.cumsum((n_before + n_after)[able])
    warnings: tuple[str, ...] = ()
    chosen = able[n_ranked <= MOST_RANKED]
    if chosen.size < able.size:
        warnings = (
            f"Confidence is compared at {chosen.size} of {able.size} nodes, those nearest to the "
            "root: at all of them it would take too long in a tree this deep.",
        )
    p_value = np.full(tree.n_nodes, np.nan)
    direction = np.zeros(tree.n_nodes, dtype=np.int64)
    for number, node in enumerate(chosen.tolist()):
        if number % 256 == 0:
            progress(0.1 + 0.8 * number / chosen.size, "comparing confidence")
        own, others = (
            value[begin[node] : end[node]] for value, (begin, end) in zip(values, ends, strict=True)
        )
        test = mannwhitneyu(others, own, method="asymptotic")
        p_value[node] = test.pvalue if np.isfinite(test.pvalue) else 1.0
        direction[node] = np.sign(test.statistic - 0.5 * own.size * others.size)
    change = sums[1][0] - sums[0][0]
    half = float(norm.isf(0.5 * (1 - proportions.CONFIDENCE))) * np.sqrt(sums[0][1] + sums[1][1])
    return NodeTests(
        sums[0][0],
        sums[1][0],
        change - half,
        change + half,
        direction,
        p_value,
        np.zeros(tree.n_nodes, dtype=bool),
    ), warnings


def _moments(value: Float, begin: Int, end: Int) -> tuple[Float, Float]:
    """The mean of each slice, and the squared standard error of it; NaN without enough values."""
    n = np.where(end > begin, end - begin, np.nan)
    centre = float(value.mean())
    total = np.append(0.0, np.cumsum(value - centre))
    squares = np.append(0.0, np.cumsum((value - centre) ** 2))
    mean = (total[end] - total[begin]) / n
    spread = np.maximum((squares[end] - squares[begin]) / n - mean**2, 0.0)
    return mean + centre, spread / np.where(n > 1, n - 1, np.nan)


def _purity(
    tree: Tree, before: Sample, after: Sample, distinct: Mask, level: float
) -> tuple[Int, NodeTests]:
    """The label that is most frequent under each node, and its share."""
    labelled = [
        (sample.leaf[sample.label >= 0], sample.label[sample.label >= 0])
        for sample in (before, after)
        if sample.label is not None
    ]
    leaf, label = (np.concatenate(parts) for parts in zip(*labelled, strict=True))
    if not leaf.size:
        raise UsageError("No row has a label.", code="empty", role="labels")
    report = report_on_nodes(over_rows(tree, leaf), labels=label)
    assert report.majority is not None
    assert report.class_name is not None
    names = np.array([*map(int, report.class_name), -1], dtype=np.int64)
    majority = names[report.majority]
    hits = [_hits(tree, own_leaf, own_label, majority) for own_leaf, own_label in labelled]
    rows = [sizes(tree.parent, own_leaf.astype(np.int32)) for own_leaf, _ in labelled]
    tests = _of_tables(Tables(hits[0], rows[0], hits[1], rows[1]), level)
    tests.p_value[~distinct] = np.nan
    return majority, tests


def _hits(tree: Tree, leaf: Int, label: Int, majority: Int) -> Int:
    """(n_nodes,) the rows under each node whose label is its majority.

    In the order of labels, and of leaves from left to right, these stand together.
    O((n_rows + n_nodes) log n_rows).
    """
    ranges, n_leaves = spans(tree), tree.n_leaves
    place = np.sort(label * n_leaves + ranges.start[leaf])
    first = majority * n_leaves + ranges.start
    hits = np.searchsorted(place, first + ranges.count) - np.searchsorted(place, first)
    return np.where(majority >= 0, hits, 0)


def _selected(
    tree: Tree,
    nodes: dict[Aspect, NodeTests],
    counts: tuple[Int, Int],
    majority: Int | None,
    level: float,
    warnings: tuple[str, ...],
) -> Drift:
    """The hypotheses as a tree, and those that are rejected: aspects, then of mass splits and
    children."""
    aspects = [aspect for aspect in ASPECTS if aspect in nodes and nodes[aspect].n_tested]
    tested = {aspect: np.flatnonzero(np.isfinite(nodes[aspect].p_value)) for aspect in aspects}
    p_value = np.ones(len(aspects))
    levels: dict[Aspect, tuple[Int, Float]] = {}
    for place, aspect in enumerate(aspects):
        if aspect != "mass":
            order = _surest_first(tree, nodes[aspect].p_value, tested[aspect])
            own_level = focused(nodes[aspect].p_value[order], _standing(tree, order))
            levels[aspect] = order, own_level
            p_value[place] = own_level[0]
    children = tested.get("mass", np.zeros(0, dtype=np.int64))
    splits, split = np.unique(tree.parent[children], return_inverse=True)
    above = [
        np.full(len(aspects), -1),
        np.zeros(splits.size, dtype=np.int64),  # mass is the first aspect
        len(aspects) + split,
    ]
    p_values = [p_value, np.ones(splits.size), nodes["mass"].p_value[children]]
    selection = selected(np.concatenate(above), np.concatenate(p_values), level)
    moved = selection.rejected[: len(aspects)]
    nodes["mass"].rejected[children] = selection.rejected[len(aspects) + splits.size :]
    for place, aspect in enumerate(aspects):
        if aspect != "mass" and moved[place]:
            order, own_level = levels[aspect]
            nodes[aspect].rejected[order] = own_level <= level * moved.mean()
    split_p_value = np.full(tree.n_nodes, np.nan)
    split_p_value[splits] = selection.p_value[len(aspects) : len(aspects) + splits.size]
    return Drift(
        nodes,
        {aspect: float(selection.p_value[place]) for place, aspect in enumerate(aspects)},
        {aspect: bool(moved[place]) for place, aspect in enumerate(aspects)},
        split_p_value,
        *counts,
        majority,
        warnings,
    )
