"""Which classes are taken for which, by the probabilities of the rows alone.

The expected confusion of class a with class b is the mean, over the rows whose largest logit is
that of a, of the softmax probability of b. `ClassPairs.mass` is its numerator, so

    mass[a, b] = sum over rows r with argmax x_r = a of softmax(x_r / temperature)[b],

and mass[a, b] / total[a] is the mean. Each row adds up to 1 over its own class (`right`), the
classes listed of it (the pairs) and all others (`rest`). Only the eight best other classes of a row
are listed, so a pair's mass is a lower bound, and exact with at most nine classes; `rest` is what
the pairs of a class lack together.

Errors: a probability has the relative error of float32 numbers, at most 3e-7 of a listed class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Arrays, Float, Int
from models.methods.logits.merging.loops import merges as merge_loops
from models.methods.logits.merging.loops import pairs as pair_loops
from models.methods.logits.merging.row_digest import Digest

MOST_PAIRS = 1 << 19
"""The most pairs that are kept, 8 MiB; those with the largest masses."""

_TABLE_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class ClassPairs:
    """Pairs of different classes with a mass, by class.

    of, taken_for, mass : (n_pairs,) the class of rows, another class, the sum of its probabilities.
    right : (K,) sum of the probabilities of the rows' own class.
    rest : (K,) sum of the probabilities of classes that are not listed.
    most : (K,) upper bound on what any pair of the class lacks, or has where it is not kept; for a
        digest with open tails of no use.
    total : (K,) number of rows.
    n_dropped, dropped : number of pairs beyond `MOST_PAIRS`, and their mass.
    """

    of: Int
    taken_for: Int
    mass: Float
    right: Float
    rest: Float
    most: Float
    total: Float
    n_dropped: int = 0
    dropped: float = 0.0

    def arrays(self) -> Arrays:
        """What a model keeps: 16 bytes a pair and 32 a class."""
        return {
            "confused.of": self.of.astype(np.int32),
            "confused.taken_for": self.taken_for.astype(np.int32),
            "confused.mass": self.mass,
            "confused.right": self.right,
            "confused.rest": self.rest,
            "confused.most": self.most,
            "confused.total": self.total,
        }


def class_pairs(digest: Digest, most: int = MOST_PAIRS) -> ClassPairs:
    """The pairs of the rows of a digest; rows whose probabilities it lacks are left out.

    O(n M + K), or O(n M + K^2) for few classes. Memory: a table of at most 32 MiB, or 8 bytes a row
    and 24 for each of 2 `most` pairs.
    """
    n_classes, n_listed = len(digest.size), digest.listed.shape[1]
    rest, bound, total, others = np.zeros((4, n_classes))
    n_cells = n_classes**2
    lists = digest.listed, digest.weight, digest.tail, digest.second
    if 8 * n_cells <= _TABLE_BYTES and n_cells <= max(1 << 16, digest.listed.size):
        mass = np.zeros((n_classes, n_classes))
        pair_loops.table(digest.label, *lists, mass, rest, bound, total)
        cell = np.flatnonzero(mass)
        pairs = _Pairs(cell // n_classes, cell % n_classes, mass.reshape(-1)[cell]).largest(most)
        return _with_sums(pairs, mass.sum(axis=1), rest, bound, total)
    start = np.concatenate(([0], np.cumsum(digest.size)))
    order = np.empty(len(digest.label), dtype=np.int64)
    merge_loops.by_class(digest.label, start, order)
    work = np.zeros(n_classes), np.empty(n_classes, dtype=np.int64)
    room = n_classes + min(2 * most, len(order) * n_listed)
    held = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    of, taken_for, mass = held
    pairs, c = _Pairs(of[:0], taken_for[:0], mass[:0]), 0
    while c < n_classes:
        c, n = pair_loops.of_classes(
            c, order, start, *lists, *work, rest, bound, total, others, held
        )
        pairs = pairs.joined(_Pairs(of[:n], taken_for[:n], mass[:n])).largest(most)
    return _with_sums(pairs, others, rest, bound, total)


@dataclass(frozen=True, slots=True)
class _Pairs:
    of: Int
    taken_for: Int
    mass: Float
    n_dropped: int = 0
    dropped: float = 0.0
    largest_dropped: float = 0.0

    def joined(self, other: _Pairs) -> _Pairs:
        return _Pairs(
            np.concatenate((self.of, other.of)),
            np.concatenate((self.taken_for, other.taken_for)),
            np.concatenate((self.mass, other.mass)),
            self.n_dropped,
            self.dropped,
            self.largest_dropped,
        )

    def largest(self, most: int) -> _Pairs:
        """The `most` pairs with the largest masses, in their order; of equal masses the first."""
        n = len(self.mass)
        if n <= most:
            return self
        least = np.partition(self.mass, n - most)[n - most]
        kept = self.mass > least
        equal = np.flatnonzero(self.mass == least)
        kept[equal[: most - np.count_nonzero(kept)]] = True
        return _Pairs(
            self.of[kept],
            self.taken_for[kept],
            self.mass[kept],
            self.n_dropped + n - most,
            self.dropped + float(self.mass[~kept].sum()),
            max(self.largest_dropped, float(least)),
        )


def _with_sums(pairs: _Pairs, others: Float, rest: Float, bound: Float, total: Float) -> ClassPairs:
    right = np.maximum(total - others - rest, 0.0)
    most = bound + pairs.largest_dropped
    columns = pairs.of, pairs.taken_for, pairs.mass
    return ClassPairs(*columns, right, rest, most, total, pairs.n_dropped, pairs.dropped)
