"""The forms of the positions of a map: JSON, CSV, npy, Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.forms.form import Chunks, Form
from app.forms.parts import IDS, json_object, slices
from app.forms.tree import npy_chunks
from models.arrays import Int, Single
from workers.formats.table_writers import Piece, arrow_chunks, csv_chunks, json_rows

_COLUMNS = ["row", "x", "y"]


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of points in an order.

    row : (n_points,) the rows in the order in which they are written. xy : (n_points, 2) float32.
    """

    row: Int
    xy: Single

    @classmethod
    def of(cls, path: Path, row: Int | None) -> Positions:
        """The positions of a map's file, mapped. row : the order; None: that of the file."""
        xy = np.load(path, mmap_mode="r", allow_pickle=False)
        return cls(np.arange(len(xy)), xy) if row is None else cls(row, xy[row])

    def pieces(self) -> Iterator[Piece]:
        for rows, xy in zip(slices(self.row, IDS), slices(self.xy, IDS), strict=True):
            yield [rows, xy[:, 0], xy[:, 1]]


def _json(positions: Positions) -> Chunks:
    yield from json_object({"items": json_rows(_COLUMNS, positions.pieces())})
    yield b"\n"


def _csv(positions: Positions) -> Chunks:
    return csv_chunks(_COLUMNS, positions.pieces())


def _npy(positions: Positions) -> Chunks:
    return npy_chunks(positions.xy)


def _arrow(positions: Positions) -> Chunks:
    import pyarrow as pa

    columns = (positions.row, positions.xy[:, 0], positions.xy[:, 1])
    arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
    return arrow_chunks(pa.table(dict(zip(_COLUMNS, arrays, strict=True))))


FORMS: tuple[Form[Positions], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
    Form("npy", "application/x-npy", _npy),
    Form("arrow", "application/vnd.apache.arrow.file", _arrow),
)
