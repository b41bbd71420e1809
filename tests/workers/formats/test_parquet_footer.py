"""The footer of a Parquet file: numbers of values as pyarrow counts them, and damage."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.formats.files_kit import (
    refused,
    survives,
)
from workers.formats.parquet_footer import values_claimed


@pytest.mark.parametrize("groups", [1, 3])
def test_the_footer_is_parsed_as_by_pyarrow(groups: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    nested = {"a": [1, 2, 3], "b": ["x", "y", "z"], "c": [[1.0], [2.0, 3.0], []], "d": [True] * 3}
    table = pa.table(nested).replace_schema_metadata({"key": "value" * 100})
    pq.write_table(table, path, row_group_size=-(-3 // groups), write_page_index=True)
    content = path.read_bytes()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
    metadata = pq.read_metadata(path)
    expected = sum(
        metadata.row_group(group).column(column).num_values
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    )
    assert values_claimed(footer) == expected
    for length in range(len(footer)):
        assert refused(values_claimed, footer[:length]).code == "invalid-file"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_a_footer_of_any_bytes(footer: bytes) -> None:
    survives(values_claimed, footer)
    survives(values_claimed, footer * 5000)
