"""The few nested layers of a tree, without a number of clusters: sizes at which clusters persist.

For a smallest size m a split is real where two of its sides or more have m points; sides that are
smaller fall out of the cluster instead. The clusters that do not split any further are the
candidates of m, and the points in none of them are noise. As m grows, a cluster v is a candidate
from its birth, the largest m at which a split under it is real, to its death, the largest m at
which the split that made it is:

    death(v) = min(size(v), second(parent(v)))
    birth(v) = max(second(u) for u at or under v), at least `min_size` - 1
    weight(v) = (death(v) - birth(v)) (1 - height(v) / height(parent(v)))
    strength(m) = (1 / n) sum of weight(v) over all v with birth(v) < m <= death(v)

where second(u) is the second largest size among the children of u, and n the number of points that
are not noise. Strength is from 0 to 1. Layers
are the peaks of strength over m, the strongest first; one whose nodes agree with the ones of a
stronger one by more than `MOST_ALIKE` (Jaccard) is left out. Two layers are always nested: a
cluster of the finer lies in one of the coarser, or in its noise. Nodes at one height with their
parent are made at once with it, so that the order of rows decides nothing.

The null of the p-value is that of `suggested_cuts`: heights of the last merges fall like a
power of the number of clusters, and the largest gap between them is no larger than chance gives,
all cuts together. A layer has the smallest p-value of the cuts that agree with it: at least half of
the clusters in either have their like in
the other, a branch of at least half of its points; without such a cut it has 1. So data without
structure have a layer no more often than a suggested cut.

Source: Bot, Peeters, Liesenborgs and Aerts, "Persistent Leaf Spatial Clustering" (PLSCAN, 2025),
for barcodes over sizes and their peaks; McInnes, "Embedding Vector Oriented Clustering" (EVoC), for
diverse peaks. Both weight sizes by densities or
distances; here by the share of the parent's height, which no scale changes.

Cost: O(n_nodes log n_nodes); memory about 150 bytes a node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int, Mask
from models.levels.suggested_cuts import significant_gaps
from models.tree.cut import nodes_of_cuts
from models.tree.noise import noise_of
from models.tree.parents import nearest, under
from models.tree.tree import Tree
from models.tree.walk import greatest_heights

MIN_SIZE = 10
"""The smallest size of a cluster of the finest layer, where none is given."""

MOST_ALIKE = 0.2
"""The largest share of nodes, of those in either, that two layers have in common."""

MOST = 10
"""The most layers of a tree."""

SIGNIFICANT = 0.05
"""The largest p-value of a layer that is listed."""

AGREE = 0.5
"""The smallest share of clusters, of those in either, that a cut and a layer it tests share."""

ROUNDING = 1e-14
"""The share of a height by which rounding may change it."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of disjoint clusters.

    smallest : the size m from which these clusters are all that is not split. strength : 0 to 1.
    p_value : of its lifetimes. nodes : (k,) the nodes of its clusters, from the largest size on.
    n_noise : the points in no cluster.
    """

    smallest: int
    strength: float
    p_value: float
    nodes: Int
    n_noise: int


@dataclass(frozen=True, slots=True)
class Layers:
    """From fine to coarse. reason : why there is none, else None."""

    layers: tuple[Layer, ...]
    reason: str | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bars:
    """birth, death : (n_nodes,) a node is a candidate for birth < m <= death; for noise, nodes at
    one height with their parent and the root, death is 0. weight : (n_nodes,).
    n_tied : nodes at one height with their parent."""

    birth: Int
    death: Int
    weight: Float
    n_tied: int


def fitted_layers(tree: Tree, *, largest_p: float = SIGNIFICANT) -> Layers | None:
    """The layers that a fit of the method `layers` found, by the columns of its tree; None for
    other trees. O(n_nodes) for each layer."""
    columns = [tree.extra.get(name) for name in ("layer", "until", "smallest", "strength")]
    p_value = tree.extra.get("p_value")
    if p_value is None or any(column is None for column in columns):
        return None
    finest, coarsest, smallest, strength = (np.asarray(column) for column in columns)
    found, lost = list[Layer](), 0
    for number in range(int(coarsest.max(initial=-1)) + 1):
        nodes = np.flatnonzero((finest <= number) & (number <= coarsest) & (finest >= 0))
        # A node has the facts of the finest layer that it belongs to.
        own = np.flatnonzero(finest == number)
        if not own.size:
            lost += 1
            continue
        nodes = nodes[np.argsort(-tree.size[nodes], kind="stable")]
        n_noise = int(tree.size[0] - tree.size[nodes].sum())
        facts = int(smallest[own[0]]), float(strength[own[0]]), float(p_value[own[0]])
        found.append(Layer(*facts, nodes, n_noise))
    kept = tuple(layer for layer in found if layer.p_value <= largest_p)
    reason = None
    if not kept:
        reason = "The fit found no layer."
        if found:
            reason = f"No layer of the fit has a p-value of at most {largest_p:g}."
    warning = f"{lost} layer(s) whose clusters are all of finer layers, too, are not listed."
    return Layers(kept, reason, (warning,) if lost else ())


def layers(
    tree: Tree, min_size: int = MIN_SIZE, *, most: int = MOST, largest_p: float = SIGNIFICANT
) -> Layers:
    """The layers with p-values of at most `largest_p`; at most `most`.

    min_size : the smallest size of a cluster, 2 or more.
    """
    noise = noise_of(tree)
    n_points = int(tree.size[0] - tree.size[tree.leaves][noise[tree.leaves]].sum())
    if n_points < 2 * min_size:
        why = (
            f"A layer has two clusters or more of at least {min_size} points each; the tree has "
            f"{n_points} points that are not noise."
        )
        return Layers((), why, ())
    bars = bars_of(tree, noise, min_size)
    notes = list[str]()
    if bars.n_tied:
        notes.append(
            f"{bars.n_tied} split(s) lie at one height with the split above and were made at once "
            "with it."
        )
    peaks, tied = _diverse(bars, most)
    if tied:
        notes.append(
            "Layers of one strength exclude each other: the one of smaller clusters was taken."
        )
    if not peaks:
        return Layers((), f"No split has two sides of at least {min_size} points.", tuple(notes))
    gaps = _Gaps.of(tree)
    found = list[Layer]()
    for m, strength in peaks:
        nodes = np.flatnonzero((bars.birth < m) & (m <= bars.death))
        p_value = gaps.p_value(nodes, min_size)
        if p_value > largest_p:
            continue
        size = tree.size[nodes]
        n_noise = int(tree.n_points - size.sum())
        nodes = nodes[np.lexsort((nodes, -size))]
        found.append(Layer(m, strength / n_points, p_value, nodes, n_noise))
    found.sort(key=lambda layer: layer.smallest)
    chance = "Data without structure give layers as strong as the ones here."
    return Layers(tuple(found), None if found else chance, tuple(notes))


def bars_of(tree: Tree, noise: Mask, min_size: int) -> Bars:
    """The sizes at which each node is a candidate. O(n_nodes log n_nodes)."""
    height = greatest_heights(tree)
    above = tree.parent.astype(np.int64)
    inner = tree.n_children > 0
    at_once = inner & ~noise
    at_once[0] = False
    at_once[1:] &= (height[1:] >= height[above[1:]] * (1.0 - ROUNDING)) & (height[1:] > 0)
    # `nearest` counts a node itself, so that the search begins at the parent.
    made_by = np.full(tree.n_nodes, -1, dtype=np.int64)
    made_by[1:] = nearest(tree.parent, ~at_once)[above[1:]]
    size = np.where(noise | at_once, 0, tree.size).astype(np.int64)
    order = np.lexsort((-size[1:], made_by[1:])) + 1
    first = np.r_[True, made_by[order][1:] != made_by[order][:-1]] if order.size else order
    place = np.arange(order.size) - np.maximum.accumulate(np.where(first, np.arange(order.size), 0))
    second = np.zeros(tree.n_nodes, dtype=np.int64)
    runner_up = order[place == 1]
    second[made_by[runner_up]] = size[runner_up]
    death = np.zeros(tree.n_nodes, dtype=np.int64)
    death[1:] = np.minimum(size[1:], second[made_by[1:]])
    birth = np.maximum(under(tree.parent, second, np.maximum.at), min_size - 1)
    low, high = height, height[np.maximum(made_by, 0)]
    ratio = np.divide(low, high, out=np.ones(tree.n_nodes), where=high > 0)
    weight = np.where(death > birth, (death - birth) * (1.0 - np.minimum(ratio, 1.0)), 0.0)
    return Bars(birth, death, weight, int((at_once & (tree.size >= min_size)).sum()))


def _diverse(bars: Bars, most: int) -> tuple[list[tuple[int, float]], bool]:
    """(m, sum of weights) of the peaks that differ, strongest first; whether a tie chose."""
    bar = np.flatnonzero(bars.weight > 0)
    birth, death, weight = bars.birth[bar], bars.death[bar], bars.weight[bar]
    sizes = np.unique(birth)
    change = np.zeros(sizes.size + 1)
    np.add.at(change, np.searchsorted(sizes, birth), weight)
    np.add.at(change, np.searchsorted(sizes, death), -weight)
    # The order in which weights are summed shall not order strengths that are equal.
    strength = np.round(np.cumsum(change)[:-1] / max(weight.sum(), 1e-300), 10)
    peaks = _peaks(strength)
    peaks = peaks[np.argsort(-strength[peaks], kind="stable")]
    chosen, members, tied = list[tuple[int, float]](), list[set[int]](), False
    levels = list[float]()
    for peak in peaks.tolist():
        if len(chosen) == most:
            break
        m, level = int(sizes[peak]) + 1, float(strength[peak])
        inside = (birth < m) & (m <= death)
        nodes = set(bar[inside].tolist())
        if len(nodes) < 2:
            continue
        alike = [len(nodes & other) / len(nodes | other) > MOST_ALIKE for other in members]
        if any(alike):
            tied |= any(a and level == s for a, s in zip(alike, levels, strict=True))
            continue
        chosen.append((m, float(weight[inside].sum())))
        members.append(nodes)
        levels.append(level)
    return chosen, tied


def _peaks(value: Float) -> Int:
    """The places where a run of equal values is higher than both neighbours; its first place."""
    if not value.size:
        return np.empty(0, dtype=np.int64)
    first = np.flatnonzero(np.r_[True, value[1:] != value[:-1]])
    padded = np.r_[0.0, value[first], 0.0]
    highest = (padded[1:-1] > padded[:-2]) & (padded[1:-1] > padded[2:])
    return np.asarray(first[highest], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Gaps:
    """cuts : the nodes and the p-value of each cut with a significant gap, the strongest first."""

    tree: Tree
    cuts: list[tuple[Int, float]]

    @classmethod
    def of(cls, tree: Tree) -> _Gaps:
        gaps = significant_gaps(tree)
        if not gaps:
            return cls(tree, [])
        nodes = nodes_of_cuts(tree, max(k for k, _ in gaps))
        return cls(tree, [(nodes[k], p_value) for k, p_value in gaps])

    def p_value(self, layer: Int, min_size: int) -> float:
        """The smallest of the cuts that agree with the layer; 1 without."""
        inside = np.zeros(self.tree.n_nodes, dtype=bool)
        inside[layer] = True
        above = nearest(self.tree.parent, inside)
        for cut, p_value in self.cuts:
            large = cut[self.tree.size[cut] >= min_size]
            over = above[large]
            like = (over >= 0) & (2 * self.tree.size[large] >= self.tree.size[over])
            n_shared = np.unique(over[like]).size
            if n_shared >= AGREE * (large.size + layer.size - n_shared):
                return p_value
        return 1.0
