"""Arrow streams and files: mapped buffers, and buffers that claim too large a size."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.workers.formats.files_kit import (
    MATRIX,
    as_lists,
    as_table,
    put,
    refused,
    write_arrow,
    write_table,
)
from workers.formats import catalogue
from workers.formats.facts import Bounds


@pytest.mark.parametrize("file", [True, False])
def test_an_uncompressed_list_column_is_not_copied(file: bool, tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_arrow(path, as_lists(np.zeros((2_000_000, 8), dtype="f4")), file=file)
    format = "arrow-file" if file else "arrow-stream"
    before = pa.total_allocated_bytes()
    value = catalogue.load(format, path, None, "features")
    assert isinstance(value, np.ndarray)
    assert value.shape == (2_000_000, 8)
    assert pa.total_allocated_bytes() - before < 1 << 20
    assert not value.flags.owndata
    assert not value.flags.writeable
    assert value[-1].tolist() == [0] * 8


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compressed_buffers(compression: str, tmp_path: Path) -> None:
    array = np.random.default_rng(0).integers(0, 3, (5000, 4)).astype("f8")
    path = tmp_path / "x"
    for table in (as_table(array), as_lists(array)):
        write_arrow(path, table, compression=compression)
        np.testing.assert_array_equal(catalogue.load("arrow-file", path, None, "features"), array)


@pytest.mark.parametrize("file", [True, False])
def test_compressed_buffers_are_measured_before_they_are_unpacked(
    file: bool, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    table = as_lists(np.zeros((1_000_000, 8)))
    write_arrow(path, table, file=file, compression="zstd")
    assert path.stat().st_size < 100_000
    format = "arrow-file" if file else "arrow-stream"
    before = pa.default_memory_pool().bytes_allocated()
    for call, *rest in ((catalogue.inspect,), (catalogue.load, "features")):
        error = refused(call, format, path, None, *rest, bounds=Bounds(max_bytes=60_000_000))
        assert error.code == "too-large"
        assert error.where["bytes"] >= 64_000_000
    assert pa.default_memory_pool().bytes_allocated() - before < 1 << 20
    assert catalogue.inspect(format, path, None, Bounds(max_bytes=65_000_000)).shape[1] == 8


@pytest.mark.needs("polars")
@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_a_file_that_polars_wrote(compression: Any, tmp_path: Path) -> None:
    """Its schema has no length before it, its dictionaries follow the batch, words are views."""
    import polars

    words = polars.Series(["u", "v", "u"], dtype=polars.Categorical)
    frame = polars.DataFrame({"id": ["a", "b", "c"], "x": [1.5, 2.0, 4.0], "label": words})
    frame.write_ipc(tmp_path / "x", compression=compression)
    columns = catalogue.inspect("arrow-file", tmp_path / "x", None, role="features").columns
    assert [column.role for column in columns] == ["id", "feature", "label"]
    value = catalogue.load("arrow-file", tmp_path / "x", None, "features", columns=columns)
    assert np.asarray(value).tolist() == [[1.5], [2.0], [4.0]]
    assert catalogue.texts("arrow-file", tmp_path / "x", "id") == ["a", "b", "c"]
    labels = catalogue.load("arrow-file", tmp_path / "x", None, "labels", columns=columns)
    assert np.asarray(labels).tolist() == ["u", "v", "u"]
    table: Any = catalogue.load("arrow-file", tmp_path / "x", None, "items")
    assert [column.name for column in table.columns] == ["id", "x", "label"]


def test_a_footer_that_lists_a_batch_twice(tmp_path: Path) -> None:
    table = as_table(MATRIX)
    with pa.ipc.new_file(tmp_path / "x", table.schema) as out:
        out.write_table(table)
        out.write_table(table)
    content = (tmp_path / "x").read_bytes()
    assert catalogue.inspect("arrow-file", tmp_path / "x", None).shape == (8, 3)
    length = int.from_bytes(content[-10:-6], "little")
    footer = content[-10 - length :]
    first, second = (
        struct.pack("<q", at)
        for at in range(8, len(content) - length, 8)
        if footer.count(struct.pack("<q", at)) == 1 and content[at : at + 4] == b"\xff\xff\xff\xff"
    )
    for wrong in (first, struct.pack("<q", 2**62), struct.pack("<q", -8)):
        put(tmp_path / "x", content[: -len(footer)] + footer.replace(second, wrong))
        error = refused(catalogue.inspect, "arrow-file", tmp_path / "x", None)
        assert "footer lists batches" in error.detail


def test_a_truncated_stream(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_table("arrow-stream", path, as_table(MATRIX))
    content = path.read_bytes()
    for length in range(8, len(content) - 8, 40):
        path.write_bytes(content[:length])
        assert refused(catalogue.inspect, "arrow-stream", path, None).code in {
            "invalid-file",
            "empty",
        }


def test_sizes_of_compressed_buffers_cannot_cancel_out(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_arrow(path, as_table(np.zeros((8000, 2))), compression="lz4")
    content = path.read_bytes()
    prefix = (64_000).to_bytes(8, "little")
    assert content.count(prefix) == 2
    for sizes in ((2**56, -(2**56)), (-2, 64_000)):
        damaged = content
        for size in sizes:
            damaged = damaged.replace(prefix, size.to_bytes(8, "little", signed=True), 1)
        path.write_bytes(damaged)
        error = refused(catalogue.load, "arrow-file", path, None, "features")
        assert error.code == "invalid-file"
