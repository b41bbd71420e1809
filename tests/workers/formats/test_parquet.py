"""Parquet: files that claim too large a size, and damaged footers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.workers.formats.files_kit import (
    MATRIX,
    as_lists,
    refused,
    survives,
)
from workers.formats import catalogue, parquet
from workers.formats.facts import Bounds


def test_run_lengths_are_measured_before_they_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "x"
    pq.write_table(pa.table({"x": pa.repeat(1.0, 20_000_000)}), path)
    assert path.stat().st_size < 100_000
    before = pa.default_memory_pool().bytes_allocated()
    for role in ("features", "timestamps"):
        error = refused(
            catalogue.load, "parquet", path, None, role, bounds=Bounds(max_bytes=100_000_000)
        )
        assert error.code == "too-large"
    assert pa.default_memory_pool().bytes_allocated() - before < 1 << 20


def test_lists_are_measured_by_their_values(tmp_path: Path) -> None:
    path = tmp_path / "x"
    flat = pa.repeat(1.0, 20_000_000)
    pq.write_table(pa.table({"x": pa.FixedSizeListArray.from_arrays(flat, 10_000_000)}), path)
    assert path.stat().st_size < 1_000_000
    before = pa.default_memory_pool().bytes_allocated()
    error = refused(
        catalogue.load, "parquet", path, None, "features", bounds=Bounds(max_bytes=50_000_000)
    )
    assert error.code == "too-large"
    assert pa.default_memory_pool().bytes_allocated() - before < 1 << 20


def test_a_damaged_footer_does_not_end_the_process(tmp_path: Path) -> None:
    """Every byte of the footer set to a few values, where pyarrow's metadata view would abort."""
    path = tmp_path / "x"
    pq.write_table(as_lists(MATRIX), path)
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for at in range(start, len(content) - 8):
        damaged = bytearray(content)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        survives(catalogue.load, "parquet", path, None, "features")


def test_a_large_row_group_is_not_held(tmp_path: Path) -> None:
    """Pages are: 1 MiB of each of 4 columns, of a row group of 32 MB."""
    path = tmp_path / "x"
    column = pa.array(np.random.default_rng(0).normal(size=1_000_000))
    pq.write_table(pa.table(dict.fromkeys("abcd", column)), path, use_dictionary=False)
    pool = pa.default_memory_pool()
    del column
    before = pool.bytes_allocated()
    with parquet.opened_file(path, Bounds()) as opened:
        held = [pool.bytes_allocated() - before for _ in opened.read([0, 1, 2, 3])]
    assert max(held) < 16 << 20
