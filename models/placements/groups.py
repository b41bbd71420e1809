"""The classes that a tree and a hierarchy share, and the groups of the hierarchy over them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from models.arrays import Float, Int, Mask
from models.errors import UsageError, listed
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
