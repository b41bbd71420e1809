"""The forms of a placement: its state as JSON, all classes and subtrees as CSV, pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.http.forms import Chunks, Form
from app.http.picture_forms import picture_forms
from app.http.picture_queries import PictureQuery
from app.http.tables import table_csv
from app.pictures.sheet import Sheet
from app.resources.placements.schemas import PlacementBody

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class PlacementExport:
    """A placement, and how it is drawn. items : gives the table of all classes and subtrees; raises
    Refused for a placement that has not succeeded."""

    body: PlacementBody
    items: Callable[[], pa.Table]
    query: PictureQuery
    sheet: Sheet


def _json(export: PlacementExport) -> Chunks:
    yield export.body.model_dump_json().encode()


def _csv(export: PlacementExport) -> Chunks:
    """Lists are cells of JSON."""
    import pyarrow as pa

    table = export.items()
    for place, column in enumerate(table.schema):
        if pa.types.is_list(column.type):
            texts = [json.dumps(cell, ensure_ascii=False) for cell in table[place].to_pylist()]
            table = table.set_column(place, column.name, pa.array(texts, pa.string()))
    return table_csv(table)


def _drawn(export: PlacementExport) -> str:
    from app.resources.placements import picture

    query, sheet, result = export.query, export.sheet, export.body.result
    assert result is not None
    every = [picture.Odd(**row) for row in export.items().select(picture.COLUMNS).to_pylist()]
    classes = [each for each in every if each.what == "class"][: picture.MOST_CLASSES]
    subtrees = [each for each in every if each.what == "subtree"][: picture.MOST_SUBTREES]
    return picture.svg(
        picture.Odds(
            [*classes, *subtrees], result.n_judged, result.n_subtrees, result.n_odd, result.level
        ),
        px=sheet.width,
        font=sheet.font,
        palette=query.palette,
        theme=query.theme,
        title=query.title,
    )


FORMS: tuple[Form[PlacementExport], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
    *picture_forms(_drawn),
)
