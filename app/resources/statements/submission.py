"""Labels of a tree's rows from statements about its nodes and rows.

Statements become groups of rows of one cluster. A node stands for all rows under it: a node that
is known inside another one known under another name contradicts it, for a row has one label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from app.http.problems import Refused, refused_at
from app.resources.statements.schemas import ContradictionBody, Points, Statement
from models.arrays import Int
from models.errors import shown
from models.inputs.pairs import Contradiction, Groups, Known, contradictions, known
from models.tree.tree import Tree
from models.tree.walk import spans

MOST_ROWS = 20_000_000
"""The most rows that the statements of one request name in all, doubled ones included."""
MOST_CONTRADICTIONS = 100
"""The most that are listed; of large trees fewer, since each takes a pass over the rows."""
_ROW_PASSES = 20_000_000
_FEW = 3


@dataclass(frozen=True, slots=True)
class Grouped:
    """groups : of rows. statement : (n_groups,) the place of each group's statement."""

    groups: Groups
    statement: list[int]


def labelled(tree: Tree, statements: Sequence[Statement]) -> Known:
    """The known clusters among the rows of a tree.

    Raises Refused `wrong-input` for a node or row that is not there and a node without rows, and
    `contradiction` listing the statements that contradict each other.
    """
    grouped = _grouped(tree, statements)
    passes = _ROW_PASSES // (tree.n_points + grouped.groups.row.size)
    number, described = contradictions(grouped.groups, min(MOST_CONTRADICTIONS, max(3, passes)))
    if number:
        raise _contradicted(number, [_body(each, grouped, statements) for each in described])
    return known(grouped.groups)


def _grouped(tree: Tree, statements: Sequence[Statement]) -> Grouped:
    names = sorted({each.name for each in statements if each.name is not None})
    rows: list[Int] = []
    places: list[int] = []
    name: list[int] = []
    apart: list[tuple[int, int]] = []
    total = 0
    for place, statement in enumerate(statements):
        parts = []
        for number, part in enumerate(statement.parts):
            size = (
                len(part.rows) if isinstance(part, Points) else _size(tree, part, place, statement)
            )
            total += size
            if total > MOST_ROWS:
                raise refused_at(
                    "wrong-input",
                    f"The statements up to number {place} (counted from 0) name more than "
                    f"{MOST_ROWS} rows in all; make fewer, or about smaller nodes.",
                    "statements",
                    place,
                )
            parts.append(_rows(tree, part, place, statement, number))
        groups = parts if statement.apart is not None else [np.unique(np.concatenate(parts))]
        first = len(rows)
        apart += combinations(range(first, first + len(groups)), 2) if statement.apart else []
        rows += groups
        places += [place] * len(groups)
        name += [-1 if statement.name is None else names.index(statement.name)] * len(groups)
    return Grouped(
        Groups(
            tree.n_points,
            np.concatenate(rows),
            np.repeat(np.arange(len(rows)), [len(some) for some in rows]),
            np.array(name, dtype=np.int64),
            names,
            np.array(apart, dtype=np.int64).reshape(-1, 2),
        ),
        places,
    )


def _size(tree: Tree, node: int, place: int, statement: Statement) -> int:
    """The number of rows under a node. Raises Refused where there is no such node, or no row."""
    if node >= tree.n_nodes:
        why = f"there is no node {node}; the tree has the nodes 0 to {tree.n_nodes - 1}"
    elif not tree.size[node]:
        why = f"node {node} has no rows"
    else:
        return int(tree.size[node])
    raise _refused(place, statement, why)


def _rows(tree: Tree, part: int | Points, place: int, statement: Statement, number: int) -> Int:
    """The rows of one part of a statement, ascending."""
    if not isinstance(part, Points):
        return spans(tree).rows(tree, part)
    rows = np.unique(np.array(part.rows, dtype=np.int64))
    if rows[-1] >= tree.n_points:
        why = f"there is no row {rows[-1]}; the tree has the rows 0 to {tree.n_points - 1}"
        raise _refused(
            place, statement, why, *([] if statement.known is not None else [number]), "rows"
        )
    return rows


def _refused(place: int, statement: Statement, why: str, *below: str | int) -> Refused:
    detail = f"Statement {place} (counted from 0): {why}."
    return refused_at("wrong-input", detail, "statements", place, statement.kind, *below)


def _contradicted(number: int, described: list[ContradictionBody]) -> Refused:
    more = f" There are {number} contradictions in all." if number > 1 else ""
    return Refused(
        "contradiction",
        f"{described[0].detail}{more}",
        errors=[
            {"detail": each.detail, "pointer": ["statements", place]}
            for each in described
            for place in each.statements
        ],
        contradictions=[each.model_dump() for each in described],
        n_contradictions=number,
    )


def _body(
    each: Contradiction, grouped: Grouped, statements: Sequence[Statement]
) -> ContradictionBody:
    places = list(dict.fromkeys(grouped.statement[group] for group in each.groups))
    texts = [f"{place} ({_text(statements[place])})" for place in places]
    if len(texts) == 1:
        what = f"Statement {texts[0]} contradicts itself"
    else:
        others = "statement " + texts[1] if len(texts) == 2 else "statements " + _joined(texts[1:])
        what = f"Statement {texts[0]} contradicts {others}"
    if each.n_rows:
        few = _joined([str(row) for row in each.rows[:_FEW]])
        rows = f"{each.n_rows} rows, such as {few}," if each.n_rows > _FEW else f"row(s) {few}"
        what += f": {rows} in common"
    return ContradictionBody(
        statements=places, detail=f"{what}.", n_rows=each.n_rows, rows=list(each.rows)
    )


def _text(statement: Statement) -> str:
    """What a statement says, in a few words."""
    parts = [
        f"{len(part.rows)} row(s)" if isinstance(part, Points) else f"node {part}"
        for part in statement.parts
    ]
    more = f" and {len(parts) - _FEW} more" if len(parts) > _FEW else ""
    whole = _joined(parts) if not more else ", ".join(parts[:_FEW]) + more
    named = "" if statement.name is None else f" {shown(statement.name)}"
    if statement.apart is not None:
        return f"{whole} are apart"
    if statement.known is not None or len(parts) == 1:
        return f"{whole} is{named or ' one cluster'}"
    return f"{whole} are one{',' if named else ''}{named}"


def _joined(texts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
