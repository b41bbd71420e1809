"""Whether names tell siblings apart: rows that had no part in the names, routed by these alone.

The rows are dealt to `N_FOLDS` parts. For each part names are made of the other parts; then, at
each node of which two children or more have names, a judge sends each row of the part to one of
the children. It sees the names and the row. The share of a node is that of its rows that are sent
to it, not to a sibling.

Where t names fit a row equally well, it counts 1 / t: names that say the same, or nothing that rows
have, have the share of a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from models.arrays import Float, Int, Mask, Matrix
from models.drift.proportions import wilson
from models.node_names.terms import distinctive_columns, of_presence
from models.tree.cut import finest_cut, rows_at
from models.tree.tree import Tree

N_FOLDS = 5
MOST_ROWS = 20_000
"""The most rows that are routed."""
FEWEST = 20
"""A split of fewer rows is not warned of: no share of so few says much."""
MOST_LISTED = 5

Judge = Callable[[Sequence[int], Int], Float]
"""From children and rows to (n_rows, n_children) how well the name of each fits each row, -inf
throughout for a child without a name."""

Namer = Callable[[Int], Judge]
"""From the rows that names may be made of to the judge by these names."""

TermsOf = Callable[[Int], Mapping[int, Sequence[tuple[int, float]]]]
"""From the rows that names may be made of to the columns of each node, with their weights."""

Below = Mapping[int, Sequence[int]]
"""The children of each node above a cut."""


@dataclass(frozen=True, slots=True)
class Tally:
    """n_right : how many of n rows were sent to the right child, ties as shares."""

    n_right: float = 0.0
    n: int = 0

    @property
    def share(self) -> float:
        return self.n_right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, of 95%."""
        low, high = wilson(np.array([self.n_right]), np.array([self.n]))
        # Wilson's ends at 0 and 1 are these up to rounding.
        return min(float(low[0]), self.share), max(float(high[0]), self.share)

    def plus(self, n_right: float, n: int) -> Tally:
        return Tally(self.n_right + n_right, self.n + n)


@dataclass(frozen=True, slots=True)
class Routed:
    """What was routed; at least one row.

    of_node : by node, the rows under it, at the split that made it. at_split : by parent, the rows
    under all its children. draw : by parent, the share of a draw among its children with names,
    which is never right for rows under the others.
    share, low, high : over all rows and splits, with an interval of 95% that takes the decisions
    about one row as dependent. n_rows : rows that were routed.
    """

    of_node: Mapping[int, Tally]
    at_split: Mapping[int, Tally]
    draw: Mapping[int, float]
    share: float
    low: float
    high: float
    n_rows: int

    @property
    def by_draw(self) -> float:
        """The share over all splits if each row were sent by a draw."""
        n = sum(tally.n for tally in self.at_split.values())
        return sum(self.draw[at] * tally.n for at, tally in self.at_split.items()) / n

    @property
    def warnings(self) -> tuple[str, ...]:
        """The splits, from the largest, at which names are not shown to be better than a draw."""
        unclear = [
            (tally.n, node)
            for node, tally in self.at_split.items()
            if tally.n >= FEWEST and tally.interval[0] <= self.draw[node]
        ]
        if not unclear:
            return ()
        unclear.sort(key=lambda each: (-each[0], each[1]))
        shown = ", ".join(str(node) for _, node in unclear[:MOST_LISTED])
        more = f" and {len(unclear) - MOST_LISTED} more" if len(unclear) > MOST_LISTED else ""
        return (
            f"The names of the children of node(s) {shown}{more} are not shown to tell them "
            "apart: by names alone, the share of rows sent to the right child is not clearly above "
            "that of a draw.",
        )


def routed(tree: Tree, n_clusters: int, namer: Namer) -> Routed | None:
    """The rows of the tree, at most `MOST_ROWS` drawn, routed by names that they had no part in;
    None where no node has two children with names.

    n_clusters : of the cut whose nodes, with all above, have names. Cost: `N_FOLDS` times `namer`,
    and the judge for each row at each node above it.
    """
    parts = dealt(tree)
    if len(parts) < 2:
        return None
    cover = finest_cut(tree, n_clusters).cover
    at = cover[rows_at(tree, cover)]
    below = children_above(tree, cover)
    of_node: dict[int, Tally] = {}
    at_split: dict[int, Tally] = {}
    n_drawn: dict[int, float] = {}
    right_of_row, splits_of_row = np.zeros(tree.n_points), np.zeros(tree.n_points)
    for others, part in parts:
        judge = namer(others)
        under = rows_under(below, part, at)
        for parent, children in below.items():
            if len(children) < 2 or parent not in under:
                continue
            rows = under[parent]
            sizes = [under[child].size if child in under else 0 for child in children]
            own = np.repeat(np.arange(len(children)), sizes)
            fit = judge(children, rows)
            named: Mask = np.logical_not(np.isneginf(fit).all(axis=0))
            if named.sum() < 2:
                continue
            best = fit.max(axis=1, keepdims=True)
            alike = np.asarray(fit >= best - 1e-12 * np.abs(best))
            right = alike[np.arange(rows.size), own] / alike.sum(axis=1)
            right[~named[own]] = 0.0
            right_of_row[rows] += right
            splits_of_row[rows] += 1
            drawn = int(named[own].sum()) / int(named.sum())
            n_drawn[parent] = n_drawn.get(parent, 0.0) + drawn
            at_split[parent] = at_split.get(parent, Tally()).plus(float(right.sum()), rows.size)
            for number, child in enumerate(children):
                mine = right[own == number]
                if mine.size:
                    of_node[child] = of_node.get(child, Tally()).plus(float(mine.sum()), mine.size)
    total = splits_of_row.sum()
    if not total:
        return None
    share = float(right_of_row.sum() / total)
    n_rows = int((splits_of_row > 0).sum())
    error = float(np.sqrt(((right_of_row - share * splits_of_row) ** 2).sum()) / total)
    # Wilson's interval of as many independent decisions as have this error; where rows do not
    # differ, of as many as there are rows.
    n_apart = n_rows if error < 1e-9 else min(share * (1 - share) / error**2, float(total))
    low, high = (float(end[0]) for end in wilson(np.array([share * n_apart]), np.array([n_apart])))
    return Routed(
        of_node,
        at_split,
        {parent: n_drawn[parent] / tally.n for parent, tally in at_split.items()},
        share,
        min(low, share),
        max(high, share),
        n_rows,
    )


def dealt(tree: Tree) -> list[tuple[Int, Int]]:
    """For each part of at most `MOST_ROWS` rows: all rows that are not in it, and the part."""
    order = np.random.default_rng(0).permutation(tree.n_points)
    parts = [part for part in np.array_split(order[:MOST_ROWS], N_FOLDS) if part.size]
    return [(np.setdiff1d(order, part), part) for part in parts]


def terms_of(tree: Tree, present: Matrix, n_clusters: int) -> TermsOf:
    """`distinctive_columns` of rows, which are kept for whoever needs the same rows next."""
    known: dict[bytes, Mapping[int, Sequence[tuple[int, float]]]] = {}

    def found(rows: Int) -> Mapping[int, Sequence[tuple[int, float]]]:
        key = sha256(rows.tobytes()).digest()
        if key not in known:
            known[key] = distinctive_columns(tree, present, n_clusters, rows)
        return known[key]

    return found


def by_terms(present: Matrix, names_by: TermsOf) -> Namer:
    """Names by their distinctive terms. A row goes to the name of whose terms it has most: the sum
    of log((1 + N) / (1 + n)), where n of the N rows that made the names have the term. Where values
    count, the sum of what the row has more than the column's mean.

    present : (n_points, D) as `models.node_names.terms.presence` gives it.
    """
    is_presence = of_presence(present)

    def namer(rows: Int) -> Judge:
        names = names_by(rows)
        have = np.asarray((present[rows] > 0).sum(axis=0)).ravel()
        rarity = np.log((1.0 + rows.size) / (1.0 + have))

        def judge(children: Sequence[int], routed: Int) -> Float:
            fit = np.full((routed.size, len(children)), -np.inf)
            own: Any = present[routed]
            for place, child in enumerate(children):
                if child in names:
                    columns = [column for column, _ in names[child]]
                    has = own[:, columns]
                    fit[:, place] = has @ rarity[columns] if is_presence else (has - 1).sum(axis=1)
            return fit

        return judge

    return namer


def children_above(tree: Tree, cover: Int) -> dict[int, list[int]]:
    """The children of each node above the cut, the lowest nodes first."""
    below: dict[int, list[int]] = {}
    waiting, seen = cover.tolist(), set(cover.tolist())
    while waiting:
        node = waiting.pop()
        parent = int(tree.parent[node])
        if parent < 0:
            continue
        below.setdefault(parent, []).append(node)
        if parent not in seen:
            seen.add(parent)
            waiting.append(parent)
    # Children come after their parents.
    return {parent: sorted(below[parent]) for parent in sorted(below, reverse=True)}


def rows_under(below: Below, part: Int, at: Int) -> dict[int, Int]:
    """The rows of the part under each node, in the order of its children.
    O(rows times depth).

    at : (n_points,) the node of the cut that each row lies under.
    """
    order = part[np.argsort(at[part], kind="stable")]
    nodes, first = np.unique(at[order], return_index=True)
    rows = dict(zip(nodes.tolist(), np.split(order, first[1:]), strict=True))
    for parent, children in below.items():
        own = [rows[child] for child in children if child in rows]
        if own:
            rows[parent] = np.concatenate(own)
    return rows
