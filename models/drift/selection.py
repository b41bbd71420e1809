"""Hypotheses arranged in a tree, selected from the top under control of false discoveries.

TreeBH of Bogomolov, Peterson, Benjamini and Sabatti, "Hypotheses on a tree: new error rates and
testing strategies" (Biometrika 108, 2021). A hypothesis above others says that all of these hold;
its p-value is theirs combined by Simes. A family, the hypotheses below one that was rejected, is
tested by the procedure of Benjamini and Hochberg at the level of the family above times the share
of that which was rejected. For independent p-values, and in practice for positively dependent
ones, the selective false discovery rate is at most the level at each depth: the mean, over the
rejected families, of the expected share of false rejections in a family, itself averaged along the
way down. With one level of hypotheses it is the procedure of Benjamini and Hochberg.

Where only some of the rejected hypotheses are listed, since they stand for the others, the listed
ones are what is to be mostly true: Focused BH of Katsevich, Sabatti and Bogomolov, "Filtering the
rejection set while preserving false discovery rate control" (JASA 118, 2023) rejects by how many
would be listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from models.arrays import Array, Float, Int, Mask


@dataclass(frozen=True, slots=True)
class Selection:
    """p_value : (n,) of each hypothesis; above others, theirs combined. rejected : (n,)."""

    p_value: Float
    rejected: Mask


def selected(parent: Int, p_value: Float, level: float) -> Selection:
    """The hypotheses that TreeBH rejects.

    parent : (n,) the hypothesis above each, -1 for those of the first family; parents come first.
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
