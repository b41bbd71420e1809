"""The forms of a heatmap: its state as JSON, its cells as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.http.forms import Chunks, Form
from app.http.picture_forms import picture_forms
from app.http.picture_queries import SizedPictureQuery
from app.pictures.palette import style
from app.pictures.paper import Paper
from app.resources.heatmaps.schemas import AxesBody, HeatmapBody, HeatmapColumns, HeatmapResult
from models.arrays import Array, Float
from models.heatmaps.joins import Join, joins_of_merges, joins_of_tree
from models.heatmaps.tiles import TILE, Span, span_of, tile
from models.tree.tree import Tree

if TYPE_CHECKING:
    from app.resources.heatmaps.picture import Side


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of the tile that shows all of a heatmap: at most `TILE` x `TILE`.

    values : (cells of rows, cells of columns). rows, columns : what they are the averages of.
    joins : of the rows.
    """

    values: Float
    rows: Span
    columns: Span
    axes: AxesBody
    joins: list[Join]

    @classmethod
    def of(cls, values: Array, result: HeatmapResult, axes: AxesBody, tree: Tree) -> Cells:
        """values : what the tiles are made of."""
        rows, columns = span_of(result.n_rows, 0, 0), span_of(result.n_columns, 0, 0)
        assert rows is not None
        assert columns is not None
        averages = tile(values, result.what, result.metric, rows, columns)
        joins = joins_of_tree(tree, np.array(axes.rows.node, dtype=np.int64))
        return cls(averages, rows, columns, axes, joins)

    def warning(self) -> str | None:
        """What the cells of a picture are not; None where each is a value."""
        pooled = _averaged(self)
        return pooled and f"{pooled}: a picture has at most {TILE} x {TILE} cells"


@dataclass(frozen=True, slots=True)
class HeatmapExport:
    """A heatmap, and how it is drawn. cells : of a picture."""

    body: HeatmapBody
    cells: Cells | None
    query: SizedPictureQuery
    paper: Paper


def _json(export: HeatmapExport) -> Chunks:
    yield export.body.model_dump_json().encode()


def _drawn(export: HeatmapExport) -> str:
    from app.resources.heatmaps import picture

    cells, query, paper, result = export.cells, export.query, export.paper, export.body.result
    assert cells is not None
    assert result is not None
    axes = cells.axes
    nodes = [
        f"Node {node}" if name is None else name
        for node, name in zip(axes.rows.node, axes.rows.name, strict=True)
    ]
    rows = _side(cells.rows, cells.joins, nodes)
    drawn = picture.Heatmap(
        cells.values,
        rows,
        rows if axes.columns is None else _columns(cells.columns, axes.columns),
        low=result.shown_low,
        high=result.shown_high,
        clipped=(result.low < result.shown_low, result.high > result.shown_high),
        diverging=result.scale == "standard",
        strong_low=result.what == "distances",
        meaning=_meaning(result),
        caption=_caption(result, cells),
    )
    own = style(query.theme, query.palette)
    return picture.svg(
        drawn, own, px=paper.width, height=paper.height, font=paper.font, title=query.title
    )


def _columns(span: Span, columns: HeatmapColumns) -> Side:
    joins = joins_of_merges(len(columns.name), columns.merges)
    return _side(span, joins, columns.name)


def _side(span: Span, joins: list[Join], names: list[str]) -> Side:
    from app.resources.heatmaps.picture import Side

    return Side(np.append(span.cells, span.stop), joins, names)


def _meaning(result: HeatmapResult) -> str:
    """What a value is."""
    if result.metric == "cophenetic":
        return "Height at which both meet"
    if result.what == "distances":
        return f"{str(result.metric).capitalize()} distance"
    standard = result.scale == "standard"
    of = "in standard deviations from that of the column" if standard else "of the column"
    return f"{str(result.statistic).capitalize()} {of}"


def _caption(result: HeatmapResult, cells: Cells) -> str:
    pooled = _averaged(cells)
    size = f"{result.n_rows:,} rows, {result.n_columns:,} columns"
    return f"{size}; {pooled[0].lower()}{pooled[1:]}" if pooled else size


def _averaged(cells: Cells) -> str | None:
    """How many rows and columns a cell averages; None: one."""
    sides = ((cells.rows.pooled, "rows"), (cells.columns.pooled, "columns"))
    parts = [f"{pooled:,} {noun}" for pooled, noun in sides if pooled > 1]
    return f"A cell is the average of up to {' and '.join(parts)}" if parts else None


FORMS: tuple[Form[HeatmapExport], ...] = (
    Form("json", "application/json", _json),
    *picture_forms(_drawn),
)
