"""The state that a job keeps, and how a later job continues from it with more rows (`base`).

The digest of the old rows is used again, and so are the bounds on rp of groups for which the digest
did not suffice, as long as the larger job forms the same groups. Where it forms others, old rows
are read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import Arrays, Int
from models.inputs.data import Earlier
from models.inputs.rows import Rows, widened
from models.methods.logits.merging.empty_classes import Masses, hosts
from models.methods.logits.merging.engine import LogitsRead, digested, masses
from models.methods.logits.merging.logit_matrix import LogitMatrix
from models.methods.logits.merging.masks import unmasked
from models.methods.logits.merging.merging import KnownBounds
from models.methods.logits.merging.row_digest import Digest, from_arrays, joined
from models.running.progress import Crew


def packed(seen: LogitsRead, learned: Mapping[bytes, KnownBounds]) -> Arrays:
    """The state as named arrays."""
    class_mass = seen.masses
    groups = [np.frombuffer(key, dtype=np.int64) for key in learned]
    known = list(learned.values())
    return {
        **{f"digest.{name}": array for name, array in seen.digest.arrays().items()},
        "parts": seen.parts,
        "masses.filled": class_mass.filled,
        "masses.wanted": class_mass.wanted,
        "masses.total": class_mass.total,
        "known.group": _joined(groups),
        "known.group_end": _ends(groups),
        "known.at": _joined([bounds.at for bounds in known]),
        "known.end": _ends([bounds.at for bounds in known]),
        "known.low": _joined([bounds.low for bounds in known]).astype(np.float64),
        "known.high": _joined([bounds.high for bounds in known]).astype(np.float64),
        "known.n_unknown": np.array([bounds.n_unknown for bounds in known], dtype=np.int64),
    }


def unpacked(arrays: Arrays) -> tuple[Digest, Int, Masses, dict[bytes, KnownBounds]]:
    """The digest, number of rows of each dataset, masses and known bounds from `packed`."""
    digest = from_arrays(
        {
            name.removeprefix("digest."): array
            for name, array in arrays.items()
            if name.startswith("digest.")
        }
    )
    ends = arrays["known.end"][:-1]
    columns = [np.split(arrays[f"known.{name}"], ends) for name in ("at", "low", "high")]
    known = {
        group.astype(np.int64).tobytes(): KnownBounds(
            at, low, high, int(n_unknown), len(digest.label)
        )
        for group, at, low, high, n_unknown in zip(
            np.split(arrays["known.group"], arrays["known.group_end"][:-1]),
            *columns,
            arrays["known.n_unknown"],
            strict=False,
        )
    }
    class_mass = Masses(*(arrays[f"masses.{name}"] for name in ("filled", "wanted", "total")))
    return digest, arrays["parts"], class_mass, known


def _joined(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)


def _ends(arrays: list[npt.NDArray[Any]]) -> Int:
    return np.cumsum([len(array) for array in arrays], dtype=np.int64)


class Stacked(Rows):
    """Several matrices stacked vertically; None stands for a matrix that is gone.

    n_rows : number of rows of each, also of those that are gone.
    readable_from : rows before this number may be gone.
    """

    def __init__(self, parts: list[Rows | None], n_rows: Int) -> None:
        present = [part for part in parts if part is not None]
        self.shape = (int(n_rows.sum()), present[-1].shape[1])
        self.far = any(part.far for part in present)
        self._parts = parts
        self._edges = np.concatenate(([0], np.cumsum(n_rows)))
        same = {(part.dtype, part.bfloat16) for part in present}
        self.bfloat16 = same == {(np.dtype(np.uint16), True)}
        self._plain = len(same) == 1
        self.dtype = present[0].dtype if self._plain else np.dtype(np.float64)
        gone = [i for i, part in enumerate(parts) if part is None]
        self.readable_from = int(self._edges[gone[-1] + 1]) if gone else 0

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        stop = min(stop, self.shape[0])
        first, last = np.searchsorted(self._edges, [start, stop - 1], side="right") - 1
        pieces = [
            self._of(i).read if self._plain else self._of(i).values
            for i in range(int(first), int(last) + 1)
        ]
        blocks = [
            read(max(start - int(self._edges[i]), 0), stop - int(self._edges[i]))
            for i, read in enumerate(pieces, int(first))
        ]
        return (
            blocks[0] if len(blocks) == 1 else np.concatenate([self._as(block) for block in blocks])
        )

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        cuts = np.searchsorted(rows, self._edges)
        blocks = [
            self._as(self._taken(i, rows[a:b] - self._edges[i]))
            for i, (a, b) in enumerate(pairwise(cuts.tolist()))
            if b > a
        ]
        return np.concatenate(blocks) if blocks else np.empty((0, self.shape[1]), self.dtype)

    def _taken(self, part: int, rows: Int) -> npt.NDArray[Any]:
        values = self._of(part).take(rows)
        if self._plain or not self._of(part).bfloat16:
            return values
        return widened(values)

    def _as(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values if self._plain else values.astype(self.dtype)

    def _of(self, part: int) -> Rows:
        rows = self._parts[part]
        assert rows is not None, "rows that are gone are not read"
        return rows


def stacked(earlier: Earlier, rows: Rows, *, masked: bool = False) -> Stacked:
    """The rows of an earlier job's logits followed by new ones. masked : whether classes may be
    masked (`masks`)."""
    n_rows = np.append(earlier.state["parts"], rows.shape[0])
    known = list(earlier.rows.get("logits", ()))
    if masked:
        known = [own if own is None else unmasked(own) for own in known]
    gone: list[Rows | None] = [None] * (len(n_rows) - 1 - len(known))
    return Stacked([*gone, *known, rows], n_rows)


def read(earlier: Earlier, matrix: LogitMatrix, crew: Crew) -> LogitsRead:
    """The result of reading `matrix`, `stacked` on the rows of `earlier`; only new rows are read.

    Raises UsageError if the number of classes differs.
    """
    old, parts, old_masses, known = unpacked(earlier.state)
    rows, n_old = matrix.rows, len(old.label)
    assert isinstance(rows, Stacked)
    digest = joined([old, digested(matrix, n_old, crew)])
    new = masses(matrix, digest.size, crew, start=n_old)
    total = new.total + old_masses.at(new.filled, new.wanted)
    class_mass = Masses(new.filled, new.wanted, total)
    return LogitsRead(
        matrix,
        digest,
        hosts(class_mass, digest.size),
        class_mass,
        np.append(parts, matrix.shape[0] - n_old),
        readable_from=rows.readable_from,
        n_old=n_old,
        known=known,
    )
