"""Pairs of rows: of one cluster, of different clusters, or neighbours.

`read_pairs` reads them; `join` gives the known clusters that follow from pairs and labels.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from models.arrays import Int
from models.errors import UsageError, shown
from models.inputs.data import Data
from models.inputs.known_clusters import Contradiction, Groups, Known, contradictions, known

MUST, CANNOT = "must_link", "cannot_link"
_LISTED = 3
"""The most contradictions that a message spells out, and steps of one."""


def read_pairs(data: Data, role: str, n_rows: int, names: list[str] | None = None) -> Int:
    """(n, 2) the rows of an input of pairs; none without it.

    names : of the rows, by which text names them; None where pairs are numbers alone.

    Raises UsageError, naming the pair, for what is no row, for a name that no row or several have,
    and for a row paired with itself.
    """
    if role not in data:
        return np.empty((0, 2), dtype=np.int64)
    given = data.values[role]
    if names is not None and isinstance(given, np.ndarray) and given.dtype == object:
        values = _numbered(given, role, names)
    else:
        values = data.dense(role)
    if values.shape[1] != 2:
        raise UsageError(
            f"Input {role!r} must have two columns, the numbers of two rows; it has "
            f"{values.shape[1]}.",
            code="wrong-shape",
            role=role,
        )
    with np.errstate(invalid="ignore"):
        wrong = ~((values >= 0) & (values < n_rows) & (values == np.floor(values)))
    if wrong.any():
        row, column = (int(place) for place in np.argwhere(wrong)[0])
        raise _refused(
            role,
            row,
            f"has {values[row, column]:g} at row {row}, column {column} (counted from 0); rows of "
            f"the features are numbered 0 to {n_rows - 1}",
        )
    pairs = values.astype(np.int64)
    itself = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if itself.size:
        row = int(itself[0])
        raise _refused(
            role,
            row,
            f"pairs row {pairs[row, 0]} with itself at row {row} (counted from 0); a pair is of "
            "two different rows",
        )
    return pairs


def join(code: Int, names: list[str], must: Int, cannot: Int) -> Known:
    """The known clusters of labels and pairs.

    code : (n_rows,) the label of each row, -1 without one. names : of the labels, each of which
        has a row. must, cannot : (n, 2) rows.

    Raises UsageError `contradiction`, with the chain of labels and pairs that leads to each.
    """
    if not must.size and not cannot.size:
        return Known(code, names, len(names))
    labelled = np.flatnonzero(code >= 0)
    first_must, first_cannot = len(names), len(names) + len(must)
    n_groups = first_cannot + cannot.size
    ends = first_cannot + np.arange(cannot.size)
    groups = Groups(
        code.size,
        np.concatenate([labelled, must.ravel(), cannot.ravel()]),
        np.concatenate([code[labelled], first_must + np.arange(must.size) // 2, ends]),
        np.where(np.arange(n_groups) < len(names), np.arange(n_groups), -1),
        names,
        ends.reshape(-1, 2),
    )
    number, described = contradictions(groups)
    if number:
        spelled = [_sentence(each, names, must, cannot) for each in described[:_LISTED]]
        more = f" There are {number} contradictions in all." if number > len(spelled) else ""
        raise UsageError(
            f"{'Labels and pairs' if names else 'Pairs'} of rows (counted from 0) contradict each "
            f"other: "
            f"{'; '.join(spelled)}.{more}",
            code="contradiction",
            role=CANNOT if described[0].pair is not None else MUST,
            rows=list(described[0].rows),
        )
    return known(groups)


def _sentence(each: Contradiction, names: list[str], must: Int, cannot: Int) -> str:
    """What contradicts what, and by which labels and pairs."""
    if each.pair is None:
        (first, *_, last), (row, *_, other) = each.groups, each.links
        what = (
            f"row {row} is labelled {shown(names[first])} and row {other} {shown(names[last])}, "
            "yet they are one cluster"
        )
    else:
        row, other = cannot[each.pair].tolist()
        what = f"rows {row} and {other} are apart ({CANNOT!r}, pair {each.pair}), yet one cluster"
    # The ends of a chain are the statement itself: labels, or rows that are apart.
    inner = each.groups[1:-1]
    steps = []
    for group, (before, after) in zip(inner, pairwise(each.links), strict=True):
        if group < len(names):
            steps.append(f"{before} and {after} are labelled {shown(names[group])}")
        else:
            pair = group - len(names)
            steps.append(f"{before} and {after} are linked ({MUST!r}, pair {pair})")
    cut = [*steps[:_LISTED], f"and so on, in {len(steps)} steps"]
    return f"{what}: {', '.join(steps if len(steps) <= _LISTED else cut)}"


def _refused(role: str, row: int, why: str) -> UsageError:
    return UsageError(f"Input {role!r} {why}.", code="wrong-input", role=role, row=row)


def _numbered(pairs: npt.NDArray[np.object_], role: str, names: list[str]) -> Int:
    """The row of each name. Raises UsageError for a name that no row or several rows have."""
    row_of: dict[str, int] = {}
    twice: set[str] = set()
    for row, name in enumerate(names):
        if row_of.setdefault(name, row) != row:
            twice.add(name)
    for pair, ends in enumerate(pairs.tolist()):
        for end in map(str, ends):
            if end not in row_of:
                raise _refused(
                    role,
                    pair,
                    f"names {shown(end)} at row {pair} (counted from 0), "
                    "which is the name of no row; names are of the input 'names', "
                    "without it the rows' numbers from 0",
                )
            if end in twice:
                raise _refused(
                    role,
                    pair,
                    f"names {shown(end)} at row {pair} (counted from 0), "
                    "which is the name of several rows; give their numbers",
                )
    flat = [row_of[str(end)] for end in pairs.ravel().tolist()]
    return np.array(flat, dtype=np.int64).reshape(pairs.shape)
