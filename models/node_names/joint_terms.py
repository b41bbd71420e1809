"""Which terms name siblings such that rows, by these names alone, go to their own.

The judge is that of `models.node_names.routing`: a row goes to the name of whose terms it has most,
each counting by its rarity. Each sibling first has the term with the largest weight. Then, one
after the other and `N_TERMS` - 1 times around, each takes of its candidates the term by which the
share of rows that go to the right sibling grows most; a sibling's rows count together as the root
of their number, between one vote for each row and one for each sibling.

A coordinate ascent, one term at a time (as in greedy selection of features), of what `routed`
measures on rows that have no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from models.arrays import Float, Int, Matrix

N_TERMS = 5
MOST_ROWS = 8_000
"""The rows under all siblings by which terms are chosen, at least one of each sibling."""

MOST_SIBLINGS = 512
"""With more siblings the scores of all rows would not fit."""

UNIT = 1e-9
"""Rarities are counted in these, so that equal sums are equal."""


def joint_terms(
    present: Matrix, rows: Sequence[Int], size: Float, candidates: Sequence[Int], rarity: Float
) -> list[list[int]]:
    """For each sibling the columns that name it, at most `N_TERMS`, in the order in which they are
    taken; of equal ones the earlier candidate.

    present : (n_points, D), 0 and 1. rows : of each sibling some of its rows. size : (K,) how many
    it has. candidates : of each sibling columns by falling weight; none: it has no name. At least
    two have some. rarity : (D,) not negative.
    O(terms (K rows with a term + candidates' values)).
    """
    state = _State.of(present, rows, size, candidates, rarity)
    taken: list[list[int]] = [[] for _ in rows]
    for turn in range(N_TERMS):
        for place, own in enumerate(candidates):
            if turn < own.size:
                best = 0 if turn == 0 else state.best(place, taken[place])
                state.take(place, best)
                taken[place].append(best)
    return [own[best].tolist() for own, best in zip(candidates, taken, strict=True)]


@dataclass(frozen=True, slots=True)
class _State:
    """The scores of n rows by the names so far, in `UNIT`.

    true : (n,) the sibling of each row. weight : (n,) how much it counts. score : (n, K), -1 for
    siblings without a name. first, n_first : (n,) the largest score of each row, and how many
    siblings have it. second, n_second : the same of the next smaller score, -2 if there is none.
    row, column : of each sibling the rows that have a candidate, and which. value : of each sibling
    the rarities of its candidates.
    """

    true: Int
    weight: Float
    score: Int
    first: Int
    n_first: Int
    second: Int
    n_second: Int
    row: list[Int]
    column: list[Int]
    value: list[Int]

    @classmethod
    def of(
        cls,
        present: Matrix,
        rows: Sequence[Int],
        size: Float,
        candidates: Sequence[Int],
        rarity: Float,
    ) -> _State:
        share = min(1.0, MOST_ROWS / max(sum(own.size for own in rows), 1))
        some = [
            own[np.linspace(0, own.size, max(1, int(share * own.size)), endpoint=False).astype(int)]
            for own in rows
        ]
        count = np.array([own.size for own in some])
        true = np.repeat(np.arange(count.size), count)
        drawn: Any = present[np.concatenate(some)]
        drawn = sp.csc_array(drawn)
        row, column, value = [], [], []
        for own in candidates:
            part = drawn[:, own].tocoo()
            kept = part.data > 0
            row.append(part.row[kept].astype(np.int64))
            column.append(part.col[kept].astype(np.int64))
            value.append(np.rint(rarity[own] / UNIT).astype(np.int64))
        named = np.array([own.size > 0 for own in candidates])
        score = np.where(named, 0, -1)[None, :].repeat(true.size, axis=0)
        n_named = int(named.sum())
        level = np.zeros(true.size, dtype=np.int64)
        return cls(
            true,
            (np.sqrt(size) / count)[true],
            score,
            level,
            level + n_named,
            level - 2,
            level.copy(),
            row,
            column,
            value,
        )

    def best(self, place: int, taken: Sequence[int]) -> int:
        """The number of the candidate by which the weight of right rows grows most."""
        row, column, value = self.row[place], self.column[place], self.value[place]
        own_score = self.score[row, place]
        is_first = own_score == self.first[row]
        alone = is_first & (self.n_first[row] == 1)
        others = np.where(alone, self.second[row], self.first[row])
        n_others = np.where(alone, self.n_second[row], self.n_first[row] - is_first)
        true = self.true[row]
        held = (self.score[row, true] == others) & (true != place)

        def right(score: Int) -> Float:
            share = np.where(true == place, score >= others, held & (score <= others))
            return share / np.where(score > others, 1, n_others + (score == others))

        gain = right(own_score + value[column]) - right(own_score)
        # NumPy sums up no rows as integers.
        total = np.bincount(column, gain * self.weight[row], value.size).astype(np.float64)
        total[list(taken)] = -np.inf
        return int(np.argmax(np.round(total, 9)))

    def take(self, place: int, number: int) -> None:
        """Adds a candidate to a name."""
        row = self.row[place][self.column[place] == number]
        self.score[row, place] += self.value[place][number]
        score = self.score[row]
        first = score.max(axis=1, initial=-2)
        is_first = score == first[:, None]
        rest = np.where(is_first | (score < 0), -2, score)
        second = rest.max(axis=1, initial=-2)
        self.first[row], self.n_first[row] = first, is_first.sum(axis=1)
        self.second[row] = second
        self.n_second[row] = (rest == second[:, None]).sum(axis=1)
