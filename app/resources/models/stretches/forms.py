"""The forms that the stretch of features is served in: JSON, CSV, pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.http.forms import Chunks, Form
from app.http.json_parts import json_object, shortened
from app.http.picture_forms import picture_forms
from app.http.problems import Refused
from app.pictures.sheet import Sheet
from app.resources.models.stretches.schemas import StretchedFeature, StretchesQuery
from models.answers.beside_tree import FeatureStretches
from models.arrays import Float, Int
from models.registry import method
from workers.artifacts import results
from workers.formats.table_writers import Piece, csv_chunks, json_rows

_COLUMNS = list(StretchedFeature.model_fields)
_MEANING = {
    "stretch": "How far a row moves when the feature grows by 1",
    "reach": "How far a row moves when the feature grows by its standard deviation",
}


@dataclass(frozen=True, slots=True)
class StretchesExport:
    """The stretches of a model's features, and which of them are to be written."""

    model_id: str
    method_id: str
    whole: FeatureStretches
    query: StretchesQuery
    sheet: Sheet

    @property
    def values(self) -> Float:
        """(n_features,) what features are ranked by."""
        return self.whole.reach if self.query.by == "reach" else self.whole.stretch

    def columns(self) -> Int:
        """The features to be written, the first first; of equal ones the one of lower number."""
        return np.argsort(-self.values, kind="stable")[: self.query.limit]

    def feature(self, column: int) -> str | int:
        names = self.whole.names
        return column if names is None else shortened(names[column])

    def piece(self) -> Piece:
        columns, whole = self.columns(), self.whole
        return [
            range(1, columns.size + 1),
            [self.feature(column) for column in columns.tolist()],
            columns.tolist(),
            whole.stretch[columns].tolist(),
            whole.spread[columns].tolist(),
            whole.reach[columns].tolist(),
        ]


def stretches_in(path: Path, model_id: str, query: StretchesQuery, sheet: Sheet) -> StretchesExport:
    """The stretches in a model's file; blocks. Raises Refused `not-found` if it has none."""
    stage = results.map_stage(path, 0)
    whole = method(stage.method).stretches(stage.model)
    if whole is None:
        raise Refused(
            "not-found",
            f"Model {model_id!r} by method {stage.method!r} transforms no features; models of "
            "methods that learn a transformation, such as 'tcs', do.",
        )
    return StretchesExport(model_id, stage.method, whole, query, sheet)


def _json(export: StretchesExport) -> Chunks:
    fields: dict[str, Any] = {
        "model": export.model_id,
        "method": export.method_id,
        "by": export.query.by,
        "n_features": export.whole.stretch.size,
        "n_components": export.whole.n_components,
        "items": json_rows(_COLUMNS, iter([export.piece()])),
    }
    return json_object(fields)


def _csv(export: StretchesExport) -> Chunks:
    return csv_chunks(_COLUMNS, iter([export.piece()]))


def _drawn(export: StretchesExport) -> str:
    from app.resources.models.stretches import picture as bars

    query, sheet, n_features = export.query, export.sheet, export.whole.stretch.size
    columns = export.columns()[: bars.MOST_SHOWN]
    shown = "" if columns.size == n_features else f"; {columns.size:,} of {n_features:,} features"
    drawn = bars.Bars(
        names=[
            feature if isinstance(feature, str) else f"feature {feature}"
            for feature in map(export.feature, columns.tolist())
        ],
        values=export.values[columns].tolist(),
        caption=_MEANING[query.by] + shown,
    )
    return bars.svg(
        drawn,
        px=sheet.width,
        font=sheet.font,
        palette=query.palette,
        theme=query.theme,
        title=query.title,
    )


FORMS: tuple[Form[StretchesExport], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", _csv),
    *picture_forms(_drawn),
)
