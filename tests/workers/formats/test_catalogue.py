"""Recognising a file's format; every format returns the same matrix."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.running import packages
from tests.workers.formats.files_kit import dense, refused, write
from workers.formats import catalogue, excel, tree_documents
from workers.formats.catalogue import FORMATS, format_of

MATRIX = np.array([[1.5, -2.0, 3.25], [0.5, 5.0, 1e-3], [7.0, 8.125, -9.0], [1.0, 2.0, 3.0]])


def formats(names: Iterable[str]) -> list[Any]:
    """Formats as parameters, with the packages that they need."""
    return [pytest.param(name, marks=pytest.mark.needs(*FORMATS[name].needs)) for name in names]


TABLES = [format for format in FORMATS if format not in tree_documents.MEDIA_TYPES]
BINARY = formats(format for format in FORMATS if FORMATS[format].binary)
MATRICES = [format for format in TABLES if format not in ("jsonl", "zip")]
"""Formats that hold matrices."""


@pytest.mark.parametrize("format", formats(MATRICES))
def test_every_format_returns_the_matrix(format: str, tmp_path: Path) -> None:
    path = tmp_path / "content"
    write(format, path, MATRIX)
    assert format_of(FORMATS[format].media_types[0], path.read_bytes()) == format
    facts = catalogue.inspect(format, path, None)
    assert facts.shape == (4, 3)
    assert facts.dtype == "float64"
    value = catalogue.load(format, path, None, "features")
    assert isinstance(value, sp.csr_array) == (format == "libsvm") == facts.sparse
    np.testing.assert_array_equal(dense(value), MATRIX)


@pytest.mark.parametrize("format", formats(MATRICES))
def test_undeclared_content_is_recognised_by_its_bytes(format: str, tmp_path: Path) -> None:
    path = tmp_path / "content"
    write(format, path, MATRIX)
    for media_type in (None, "application/octet-stream", "application/x-www-form-urlencoded", "x"):
        assert format_of(media_type, path.read_bytes()) == format


@pytest.mark.parametrize("rows", [b"1.5 2\n3 4\n", b"  x   y\n 1.5  2\n  10  4\n", b"x|y\n1|2\n"])
def test_undeclared_tables_of_numbers_are_csv(rows: bytes) -> None:
    assert format_of(None, rows) == "csv"


def test_text_that_curl_sends_without_a_type_is_refused_with_how_to_state_it() -> None:
    error = refused(format_of, "application/x-www-form-urlencoded", b"name,x\nrose,1\n")
    assert error.code == "unsupported-format"
    assert "`-H 'Content-Type: text/csv'`" in error.detail


@pytest.mark.parametrize("actual", BINARY)
def test_a_declared_type_must_agree_with_the_bytes(actual: str, tmp_path: Path) -> None:
    path = tmp_path / "content"
    write(actual, path, MATRIX)
    head = path.read_bytes()
    for declared in FORMATS:
        media_type = FORMATS[declared].media_types[0]
        if declared == actual or {declared, actual} <= excel.MEDIA_TYPES.keys():
            assert format_of(media_type, head) == actual
        else:
            error = refused(format_of, media_type, head)
            assert error.code == "unsupported-format"
            assert declared in error.detail
            assert actual in error.detail


@pytest.mark.parametrize("declared", ["npy", "npz", "arrow-file", "parquet"])
def test_text_declared_as_binary_is_refused(declared: str) -> None:
    error = refused(format_of, FORMATS[declared].media_types[0], b"a,b\n1,2\n3,4\n")
    assert error.code == "unsupported-format"


def test_media_types_carry_parameters_and_capitals() -> None:
    assert format_of("Text/CSV; charset=utf-8; header=present", b"a\nb\n") == "csv"


@pytest.mark.parametrize(
    "content",
    [
        b"one word\nand another\n",
        b"1\n2\n3\n",
        b"\x00\x01\x02\x03",
        b"\xff\xfe\xfd",
        b"a",
        b"Dear all, hello\nyes\n",
        b"<html></html>",
        b"{}",
        b"\x1f\x8b\x08\x00",
        b"MATLAB 5.0 MAT-file, x",
    ],
)
def test_the_refusal_of_unknown_content_lists_accepted_formats(content: bytes) -> None:
    error = refused(format_of, None, content)
    assert error.code == "unsupported-format"
    for media_type in catalogue.ACCEPTED:
        assert media_type in error.detail


@pytest.mark.parametrize("content", [b"--x\r\n\r\n1,2\r\n--x--", b"\x93NUMPY\x01\x00"])
def test_a_form_is_not_a_file(content: bytes) -> None:
    error = refused(catalogue.format_of, "multipart/form-data; boundary=x", content)
    assert error.code == "unsupported-format"
    assert "--data-binary" in error.detail


def test_an_empty_body_is_refused() -> None:
    assert refused(format_of, "text/csv", b"").code == "empty"


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("media_type", [None, "application/x-npy", "text/csv"])
def test_pickles_are_refused(protocol: int, media_type: str | None) -> None:
    error = refused(format_of, media_type, pickle.dumps([MATRIX], protocol=protocol))
    assert error.code == "unsupported-format"
    assert "numpy.save" in error.detail
    assert "safetensors" in error.detail


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.needs("torch")
def test_torch_files_are_refused(zipped: bool, tmp_path: Path) -> None:
    import torch

    file = io.BytesIO()
    torch.save(torch.zeros(3), file, _use_new_zipfile_serialization=zipped)
    error = refused(format_of, None, file.getvalue())
    assert error.code == "unsupported-format"
    assert "safetensors" in error.detail


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 0.5\n", "Matrix Market"),
        (b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!", "SAS"),
        (b"SQLite format 3\0", "SQLite"),
        (b"Obj\1\4\x14avro.codec", "Avro"),
    ],
)
def test_files_of_other_programs_are_refused_by_name(head: bytes, what: str) -> None:
    for declared in (None, "text/csv"):
        assert what in refused(format_of, declared, head).detail


def test_a_zip_with_a_pickle_is_refused_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "content"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", b"cos\nsystem\n")
    error = refused(catalogue.inspect, "npz", path, None)
    assert error.code == "unsupported-format"
    assert "numpy.save" in error.detail


def test_peek_looks_into_npy_only() -> None:
    assert catalogue.peek("csv", b"1,2\n", 4) is None
    file = io.BytesIO()
    np.save(file, MATRIX)
    facts = catalogue.peek("npy", file.getvalue(), len(file.getvalue()))
    assert facts is not None
    assert (facts.shape, facts.dtype) == ((4, 3), "float64")


@pytest.mark.parametrize("format", formats(TABLES))
def test_an_empty_file_is_reported_as_empty(format: str, tmp_path: Path) -> None:
    path = tmp_path / "content"
    path.write_bytes(b"")
    assert refused(catalogue.inspect, format, path, None).code == "empty"
    assert refused(catalogue.load, format, path, None, "features").code == "empty"


@pytest.mark.parametrize(
    "content",
    [b"((ant,bee)insects,cat)r;\n", b"\xef\xbb\xbf(a,b);", b"#NEXUS\nbegin trees;\nend;\n"],
)
@pytest.mark.parametrize("media_type", [None, "application/octet-stream"])
def test_a_tree_as_a_file_of_unknown_type_is_refused_with_the_way(
    content: bytes, media_type: str | None
) -> None:
    error = refused(catalogue.format_of, media_type, content)
    assert error.code == "unsupported-format"
    assert "import it by POST /v1/trees" in str(error)


def test_an_unknown_role_or_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "content"
    write("npy", path, MATRIX)
    assert refused(catalogue.load, "npy", path, None, "base").code == "wrong-input"
    assert refused(catalogue.load, "dbf", path, None, "features").code == "unsupported-format"


@pytest.mark.parametrize("format", formats(sorted(set(MATRICES) - catalogue.LABELLED)))
def test_a_matrix_is_refused_as_labels(format: str, tmp_path: Path) -> None:
    path = tmp_path / "content"
    write(format, path, MATRIX)
    code = refused(catalogue.load, format, path, None, "labels").code
    assert code in {"wrong-shape", "member-needed", "wrong-input"}


def test_real_files(real_data: Callable[[str], Path]) -> None:
    logits = real_data("lang_py3langid_udhr_logits.npy")
    assert format_of(None, logits.read_bytes()[:65536]) == "npy"
    assert catalogue.load("npy", logits, None, "logits").shape == (16770, 140)  # type: ignore[union-attr]
    glass = real_data("bench_glass.npz")
    assert refused(catalogue.inspect, "npz", glass, None).code == "member-needed"
    assert catalogue.inspect("npz", glass, "X").shape == (214, 9)
    labels = catalogue.load("npz", glass, "y", "labels")
    assert isinstance(labels, np.ndarray)
    assert labels.dtype == np.int64
    assert len(catalogue.load("npz", glass, "classes", "names")) == 6  # type: ignore[arg-type]


def test_importing_the_catalogue_loads_no_heavy_library() -> None:
    code = (
        "import sys, workers.formats.catalogue;"
        "print([m for m in ('pyarrow', 'torch', 'sklearn', 'safetensors') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_format_whose_package_is_missing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue.require_reader("npy")
    monkeypatch.setattr(packages, "find_spec", lambda module: None)
    error = refused(catalogue.require_reader, "h5ad")
    assert error.code == "unsupported-format"
    assert "umbel[h5ad]" in error.detail
    monkeypatch.setitem(sys.modules, "h5py", None)
    path = tmp_path / "content"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    assert refused(catalogue.inspect, "h5ad", path, None).code == "method-unavailable"
