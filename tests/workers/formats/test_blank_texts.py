"""Documents may be empty or blank, which is counted; null is still missing."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from models.errors import UsageError
from models.inputs.reading import noting
from workers.formats import catalogue, roles
from workers.formats.tables import Lists

TEXTS = ["the cat", "", "a dog", "  ", ""]


def arrow(texts: list[str | None], kind: Any = None) -> bytes:
    sink = io.BytesIO()
    column = pa.array(texts, pa.string())
    table = pa.table({"text": column.dictionary_encode() if kind == "dictionary" else column})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


def npy(texts: list[str]) -> bytes:
    sink = io.BytesIO()
    np.save(sink, np.array(texts))
    return sink.getvalue()


FILES = {
    "json": ("json", json.dumps(TEXTS).encode()),
    "csv": ("csv", ("text\n" + "".join(f'"{text}"\n' for text in TEXTS)).encode()),
    "csv of two": ("csv", ("text,n\n" + "".join(f"{text},1\n" for text in TEXTS)).encode()),
    "jsonl": ("jsonl", "".join(json.dumps(text) + "\n" for text in TEXTS).encode()),
    "objects": ("jsonl", "".join(json.dumps({"text": t}) + "\n" for t in TEXTS).encode()),
    "arrow": ("arrow-stream", arrow([*TEXTS])),
    "dictionary": ("arrow-stream", arrow([*TEXTS], "dictionary")),
    "parquet": ("parquet", arrow([*TEXTS], "parquet")),
    "npy": ("npy", npy(TEXTS)),
}


@pytest.mark.parametrize("role", ["documents", None], ids=["role", "no role"])
@pytest.mark.parametrize("name", list(FILES))
def test_blank_documents_are_read_and_counted(name: str, role: str | None, tmp_path: Path) -> None:
    kind, content = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    member = "text" if name == "csv of two" else None
    facts = catalogue.inspect(kind, path, member, role=role)
    assert (facts.shape, facts.dtype) == ((5,), "str")
    with noting() as notes:
        assert catalogue.load(kind, path, member, "documents") == TEXTS
    assert len(notes) == 1
    assert "3 of 5 documents are empty or blank (rows 1, 3, 4" in next(iter(notes))


@pytest.mark.parametrize("role", ["names", "labels"])
@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("csv")])
def test_other_texts_are_not_empty(name: str, role: str, tmp_path: Path) -> None:
    kind, content = FILES[name]
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        catalogue.load(kind, path, None, role)
    assert caught.value.code == "missing-value"
    assert caught.value.where["row"] == 1


def test_null_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="missing value at row 1"):
        roles.value(Lists(["a", None, ""]), "documents")
    path = tmp_path / "file"
    path.write_bytes(arrow(["a", None, ""]))
    with pytest.raises(UsageError, match="missing value at row 1"):
        catalogue.load("arrow-stream", path, None, "documents")


def test_a_blank_cell_among_numbers_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('1\n""\n2\n')
    (warning,) = catalogue.inspect("csv", path).warnings
    assert "the first at row 1, column 0 (counted from 0; line 2 of the file)" in warning
    with pytest.raises(UsageError) as caught:
        catalogue.load("csv", path, None, "labels")
    assert caught.value.code == "missing-value"
