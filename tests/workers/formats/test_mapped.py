"""Large tables that are read by rows are mapped from a file, and are the same matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.errors import UsageError
from workers.formats import catalogue, parquet
from workers.formats.column_roles import Column

NAMES = ("b", "c", "a")
VALUES = np.random.default_rng(2).normal(size=(5_000, 3)).round(3)


def columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, type="number", role="feature") for name in names)


def written(path: Path, format: str, table: pa.Table) -> Path:
    if format == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        pq.write_table(table, path, row_group_size=700)
    return path


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "MAPPED_BYTES", 1)
    monkeypatch.setattr(parquet, "_BATCH_ROWS", 512)


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("names", [("a", "b", "c"), NAMES, ("c",)])
def test_a_mapped_table_is_the_matrix(tmp_path: Path, format: str, names: tuple[str, ...]) -> None:
    table = pa.table({name: VALUES[:, at] for at, name in enumerate("abc")})
    path = written(tmp_path / "table", format, table)
    found = catalogue.rows(format, path, None, "features", columns=columns(*names))
    assert isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, table.select(list(names)).to_pandas().to_numpy())
    held = catalogue.load(format, path, None, "features", columns=columns(*names))
    assert isinstance(held, np.ndarray)
    assert held.dtype == found.dtype
    np.testing.assert_array_equal(held, found)


def test_integers_with_a_late_gap_are_written_anew(tmp_path: Path) -> None:
    whole = [*range(3_000), None, 7]
    path = written(tmp_path / "table", "parquet", pa.table({"a": whole, "b": [1] * len(whole)}))
    found = catalogue.rows("parquet", path, None, "features", columns=columns("a", "b"))
    assert isinstance(found, np.memmap)
    assert found.dtype == np.float64
    assert np.flatnonzero(np.isnan(found[:, 0])).tolist() == [3_000]
    assert found[3_001, 0] == 7


def test_what_is_no_number_is_named_as_before(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 100_000 + "1,word\n")
    with pytest.raises(UsageError, match="'word' at row 100000, column 1"):
        catalogue.rows("csv", path, None, "features", columns=columns("a", "b"))
