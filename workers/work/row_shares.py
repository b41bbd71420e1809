"""Work on rows that are alone, each for itself, in shares: by this process, and by workers that
help where they save more than they cost.

Shares follow from the shapes alone, and each is a pure function of the inputs: whoever computes
them, the result has the same bits. How many go to a worker at a time, a piece, follows from the
processor's time that a few rows of the first one take here: a worker that helps starts a process
and reads the inputs again for each piece, so that a piece is worth `PIECE_S`, and `READINGS` times
the reading.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Array, Arrays
from models.errors import UsageError
from models.inputs.data import Value, first_odd_row, from_row
from models.inputs.rows import RowRange, Rows
from models.roles import role_of
from models.running.progress import Piece, Progress
from workers.work.crew import Coordinator, Crew

SHARE_ROWS = 65_536
"""Rows of a share, or a multiple: as many as `workers.formats.table_writers` has in a batch."""

PIECE_S, READINGS = 1.0, 4.0
"""The least seconds of a processor in a piece, and how many times the reading of the inputs they
are. A process starts in about .1 s."""

TRIED_ROWS = 2_048
"""Rows at both ends of the first share that show what a share takes."""

MOST_AT_ONCE = 64
"""Pieces of one call, at most; more would only be shorter."""

SHARES = "shares"
"""The member of a piece with its shares: rows, not numbers, so that a helper of a version that cuts
elsewhere answers for the same ones."""

Share: TypeAlias = tuple[int, int]
"""Where a share of the rows begins and ends."""

OfShare: TypeAlias = Callable[[Share], Arrays]


def shares(n_rows: int, n_nodes: int) -> list[Share]:
    """All shares, in order; what is looked up in `n_nodes` nodes or points costs less than what is
    done for the rows of one."""
    step = SHARE_ROWS * max(1, -(-n_nodes // SHARE_ROWS))
    return list(pairwise([*range(0, n_rows, step), n_rows]))


def n_rows_of(values: Mapping[str, Value]) -> int | None:
    """The number of rows of inputs that can be cut by rows; None for others."""
    found = set()
    for role, value in values.items():
        if not role_of(role).of_points:
            return None
        for part in value if isinstance(value, tuple) else (value,):
            if not isinstance(part, (np.ndarray, sp.csr_array, Rows, list)):
                return None
            found.add(len(part) if isinstance(part, list) else int(part.shape[0]))
    return found.pop() if len(found) == 1 else None


def rows_of(values: Mapping[str, Value], share: Share) -> dict[str, Value]:
    """The inputs of the rows of a share, of which nothing is copied."""
    cut: dict[str, Any] = {}
    for role, value in values.items():
        if isinstance(value, tuple):
            cut[role] = tuple(_part(each, share) for each in value)
        else:
            cut[role] = _part(value, share)
    return cut


def _part(value: Any, share: Share) -> Any:
    return RowRange(value, *share) if isinstance(value, Rows) else value[slice(*share)]


@dataclass(frozen=True, slots=True)
class Division:
    """How shares are divided.

    coordinator : hands out the pieces, which `piece_of_shares` answers; None: all are computed
    here. reading_s : the processor's time that a helper needs to read the inputs. given : plain
    JSON that each piece gets beside its shares. stage : of the progress.
    """

    progress: Progress
    coordinator: Coordinator | None = None
    reading_s: float = 0.0
    given: Mapping[str, Any] = field(default_factory=dict)
    stage: str = "predicting"


def refuse_early(values: Mapping[str, Value], of_share: OfShare, cut: Sequence[Share]) -> None:
    """Refuse the first row with a value that is NaN or infinite before any share is computed or
    handed out, where that row alone is refused for it: some are filled, or placed as noise. One
    pass over the values. Where it is a download, it is made only if the rows of the first share
    take `READINGS` times as long as their download.

    cut : the shares.

    Raises UsageError with the row's number among all.
    """
    if n_rows_of(values) is None:
        return
    parts = _parts_of(values)
    near = [part for part in parts if not (isinstance(part, Rows) and part.far)]
    if len(near) < len(parts) and len(cut) > 1:
        begun_s = time.monotonic()
        _refuse_first(_parts_of(rows_of(values, cut[0])), of_share)
        downloaded_s = time.monotonic() - begun_s
        # What is wrong with these rows together, `in_shares` finds again.
        with suppress(UsageError):
            if _tried_s(cut[0], of_share) > READINGS * downloaded_s:
                near = parts
    _refuse_first(near, of_share)


def _parts_of(values: Mapping[str, Value]) -> list[Any]:
    return [
        part
        for value in values.values()
        for part in (value if isinstance(value, tuple) else (value,))
        if isinstance(part, (np.ndarray, sp.csr_array, Rows))
    ]


def _refuse_first(parts: Sequence[Any], of_share: OfShare) -> bool:
    """Whether there is a row with such a value, which is not refused."""
    odd = [row for part in parts if (row := first_odd_row(part)) is not None]
    if odd:
        _refuse_alone(of_share, min(odd))
    return bool(odd)


def _refuse_alone(of_share: OfShare, row: int) -> None:
    try:
        of_share((row, row + 1))
    except UsageError as error:
        named = from_row(error, row)
        if named is not None:
            raise named from error


class _RefusedRow(Exception):
    """error : of a row that is refused for a value, with its number among all."""

    def __init__(self, error: UsageError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def else_together(values: Mapping[str, Value], of_share: OfShare) -> Iterator[None]:
    """Errors of shares within (`in_shares`) end nothing, since they count rows from their first:
    the caller then takes all rows together. But a row that is refused for a value that is NaN or
    infinite ends the work at once: the first one, whichever share came first. Where a row before it
    has such a value and is not refused, all rows together show which is the first.

    Raises UsageError with the row's number among all.
    """
    try:
        yield
    except _RefusedRow as refused:
        before = (0, int(refused.error.where["row"]))
        if not _refuse_first(_parts_of(rows_of(values, before)), of_share):
            raise refused.error from refused
    except UsageError:
        return


def in_shares(
    cut: Sequence[Share], of_share: OfShare, division: Division
) -> Iterator[tuple[int, Arrays]]:
    """Each share's number and arrays, in any order; within `else_together`. Some rows of the first
    share are computed here beforehand, whoever computes the shares."""

    def found_in(share: Share) -> Arrays:
        try:
            return of_share(share)
        except UsageError as error:
            named = from_row(error, share[0])
            if named is None:
                raise
            raise _RefusedRow(named) from error

    progress, coordinator = division.progress, division.coordinator
    progress(0.0, division.stage)
    each_s = _tried_s(cut[0], found_in)
    worth_s = max(PIECE_S, READINGS * division.reading_s)
    n_pieces = min(MOST_AT_ONCE, len(cut), int(len(cut) * each_s / worth_s))
    if n_pieces < 2:
        n_pieces, coordinator = len(cut), None
    edges = [len(cut) * number // n_pieces for number in range(n_pieces + 1)]
    pieces: list[Piece] = [{**division.given, SHARES: cut[a:b]} for a, b in pairwise(edges)]

    def compute(piece: Piece, within: Progress) -> Arrays:
        return piece_of_shares(found_in, piece, within, division.stage)

    for number, found in Crew(compute, progress, coordinator=coordinator).compute(pieces):
        yield from enumerate(_apart(found, len(pieces[number][SHARES])), edges[number])


def _tried_s(share: Share, of_share: OfShare) -> float:
    """The processor's time that a share takes, by some of its rows: the second part of them, since
    the first call loads what it needs."""
    first, last = share
    n_tried = max(1, min(TRIED_ROWS, (last - first) // 2))
    of_share((first, first + n_tried))
    begun_s = time.process_time()
    of_share((last - n_tried, last))
    return (time.process_time() - begun_s) * (last - first) / n_tried


def piece_of_shares(
    of_share: OfShare, piece: Piece, progress: Progress, stage: str = "predicting"
) -> Arrays:
    """The arrays of all shares of a piece."""
    found: dict[str, Array] = {}
    own = piece[SHARES]
    for place, (first, last) in enumerate(own):
        rows = f"rows {first:,} to {last:,}"
        progress(place / len(own), stage, rows)
        found |= {f"{place}.{name}": array for name, array in of_share((first, last)).items()}
        progress((place + 1) / len(own), stage, rows)
    return found


def _apart(found: Arrays, n_shares: int) -> list[Arrays]:
    parts: list[dict[str, Array]] = [{} for _ in range(n_shares)]
    for name, array in found.items():
        place, _, own = name.partition(".")
        parts[int(place)][own] = np.asarray(array)
    return list(parts)
