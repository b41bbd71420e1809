"""Matrices in local files, read by rows."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from models.errors import UsageError
from models.inputs.rows import ArrayRows, Rows
from tests.workers.formats.files_kit import MATRICES, SHAPE, refused, same_rows, write, write_matrix
from workers.formats import catalogue, raw, safetensors
from workers.formats.raw import LocalContent, MappedRows, runs


@pytest.fixture(scope="module")
def written(
    tmp_path_factory: pytest.TempPathFactory,
) -> list[tuple[Rows, np.ndarray, bool]]:
    folder = tmp_path_factory.mktemp("raw")
    out: list[tuple[Rows, np.ndarray, bool]] = []
    for at, (layout, dtype) in enumerate(MATRICES):
        format, expected = write_matrix(folder / str(at), layout, dtype)
        rows = catalogue.rows(format, folder / str(at), None, "logits")
        assert isinstance(rows, ArrayRows)
        assert rows.array.flags.aligned == (layout != "unaligned")
        out.append((rows, expected, dtype == "bf16"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(raw, "HELD_BYTES", 0)
            large = catalogue.rows(format, folder / str(at), None, "logits")
        assert isinstance(large, ArrayRows if layout == "npy-fortran" else MappedRows)
        out.append((large, expected, dtype == "bf16"))
    return out


def test_shape_and_dtype_of_rows(written: list[tuple[Rows, np.ndarray, bool]]) -> None:
    for rows, expected, bfloat16 in written:
        assert (rows.shape, rows.dtype) == (SHAPE, expected.dtype)
        assert rows.bfloat16 == bfloat16
        assert rows.nbytes == expected.nbytes


@settings(max_examples=40)
@given(data=st.data())
def test_rows_of_every_file(
    data: st.DataObject, written: list[tuple[Rows, np.ndarray, bool]]
) -> None:
    start = data.draw(st.integers(0, SHAPE[0]))
    stop = data.draw(st.integers(start, SHAPE[0] + 2))
    some = np.array(sorted(data.draw(st.sets(st.integers(0, SHAPE[0] - 1)))), dtype=np.int64)
    for rows, expected, _ in written:
        same_rows(rows.read(start, stop), expected[start:stop])
        same_rows(rows.take(some), expected[some])


@pytest.mark.parametrize("format", ["npz", "arrow-file", "arrow-stream", "parquet", "csv", "json"])
def test_other_formats_are_loaded_whole(format: str, tmp_path: Path) -> None:
    array = np.random.default_rng(1).normal(size=SHAPE)
    write(format, tmp_path / "x", array)
    value = catalogue.rows(format, tmp_path / "x", None, "logits")
    assert isinstance(value, np.ndarray)
    np.testing.assert_array_equal(value, array)
    assert refused(catalogue.locate, format, LocalContent(tmp_path / "x")).code == (
        "unsupported-format"
    )


def test_bfloat16_is_widened_where_it_is_not_read_by_rows(tmp_path: Path) -> None:
    _, bits = write_matrix(tmp_path / "x", "safetensors", "bf16")
    value = catalogue.load("safetensors", tmp_path / "x", None, "features")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value.view(np.uint32), bits.astype(np.uint32) << 16)


@pytest.mark.parametrize(
    ("array", "code"),
    [
        (np.zeros(3), "wrong-shape"),
        (np.zeros((2, 2, 2)), "wrong-shape"),
        (np.zeros((0, 2)), "empty"),
        (np.zeros((2, 0)), "empty"),
        (np.array([["a", "b"]]), "wrong-input"),
    ],
)
def test_arrays_that_are_not_matrices_are_refused(
    array: np.ndarray, code: str, tmp_path: Path
) -> None:
    write("npy", tmp_path / "x", array)
    error = refused(catalogue.rows, "npy", tmp_path / "x", None, "logits")
    assert error.code == code == refused(catalogue.load, "npy", tmp_path / "x", None, "logits").code


def test_a_member_is_selected(tmp_path: Path) -> None:
    save_file({"a": np.zeros((2, 3)), "b": np.ones((4, 2))}, tmp_path / "x")
    assert refused(catalogue.rows, "safetensors", tmp_path / "x", None, "logits").code == (
        "member-needed"
    )
    rows = catalogue.rows("safetensors", tmp_path / "x", "b", "logits")
    assert isinstance(rows, Rows)
    np.testing.assert_array_equal(rows.read(0, 4), np.ones((4, 2)))


@given(
    rows=st.lists(st.integers(0, 60), max_size=30).map(sorted),
    near=st.integers(0, 5),
    longest=st.integers(1, 12),
)
def test_stretches_follow_their_definition(rows: list[int], near: int, longest: int) -> None:
    expected: list[list[int]] = []
    for at, row in enumerate(rows):
        if at and row - rows[at - 1] - 1 <= near and row - rows[expected[-1][0]] < longest:
            expected[-1].append(at)
        else:
            expected.append([at])
    stretches = runs(np.array(rows, dtype=np.int64), near, longest)
    assert [list(range(begin, end)) for begin, end in stretches] == expected


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_scan_holds_no_private_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.lib.format.open_memmap(tmp_path / "x", "w+", np.float32, (1 << 14, 1 << 10))
    array[:, 0] = np.arange(len(array))
    del array
    monkeypatch.setattr(raw, "HELD_BYTES", 0)
    rows = catalogue.rows("npy", tmp_path / "x", None, "logits")
    assert isinstance(rows, MappedRows)
    before = anonymous()
    total, most = 0.0, 0
    for start in range(0, rows.shape[0], 1000):
        total += float(rows.read(start, start + 1000).sum(dtype=np.float64))
        most = max(most, anonymous() - before)
    assert total == sum(range(1 << 14))
    assert most < rows.nbytes // 8


def anonymous() -> int:
    """Resident bytes of this process that no file backs."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no RssAnon")


SPAN = st.integers(0, 24)


@settings(max_examples=300)
@given(
    entries=st.dictionaries(
        st.sampled_from("abc"),
        st.tuples(st.sampled_from(["U8", "F32", "BF16"]), st.lists(SPAN, max_size=2), SPAN, SPAN),
        max_size=3,
    ),
    held=st.integers(0, 24),
    shuffle=st.randoms(),
    mend=st.booleans(),
)
def test_a_header_is_accepted_if_the_library_accepts_it(
    entries: dict[str, Any],
    held: int,
    shuffle: Any,
    mend: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    header: dict[str, Any] = {}
    at = 0
    for name, (kind, shape, begin, end) in entries.items():
        if mend:
            begin = at
            end = at = begin + int(np.prod(shape)) * {"U8": 1, "F32": 4, "BF16": 2}[kind]
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    names = list(header)
    shuffle.shuffle(names)
    text = json.dumps({name: header[name] for name in names}).encode()
    path = tmp_path_factory.getbasetemp() / f"header-{os.getpid()}"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(at if mend else held))
    try:
        with safe_open(path, framework="numpy"):
            accepted = True
    except SafetensorError:
        accepted = False
    code = ""
    try:
        safetensors.locate(LocalContent(path), names[0] if names else None)
    except UsageError as error:
        code = error.code
    assert (code not in ("invalid-file", "truncated")) == accepted


def test_rows_of_a_file_are_mapped_not_read(tmp_path: Path) -> None:
    write_matrix(tmp_path / "x", "npy", "f4")
    rows = catalogue.rows("npy", tmp_path / "x", None, "logits")
    assert isinstance(rows, ArrayRows)
    assert isinstance(rows.array.base, np.memmap)
    assert not rows.read(0, 3).flags.writeable
