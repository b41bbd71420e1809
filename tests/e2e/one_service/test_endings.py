"""A file of every ending goes through HTTP, the Python client and the command line alike."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest
from safetensors.numpy import save

from app.cli import main
from tests.e2e.conftest import Service
from tests.workers.formats.workbooks_kit import workbook
from umbel_client import Umbel
from workers.formats.endings import ENDINGS, media_type_of

X = np.array([[0.5, 1.5], [0.25, 1.75], [9.5, 8.5], [9.25, 8.25]])
ROWS = [["x", "y"], *X.tolist()]
TABLE = pa.table({"x": X[:, 0], "y": X[:, 1]})


def _npy() -> bytes:
    sink = io.BytesIO()
    np.save(sink, X)
    return sink.getvalue()


def _npz() -> bytes:
    sink = io.BytesIO()
    np.savez(sink, x=X)
    return sink.getvalue()


def _parquet() -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, sink)
    return sink.getvalue()


def _arrow(stream: bool) -> bytes:
    sink = io.BytesIO()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return sink.getvalue()


def _text(mark: str) -> bytes:
    return "".join(mark.join(map(str, row)) + "\n" for row in ROWS).encode()


def _arff() -> bytes:
    head = (
        "@relation r\n@attribute x numeric\n@attribute y numeric\n@attribute class {a, b}\n@data\n"
    )
    return (head + "".join(f"{x},{y},a\n" for x, y in X)).encode()


CONTENT: dict[str, Callable[[], bytes]] = {
    "application/x-npy": _npy,
    "application/x-npz": _npz,
    "application/safetensors": lambda: save({"x": X}),
    "application/vnd.apache.parquet": _parquet,
    "application/vnd.apache.arrow.file": lambda: _arrow(stream=False),
    "application/vnd.apache.arrow.stream": lambda: _arrow(stream=True),
    "text/csv": lambda: _text(","),
    "text/tab-separated-values": lambda: _text("\t"),
    "application/json": lambda: json.dumps(X.tolist()).encode(),
    "application/x-ndjson": lambda: "".join(
        json.dumps({"x": x, "y": y}) + "\n" for x, y in X.tolist()
    ).encode(),
    "text/x-libsvm": lambda: "".join(f"0 1:{x} 2:{y}\n" for x, y in X).encode(),
    "text/x-arff": _arff,
}
BOOKS = ("xlsb", "xls", "ods")
TREES = {
    "text/x-nh": b"((a:1,b:1):1,(c:1,d:1):1);",
    "text/x-nexus": b"#NEXUS\nBEGIN TREES;\nTREE t = ((a:1,b:1):1,(c:1,d:1):1);\nEND;\n",
}
NAMES = [f"file.{ending}" for ending in ENDINGS if ending not in ("zip", "h5ad")]
PACKED = ["file.csv.gz", "file.jsonl.gz"]


@pytest.fixture(scope="module")
def umbel(service: Service) -> Iterator[Umbel]:
    with Umbel(service.url) as umbel:
        yield umbel


@pytest.fixture(scope="module")
def expected(umbel: Umbel) -> str:
    """The tree of the matrix, in whatever file it is."""
    return umbel.run("hac", features=X, progress=False).newick()


def file_of(name: str, folder: Path) -> Path:
    path = folder / name
    ending = name.split(".")[1]
    if ending == "xlsx":
        book = openpyxl.Workbook()
        for row in ROWS:
            book.active.append(row)
        book.save(path)
        return path
    if ending in BOOKS:
        return workbook(ending, path, {"one": [tuple(row) for row in ROWS]})
    media_type = ENDINGS[ending].media_type
    content = TREES[media_type] if media_type in TREES else CONTENT[media_type]()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", [*(n for n in NAMES if not ENDINGS[n[5:]].tree), *PACKED])
def test_a_matrix(
    name: str,
    umbel: Umbel,
    expected: str,
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = file_of(name, tmp_path)
    headers = {"Content-Type": ENDINGS[name.split(".")[1]].media_type}
    answer = service.client.post(
        "/v1/datasets?role=features", content=path.read_bytes(), headers=headers
    )
    assert answer.status_code == 201, answer.text
    if answer.json()["format"] == "libsvm":
        # The method takes no sparse rows.
        assert umbel.upload(path, role="features").dimensions in (None, (4, 2))
        return
    stored = umbel.run("hac", features=answer.json()["id"], progress=False)
    assert stored.newick() == expected
    assert umbel.run("hac", features=path, progress=False).newick() == expected
    monkeypatch.setenv("UMBEL_URL", service.url)
    out = tmp_path / "out.nwk"
    with pytest.raises(SystemExit) as ended:
        main(["run", "hac", str(path), "--out", str(out)])
    assert ended.value.code in (0, None), capsys.readouterr().err
    assert out.read_text().strip() == expected.strip()


@pytest.mark.parametrize("name", [n for n in NAMES if ENDINGS[n[5:]].tree])
def test_a_tree(
    name: str,
    umbel: Umbel,
    service: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = file_of(name, tmp_path)
    headers = {"Content-Type": media_type_of(name) or "", "Prefer": "wait=30"}
    answer = service.client.post("/v1/trees", content=path.read_bytes(), headers=headers)
    assert answer.status_code < 300, answer.text
    expected = umbel.import_tree(path.read_text()).newick()
    monkeypatch.setenv("UMBEL_URL", service.url)
    with pytest.raises(SystemExit) as ended:
        main(["import", str(path)])
    assert ended.value.code in (0, None), capsys.readouterr().err
    assert expected.count("a") == 1
