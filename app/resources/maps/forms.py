"""The forms of the positions of a map: JSON, CSV, npy, Arrow, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.http.forms import Chunks, Form, npy_chunks
from app.http.json_parts import IDS, json_object, slices
from app.http.picture_forms import picture_forms
from app.pictures.palette import Style, style
from app.pictures.pictured_tree import hues
from app.pictures.raster import MOST_MARKS
from app.pictures.sheet import Sheet
from app.resources.maps.schemas import MapResult, PositionsQuery
from models.arrays import Int, Mask, Single
from models.tree.labels import Categories
from models.tree.tree import Tree
from models.tree.walk import points_in_order, spans
from workers.formats.table_writers import Piece, arrow_chunks, csv_chunks, json_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from app.resources.maps.names import Named


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of points in an order.

    row : (n_points,) the rows in the order in which they are written. xy : (n_points, 2) float32.
    result : what the map shows. tree : its tree, with the categories that colour a picture.
    ids : of all rows, where they have any.
    """

    row: Int
    xy: Single
    result: MapResult
    query: PositionsQuery
    sheet: Sheet
    tree: Tree | None = None
    categories: Categories | None = None
    ids: pa.Array | None = None

    @property
    def columns(self) -> list[str]:
        return ["row", *([] if self.ids is None else ["id"]), "x", "y"]

    def drawn(self) -> str:
        """The points as a picture."""
        from app.resources.maps import picture as scatter

        query, sheet = self.query, self.sheet
        own = style(query.theme, query.palette)
        colour, colours, legend = _coloured(self, own)
        xy, inside = np.asarray(self.xy, dtype=np.float64), self._inside()
        drawn = scatter.Scatter(
            xy[inside],
            colour[inside],
            colours,
            legend,
            circle=self.result.by == "disc",
            caption=_caption(self.result),
            window=query.corners(),
            named=self._named(),
        )
        return scatter.svg(
            drawn,
            own,
            px=sheet.width,
            height=sheet.height,
            font=sheet.font,
            title=query.title,
            dots=sheet.dots,
        )

    def _named(self) -> Named | None:
        """The tree with the positions of its points from left to right."""
        from app.resources.maps.names import Named

        if self.tree is None:
            return None
        at = np.empty(len(self.row), dtype=np.int64)
        at[self.row] = np.arange(len(self.row))
        return Named(self.tree, self.xy[at[points_in_order(self.tree)]])

    def _inside(self) -> Mask:
        """(n_points,) whether a point is within the window."""
        corners = self.query.corners()
        if corners is None:
            return np.ones(len(self.xy), dtype=bool)
        low, high = corners
        inside: Mask = ((self.xy >= low) & (self.xy <= high)).all(axis=1)
        return inside

    def warning(self) -> str | None:
        """What a picture of so many points is not; None for few."""
        n_points = int(self._inside().sum())
        if n_points <= MOST_MARKS:
            return None
        return (
            f"{n_points:,} points are one image in the picture, not marks of their own: more "
            f"than {MOST_MARKS:,}"
        )

    def pieces(self) -> Iterator[Piece]:
        for rows, xy in zip(slices(self.row, IDS), slices(self.xy, IDS), strict=True):
            ids = [] if self.ids is None else [self.ids.take(rows).to_pylist()]
            yield [rows, *ids, xy[:, 0], xy[:, 1]]


def _coloured(positions: Positions, own: Style) -> tuple[Int, list[str], list[tuple[str, str]]]:
    """The index of each point's colour, the colours, and the legend."""
    tree, categories = positions.tree, positions.categories
    if tree is None or categories is None:
        return np.zeros(len(positions.xy), dtype=np.int64), [own.bare], []
    hue, legend = hues(tree, 0, categories, own)
    colours = list(dict.fromkeys([*hue.values(), own.other]))
    index = {colour: at for at, colour in enumerate(colours)}
    index_of = np.full(categories.n_categories + 1, index[own.other], dtype=np.int64)
    index_of[list(hue)] = [index[colour] for colour in hue.values()]
    labels = categories.labels
    if labels is not None and labels.of == "row":
        category = labels.code[positions.row]
    else:
        category = categories.of_leaf[spans(tree).start[tree.leaf_of_point[positions.row]]]
    return index_of[category], colours, legend


def _caption(result: MapResult) -> str:
    kept = result.neighbors_kept
    trust = "" if kept is None else f"; keeps {100 * kept:.0f}% of 10 nearest neighbours"
    return f"{result.n_points:,} points by {result.by}{trust}"


def _json(positions: Positions) -> Chunks:
    yield from json_object({"items": json_rows(positions.columns, positions.pieces())})
    yield b"\n"


def _csv(positions: Positions) -> Chunks:
    return csv_chunks(positions.columns, positions.pieces())


def _npy(positions: Positions) -> Chunks:
    return npy_chunks(positions.xy)


def _arrow(positions: Positions) -> Chunks:
    import pyarrow as pa

    row, x, y = positions.row, positions.xy[:, 0], positions.xy[:, 1]
    arrays = [pa.array(np.ascontiguousarray(column)) for column in (row, x, y)]
    if positions.ids is not None:
        arrays.insert(1, positions.ids.take(pa.array(row)))
    return arrow_chunks(pa.table(dict(zip(positions.columns, arrays, strict=True))))


FORMS: tuple[Form[Positions], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
    Form("npy", "application/x-npy", _npy),
    Form("arrow", "application/vnd.apache.arrow.file", _arrow),
    *picture_forms(Positions.drawn),
)
