"""Which rows or leaves of two trees are the same, and which of them moved."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from models.arrays import Int
from models.errors import UsageError
from models.tree.moves import LEAST, MOST, NONE, Match, SharedLeaves, moves
from models.tree.noise import noise_of
from models.tree.rows import matched, names_of_rows
from models.tree.tree import Tree
from models.tree.walk import spans

_NAMES = 3
_WHOLE = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class PairedTrees:
    """Two trees over the same rows: the nodes of both, with the rows that they have in common.

    by : what rows were matched by. left_only, right_only : leaves without a counterpart.
    """

    left: Tree
    right: Tree
    by: Literal["row", "name"]
    left_only: int = 0
    right_only: int = 0
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, left: Tree, right: Tree, match: Match) -> PairedTrees:
        """Raises UsageError `wrong-shape` for trees that have too little in common."""
        same = left.n_points == right.n_points
        if match == "row" and not same:
            raise UsageError(
                f"The trees are of {left.n_points:,} and {right.n_points:,} rows, so they have not "
                "the same; `match=name` compares leaves of the same names.",
                code="wrong-shape",
                parameter="match",
            )
        if same and match != "name":
            ordered, by_name = matched(left, right)
            if by_name:
                return cls(left, ordered, "name")
            is_of_rows = _single(left) or _single(right)
            if match == "row" or not is_of_rows or _numbers_clusters(left, right):
                return cls(left, right, "row")
            # Where a leaf is one row, the names may say that the rows are others.
            shared = SharedLeaves.of(left, right)
            if len(shared.names) < LEAST:
                return cls(left, right, "row", warnings=_renamed(left, right))
        else:
            shared = SharedLeaves.of(left, right).require()
        return cls(
            *shared.trees(left, right),
            "name",
            len(shared.left_only),
            len(shared.right_only),
            (*shared.warnings(), *_numbered_warnings(left, right)),
        )


def _single(tree: Tree) -> bool:
    return tree.n_points == tree.n_leaves and bool((tree.size[tree.leaves] == 1).all())


def _numbers_clusters(left: Tree, right: Tree) -> bool:
    """Whether one tree has its rows as leaves and the other clusters, and either calls them by
    numbers: the same name is then another thing."""
    if _single(left) == _single(right):
        return False
    rows, clusters = (left, right) if _single(left) else (right, left)
    return names_of_rows(rows) is None or _has_numbered_clusters(clusters)


def _has_numbered_clusters(tree: Tree) -> bool:
    if _single(tree):
        return False
    names = tree.name[tree.leaves][~noise_of(tree)[tree.leaves]]
    return all(name is None or _WHOLE.fullmatch(name) for name in names)


def _numbered_warnings(left: Tree, right: Tree) -> tuple[str, ...]:
    """A warning where clusters that have only numbers were matched by these."""
    if not (_has_numbered_clusters(left) or _has_numbered_clusters(right)):
        return ()
    return (
        "Leaves of the same number were matched, but each fit numbers its clusters anew: unless "
        "these numbers are names, what is compared is not the same.",
    )


def _renamed(left: Tree, right: Tree) -> tuple[str, ...]:
    """A warning where both trees name their rows, and differently."""
    if not (_single(left) and _single(right)):
        return ()
    if any(name is None for tree in (left, right) for name in tree.name[tree.leaves]):
        return ()
    return (
        "The leaves of the trees have different names; they were matched by the numbers of their "
        "rows.",
    )


@dataclass(frozen=True, slots=True)
class MovedLeaves:
    """What moved, as served. n_groups, n_kept : groups of the left tree, and those kept."""

    moved: list[dict[str, Any]]
    n_groups: int = 0
    n_kept: int = 0
    warnings: tuple[str, ...] = ()


def moved_leaves(left: Tree, right: Tree, pair: PairedTrees) -> MovedLeaves:
    """The leaves that moved: those matched, where each is one row, else leaves of the same
    names."""
    if pair.by == "name" or (_single(left) and _single(right)):
        first, second = pair.left, pair.right
    elif _numbers_clusters(left, right):
        return MovedLeaves([])
    else:
        shared = SharedLeaves.of(left, right)
        if len(shared.names) < LEAST:
            return MovedLeaves([])
        first, second = shared.trees(left, right)
    n = first.n_points
    if n > MOST:
        return MovedLeaves(
            [], warnings=(f"What moved was not searched for: more than {MOST:,} leaves, {n:,}.",)
        )
    found = moves(first, second)
    names = _row_names(left, first)
    groups = _described(left, first, names), _described(right, second, names)
    moved = [
        {
            "name": names(move.row),
            "left": int(first.leaf_of_point[move.row]),
            "right": int(second.leaf_of_point[move.row]),
            "share": move.share,
            "from": groups[0](move.left, move.row),
            "to": groups[1](move.right, move.row),
        }
        for move in found.moves
    ]
    return MovedLeaves(moved, found.n_groups, found.n_kept)


def _row_names(tree: Tree, rows: Tree) -> Callable[[int], str]:
    """The name of each row: its leaf's, or its number."""

    def name(row: int) -> str:
        own = tree.name[rows.leaf_of_point[row]]
        return str(row) if own is None else str(own)

    return name


def _described(
    tree: Tree, rows: Tree, names: Callable[[int], str]
) -> Callable[[int, int], dict[str, Any] | None]:
    """What the group of a node is, without one row."""
    under = spans(rows)

    def described(node: int, row: int) -> dict[str, Any] | None:
        if node == NONE:
            return None
        inside: Int = under.rows(rows, node)
        others = inside[inside != row].tolist()
        return {
            "node": node,
            "name": tree.name[node],
            "n_names": len(others),
            "names": [names(other) for other in others[:_NAMES]],
        }

    return described
