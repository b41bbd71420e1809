"""How well classes and subtrees fit where they hang in a hierarchy, and where they fit better.

A place is a group of the hierarchy. How well a class fits a place is the weighted correlation, over
the other classes d, of its likeness to d (`models.placements.evidence`) with how near the place is
to d in the hierarchy (`Groups.nearness`); d has the weight r^(-1/4), r being its rank among the
other classes by likeness, best first. The margin of a class is its best fit in a place apart from
its own, one that neither holds it nor lies under its own group, minus the fit where it hangs.
Classes that seem out of place mislead their neighbours: margins are found twice, the second time
with these weighted down. A subtree is a group of at most half of the classes, which hangs in the
group above; its likeness to d is the mean of its classes', and its place is sought outside it. What
hangs right under the top has nothing apart from its own place and is not judged.

The null hypothesis of a class is that it hangs as well as the bulk of the classes do. The margins
of the bulk are taken to be normal, with the median of all margins as their centre and the scale of
the margins below it, which classes out of place, whose margins are large, do not reach while they
are fewer than half (an empirical null: Efron, "Large-scale simultaneous hypothesis testing", JASA
2004). With n margins, a median absolute deviation has the efficiency .37: the p-value is the upper
tail of Student's t with .37 (n - 1) degrees of freedom. Classes and subtrees are two families; in
each, false discoveries are controlled by the procedure of Benjamini and Hochberg. A p-value says
that a class is unlike the others, not that a person erred: a web hangs among traps, and looks like
spiders.

Cost: O(n^2 n_groups) twice, and 24 bytes for each pair of a class and a group.

`Groups` has the classes that a tree and a hierarchy share, and the groups of the hierarchy over
them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import stats

from models.arrays import Float, Int, Mask
from models.errors import UsageError, listed
from models.running.progress import Progress, silent
from models.tree.parents import under
from models.tree.tree import Tree

FEWEST = 3
"""Classes that both trees must have: with fewer, there is nothing to compare."""
MOST = 5_000
"""Classes that are compared; a table of each class at each group takes 8 bytes a pair."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The classes that both trees have, by name, from left to right in the hierarchy's numbering.

    name : of each class. leaf : (n,) its leaf in the tree. hung : (n,) its leaf in the hierarchy.
    warnings : names that only one of the two has, or that stand twice in one.
    """

    name: list[str]
    leaf: Int
    hung: Int
    warnings: tuple[str, ...]


def shared(tree: Tree, hierarchy: Tree) -> Shared:
    """The classes by the names of leaves; positions are never compared.

    Raises UsageError `wrong-input` for fewer than `FEWEST` shared names, `too-large` for more than
    `MOST`. O(n_nodes).
    """
    ours, doubled_here = _named(tree)
    theirs, doubled_there = _named(hierarchy)
    name = [each for each in theirs if each in ours]
    if len(name) < FEWEST:
        raise UsageError(
            f"The tree and the hierarchy share {len(name)} names of leaves; at least {FEWEST} are "
            f"needed. Leaves of the tree: {listed(list(ours)) or 'none with a name'}; of the "
            f"hierarchy: {listed(list(theirs)) or 'none with a name'}. Classes are matched by "
            "name: give the classes' names to the fit, as `names`.",
            code="wrong-input",
            role="hierarchy",
        )
    if len(name) > MOST:
        raise UsageError(
            f"The tree and the hierarchy share {len(name):,} classes; at most {MOST:,} can be "
            "compared. Give a hierarchy of a part of them.",
            code="too-large",
            role="hierarchy",
        )
    warnings = []
    for what, doubled in (("tree", doubled_here), ("hierarchy", doubled_there)):
        if doubled:
            warnings.append(
                f"Names that several leaves of the {what} have are left out: {listed(doubled)}."
            )
    for what, own, other in (
        ("tree", ours, {*theirs, *doubled_there}),
        ("hierarchy", theirs, {*ours, *doubled_here}),
    ):
        alone = [each for each in own if each not in other]
        if alone:
            warnings.append(
                f"{len(alone):,} classes are in the {what} alone and are not compared: "
                f"{listed(alone)}."
            )
    leaf = np.array([ours[each] for each in name], dtype=np.int64)
    hung = np.array([theirs[each] for each in name], dtype=np.int64)
    return Shared(name, leaf, hung, tuple(warnings))


def _named(tree: Tree) -> tuple[dict[str, int], list[str]]:
    """(the leaf of each name that one leaf has, the names that several have)."""
    names = [(tree.name[leaf], int(leaf)) for leaf in tree.leaves]
    count = Counter(name for name, _ in names if name is not None)
    once = {name: leaf for name, leaf in names if name is not None and count[name] == 1}
    return once, [name for name, number in count.items() if number > 1]


@dataclass(frozen=True, slots=True)
class Groups:
    """The nodes of a hierarchy that hold two classes or more, each set of classes once, as its
    deepest node; parents come first, group 0 holds all classes.

    node : (n_groups,) in the hierarchy. parent : (n_groups,) the group above, -1 for the first.
    member : (n_groups, n) whether a class is under it. own : (n,) the smallest group of each class.
    """

    node: Int
    parent: Int
    member: Mask
    own: Int

    @property
    def size(self) -> Int:
        """(n_groups,) classes."""
        return np.asarray(self.member.sum(axis=1), dtype=np.int64)

    def nearness(self) -> Float:
        """(n_groups, n) how near each class hangs to a place in each group: 1 minus the logarithm
        of the size of the smallest group that holds both, as a share of the logarithm of n."""
        size = self.size
        n_classes = self.member.shape[1]
        smallest = np.full(self.member.shape, float(n_classes))
        for group in range(len(size)):
            if group:
                smallest[group] = smallest[self.parent[group]]
            smallest[group, self.member[group]] = size[group]
        return np.asarray(1.0 - np.log(smallest) / np.log(n_classes))


def groups(hierarchy: Tree, hung: Int) -> Groups:
    """The groups of a hierarchy over the classes at these leaves. O(n_nodes + n_groups n)."""
    count = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    count[hung] = 1
    count = under(hierarchy.parent, count)
    most_below = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    np.maximum.at(most_below, hierarchy.parent[1:], count[1:])
    kept = (count > 1) & (most_below < count)
    node = np.flatnonzero(kept)
    number = np.full(hierarchy.n_nodes, -1, dtype=np.int64)
    number[node] = np.arange(len(node))
    above = hierarchy.parent.tolist()
    nearest = number.tolist()
    for each in range(1, hierarchy.n_nodes):
        if nearest[each] < 0:
            nearest[each] = nearest[above[each]]
    parent = np.array([nearest[above[each]] if above[each] >= 0 else -1 for each in node.tolist()])
    own = np.array([nearest[each] for each in hung.tolist()], dtype=np.int64)
    member = np.zeros((len(node), len(hung)), dtype=bool)
    member[own, np.arange(len(hung))] = True
    for group in range(len(node) - 1, 0, -1):
        member[parent[group]] |= member[group]
    return Groups(node, parent.astype(np.int64), member, own)


_DECAY = 0.25
_SWEEPS = 2
_DOUBT = 1.5
"""The margin, in scales of the bulk, at which a class counts half in the second sweep."""
_EFFICIENCY = 0.37
_LEAST = 1e-3

FEWEST_JUDGED = 8
"""Margins from which their bulk is known."""


@dataclass(frozen=True, slots=True)
class Fits:
    """Classes or subtrees, and where they fit.

    own, best : (n,) groups: where each hangs, and its best place apart from that; -1 where there is
    none. fit, best_fit : (n,) correlations there. margin : (n,) `best_fit` minus `fit`. p_value :
    (n,) by the null of the module's docstring. adjusted : (n,) the level from which it is called
    out of place. All are NaN where nothing is judged, the last two also where too few are.
    """

    own: Int
    best: Int
    fit: Float
    best_fit: Float
    margin: Float
    p_value: Float
    adjusted: Float

    @property
    def order(self) -> Int:
        """(n,) those most out of place first, those that are not judged last."""
        return np.argsort(np.where(np.isnan(self.margin), np.inf, -self.margin), kind="stable")

    @property
    def n_judged(self) -> int:
        return int(np.isfinite(self.margin).sum())


@dataclass(frozen=True, slots=True)
class Placements:
    """classes : (n,) all. subtrees : in the order of `group`, (n_subtrees,) the group of each."""

    classes: Fits
    subtrees: Fits
    group: Int


def placements(found: Groups, likeness: Float, progress: Progress = silent) -> Placements:
    """Where every class and every subtree fits.

    likeness : (n, n) symmetric, of the classes of the groups.
    """
    n = len(likeness)
    nearness = found.nearness()
    overlap = (found.member.astype(np.float32) @ found.member.T.astype(np.float32)) > 0
    allowed = ~overlap[found.own]
    allowed[found.own == 0] = False
    trust = np.ones(n)
    others = ~np.eye(n, dtype=bool)
    for sweep in range(_SWEEPS):
        progress(sweep / (_SWEEPS + 1), "fitting classes")
        classes = _fits(likeness, nearness, found.own, allowed, others * trust)
        trust = _trust(classes.margin)
    progress(_SWEEPS / (_SWEEPS + 1), "fitting subtrees")
    size = found.size
    group = np.flatnonzero((size <= n / 2) & (np.arange(len(size)) > 0))
    own = found.parent[group]
    free = ~overlap[own]
    free[own == 0] = False
    inside = found.member[group]
    mean = (inside / inside.sum(axis=1, keepdims=True)) @ likeness
    subtrees = _fits(mean, nearness, own, free, ~inside * trust)
    return Placements(classes, subtrees, group)


def _fits(likeness: Float, nearness: Float, own: Int, allowed: Mask, weight: Float) -> Fits:
    """likeness : (m, n) of what is placed. weight : (m, n) of the other classes, 0 for its own."""
    m = len(likeness)
    if not m:
        none, no_group = np.empty(0), np.empty(0, dtype=np.int64)
        return Fits(own, no_group, none, none, none, none, none)
    fit = correlations(likeness, nearness, weight)
    here = fit[np.arange(m), own]
    elsewhere = np.where(allowed, fit, -np.inf)
    judged = allowed.any(axis=1)
    best = np.where(judged, elsewhere.argmax(axis=1), -1)
    best_fit = np.where(judged, elsewhere.max(axis=1), np.nan)
    here = np.where(judged, here, np.nan)
    margin = best_fit - here
    p_value = p_values(margin)
    return Fits(own, best, here, best_fit, margin, p_value, adjusted(p_value))


def correlations(likeness: Float, nearness: Float, weight: Float) -> Float:
    """(m, n_groups) weighted correlations of rows of likeness (m, n) with rows of nearness
    (n_groups, n); 0 where one of them does not vary.

    weight : (m, n), not negative, 0 for the classes left out; in each row they are multiplied by
    the rank of their likeness to the power -1/4.
    """
    ranked = np.where(weight > 0, likeness, -np.inf)
    rank = np.empty_like(weight)
    order = np.argsort(-ranked, axis=1, kind="stable")
    np.put_along_axis(rank, order, np.arange(1.0, weight.shape[1] + 1)[None], axis=1)
    share = weight * rank**-_DECAY
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    apart = likeness - (share * likeness).sum(axis=1, keepdims=True)
    varies = (share * apart**2).sum(axis=1)
    mean = share @ nearness.T
    spread = np.maximum(share @ (nearness**2).T - mean**2, 0.0)
    both = varies[:, None] * spread
    shared = (share * apart) @ nearness.T
    known = both > 1e-18
    return np.asarray(np.where(known, shared / np.sqrt(np.where(known, both, 1.0)), 0.0))


def _bulk(margin: Float) -> tuple[float, float]:
    """(centre, scale) of the margins that are judged; the scale is 0 where they do not vary."""
    judged = margin[np.isfinite(margin)]
    if not judged.size:
        return 0.0, 0.0
    centre = float(np.median(judged))
    # The median itself, of an odd number, is no distance from it.
    below = judged[judged < centre]
    scale = float(np.median(centre - below)) if below.size else 0.0
    return centre, scale * 1.482602218505602


def p_values(margin: Float) -> Float:
    """(n,) how often a class of the bulk would have so large a margin; NaN where none is judged,
    fewer than `FEWEST_JUDGED` are, or most margins are equal."""
    centre, scale = _bulk(margin)
    n_judged = int(np.isfinite(margin).sum())
    if n_judged < FEWEST_JUDGED or scale <= 1e-12:
        return np.full(len(margin), np.nan)
    return np.asarray(stats.t.sf((margin - centre) / scale, _EFFICIENCY * (n_judged - 1)))


def adjusted(p_value: Float) -> Float:
    """(n,) p-values by the procedure of Benjamini and Hochberg; NaN stays."""
    found = np.full(len(p_value), np.nan)
    known = np.flatnonzero(~np.isnan(p_value))
    if known.size:
        found[known] = stats.false_discovery_control(p_value[known], method="bh")
    return found


def _trust(margin: Float) -> Float:
    """(n,) the weight of each class: less, the more it seems out of place."""
    centre, scale = _bulk(margin)
    if scale <= 1e-12:
        return np.ones(len(margin))
    far = np.where(np.isfinite(margin), (margin - centre) / scale, 0.0)
    return np.maximum(1.0 / (1.0 + np.exp(np.clip(2.0 * (far - _DOUBT), -50, 50))), _LEAST)
