"""The forms of a calibration's selective curve: JSON, CSV, pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.http.forms import Chunks, Form
from app.http.json_parts import json_object
from app.http.picture_forms import picture_forms
from app.http.picture_queries import PictureQuery
from app.http.tables import table_csv
from app.pictures.sheet import Sheet
from workers.formats.table_writers import json_rows, pieces_of_arrow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class CurveExport:
    """A curve, and how it is drawn. threshold : the calibration's; None where it has several."""

    table: pa.Table
    area: float
    threshold: float | None
    query: PictureQuery
    sheet: Sheet


def _json(export: CurveExport) -> Chunks:
    table = export.table
    steps = json_rows(table.column_names, pieces_of_arrow(table))
    yield from json_object({"area": export.area, "threshold": export.threshold, "steps": steps})
    yield b"\n"


def _drawn(export: CurveExport) -> str:
    from app.resources.calibrations import picture as selective

    query, sheet = export.query, export.sheet
    threshold, coverage, error = (
        export.table.column(name).to_numpy() for name in ("threshold", "coverage", "error")
    )
    chosen = None
    if export.threshold is not None:
        # The curve is thinned: the last step that is no higher.
        chosen = max(0, int(np.searchsorted(threshold, export.threshold, side="right")) - 1)
    curve = selective.Selective(coverage, error, export.area, chosen)
    return selective.svg(
        curve,
        px=sheet.width,
        font=sheet.font,
        palette=query.palette,
        theme=query.theme,
        title=query.title,
    )


FORMS: tuple[Form[CurveExport], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", lambda export: table_csv(export.table)),
    *picture_forms(_drawn),
)
