"""The forms of a heatmap: its state as JSON, its cells as pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.http.forms import Chunks, Form
from app.http.picture_forms import picture_forms
from app.http.picture_queries import SizedPictureQuery
from app.pictures.palette import style
from app.pictures.sheet import Sheet
from app.resources.heatmaps.schemas import AxesBody, HeatmapBody, HeatmapColumns, HeatmapResult
from models.arrays import Array, Float
from models.heatmaps.heatmap import (
    TILE,
    Join,
    PooledRange,
    joins_of_merges,
    joins_of_tree,
    pooled_range,
    tile,
)
from models.tree.tree import Tree
from models.tree.walk import points_before, points_in_order

if TYPE_CHECKING:
    import pyarrow as pa

    from app.resources.heatmaps.picture import Side


@dataclass(frozen=True, slots=True)
class HeatmapOverview:
    """The cells of the tile that shows all of a heatmap: at most `TILE` x `TILE`.

    values : (cells of rows, cells of columns). rows, columns : what they are the averages of.
    joins : of the rows.
    """

    values: Float
    rows: PooledRange
    columns: PooledRange
    axes: AxesBody
    joins: list[Join]

    @classmethod
    def of(
        cls, values: Array, result: HeatmapResult, axes: AxesBody, tree: Tree
    ) -> HeatmapOverview:
        """values : what the tiles are made of."""
        rows, columns = pooled_range(result.n_rows, 0, 0), pooled_range(result.n_columns, 0, 0)
        assert rows is not None
        assert columns is not None
        averages = tile(values, result.what, result.metric, rows, columns)
        joins = joins_of_tree(tree, np.array(axes.rows.node, dtype=np.int64))
        return cls(averages, rows, columns, axes, joins)

    def warning(self) -> str | None:
        """What the cells of a picture are not; None where each is a value."""
        pooled = _averaged(self)
        return pooled and f"{pooled}: a picture has at most {TILE} x {TILE} cells"


def ids_of_nodes(tree: Tree, nodes: list[int], ids: pa.Array) -> list[str | None]:
    """The ids of nodes of one point, None for the others. ids : (n_points,).

    O(n_points log n_points).
    """
    import pyarrow as pa

    node = np.array(nodes, dtype=np.int64)
    single = tree.size[node] == 1
    place = np.where(single, points_before(tree)[node], 0)
    found: list[str | None] = ids.take(
        pa.array(points_in_order(tree)[place], mask=~single)
    ).to_pylist()
    return found


@dataclass(frozen=True, slots=True)
class HeatmapExport:
    """A heatmap, and how it is drawn. overview : of a picture."""

    body: HeatmapBody
    overview: HeatmapOverview | None
    query: SizedPictureQuery
    sheet: Sheet


def _json(export: HeatmapExport) -> Chunks:
    yield export.body.model_dump_json().encode()


def _drawn(export: HeatmapExport) -> str:
    from app.resources.heatmaps import picture

    overview, query, sheet, result = export.overview, export.query, export.sheet, export.body.result
    assert overview is not None
    assert result is not None
    axes = overview.axes
    nodes = [
        name or own or f"Node {node}"
        for node, name, own in zip(
            axes.rows.node,
            axes.rows.name,
            axes.rows.id or [None] * len(axes.rows.node),
            strict=True,
        )
    ]
    rows = _side(overview.rows, overview.joins, nodes)
    drawn = picture.Heatmap(
        overview.values,
        rows,
        rows if axes.columns is None else _columns(overview.columns, axes.columns),
        low=result.shown_low,
        high=result.shown_high,
        clipped=(result.low < result.shown_low, result.high > result.shown_high),
        diverging=result.scale == "standard",
        strong_low=result.what == "distances",
        meaning=_meaning(result),
        caption=_caption(result, overview),
    )
    own = style(query.theme, query.palette)
    return picture.svg(
        drawn, own, px=sheet.width, height=sheet.height, font=sheet.font, title=query.title
    )


def _columns(pooled: PooledRange, columns: HeatmapColumns) -> Side:
    joins = joins_of_merges(len(columns.name), columns.merges)
    return _side(pooled, joins, columns.name)


def _side(pooled: PooledRange, joins: list[Join], names: list[str]) -> Side:
    from app.resources.heatmaps.picture import Side

    return Side(np.append(pooled.cells, pooled.stop), joins, names)


def _meaning(result: HeatmapResult) -> str:
    """What a value is."""
    if result.metric == "cophenetic":
        return "Height at which both meet"
    if result.what == "distances":
        return f"{str(result.metric).capitalize()} distance"
    standard = result.scale == "standard"
    of = "in standard deviations from that of the column" if standard else "of the column"
    return f"{str(result.statistic).capitalize()} {of}"


def _caption(result: HeatmapResult, overview: HeatmapOverview) -> str:
    pooled = _averaged(overview)
    size = f"{result.n_rows:,} rows, {result.n_columns:,} columns"
    if result.missing is not None:
        size += "; grey cells have no value"
    return f"{size}; {pooled[0].lower()}{pooled[1:]}" if pooled else size


def _averaged(overview: HeatmapOverview) -> str | None:
    """How many rows and columns a cell averages; None: one."""
    sides = ((overview.rows.pooled, "rows"), (overview.columns.pooled, "columns"))
    parts = [f"{pooled:,} {noun}" for pooled, noun in sides if pooled > 1]
    return f"A cell is the average of up to {' and '.join(parts)}" if parts else None


FORMS: tuple[Form[HeatmapExport], ...] = (
    Form("json", "application/json", _json),
    *picture_forms(_drawn),
)
