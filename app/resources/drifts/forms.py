"""The forms of a drift: its state as JSON, all that moved as CSV and as pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.http.forms import Chunks, Form
from app.http.picture_forms import picture_forms
from app.http.picture_queries import PictureQuery
from app.http.tables import table_csv
from app.pictures.sheet import Sheet
from app.resources.drifts.schemas import DriftBody

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class DriftExport:
    """A drift, and how it is drawn. moves : gives the table of all that moved; raises Refused for a
    drift that has not succeeded."""

    body: DriftBody
    moves: Callable[[], pa.Table]
    query: PictureQuery
    sheet: Sheet


def _json(export: DriftExport) -> Chunks:
    yield export.body.model_dump_json().encode()


def _drawn(export: DriftExport) -> str:
    from app.resources.drifts import picture as moves

    table, query, result = export.moves(), export.query, export.body.result
    sheet = export.sheet
    assert result is not None
    shown = [moves.Move(**row) for row in table.select(moves.COLUMNS).slice(0, 60).to_pylist()]
    drawn = moves.Moves(shown, table.num_rows, result.n_reference, result.n_batch, result.level)
    return moves.svg(
        drawn,
        px=sheet.width,
        font=sheet.font,
        palette=query.palette,
        theme=query.theme,
        title=query.title,
    )


FORMS: tuple[Form[DriftExport], ...] = (
    Form("json", "application/json", _json),
    Form("csv", "text/csv", lambda export: table_csv(export.moves())),
    *picture_forms(_drawn),
)
