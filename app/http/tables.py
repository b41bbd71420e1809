"""The forms of a stored table: JSON, Arrow, CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from app.http.forms import Chunks, Form
from app.http.json_parts import json_object
from app.http.problems import ANYWHERE, responses
from workers.formats.table_writers import arrow_chunks, csv_chunks, json_rows, pieces_of_arrow

if TYPE_CHECKING:
    import pyarrow as pa


def mapped(path: Path) -> pa.Table:
    """The table of an Arrow file, mapped and not read; the file may be deleted meanwhile."""
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def table_json(table: pa.Table) -> Chunks:
    """`items`, an object for each row."""
    yield from json_object({"items": json_rows(table.column_names, pieces_of_arrow(table))})
    yield b"\n"


def table_csv(table: pa.Table) -> Chunks:
    """A line for each row, below the names of columns."""
    return csv_chunks(table.column_names, pieces_of_arrow(table))


TABLE: tuple[Form[pa.Table], ...] = (
    Form("json", "application/json", table_json),
    Form("arrow", "application/vnd.apache.arrow.file", arrow_chunks),
    Form("csv", "text/csv", table_csv),
)


def documented_table(
    model: type[BaseModel],
    description: str,
    example: dict[str, Any],
    csv: str,
    others: Sequence[str] = (),
) -> dict[int | str, dict[str, Any]]:
    """The responses of a route with the table of something that has ended, for the document.

    csv : the example as CSV. others : media types of further forms, all of them binary.
    """
    etag = {"description": "ETag of this form.", "schema": {"type": "string"}}
    return {
        200: {
            "model": model,
            "description": description,
            "headers": {"ETag": etag},
            "content": {
                "application/json": {"example": example},
                "text/csv": {"schema": {"type": "string"}, "example": csv},
                **{
                    media: {"schema": {"type": "string", "format": "binary"}}
                    for media in ("application/vnd.apache.arrow.file", *others)
                },
            },
        },
        304: {"description": "The client has the current version."},
        **responses(*ANYWHERE, "not-found", "not-acceptable", "conflict"),
    }
