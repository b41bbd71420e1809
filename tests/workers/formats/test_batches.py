"""Arrow and Parquet: tables of columns, lists and text."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.inputs.label_sets import LabelSets
from models.tree.tree import Tree
from tests.workers.formats.files_kit import (
    MATRIX,
    as_lists,
    as_table,
    refused,
    rows_of,
    survives,
    write_table,
)
from workers.formats import catalogue


@pytest.fixture(params=["arrow-file", "arrow-stream", "parquet"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pa.Table], Any]:
    """Writes a table in one of the three formats and returns (format, path)."""

    def store(table: pa.Table) -> tuple[str, Path]:
        write_table(request.param, tmp_path / "content", table)
        return request.param, tmp_path / "content"

    return store


Stored = Callable[[pa.Table], tuple[str, Path]]


@pytest.mark.parametrize("form", ["columns", "fixed", "tensor", "list", "large"])
def test_matrices(form: str, stored: Stored) -> None:
    if form == "columns":
        table = as_table(MATRIX)
    elif form == "tensor":
        table = pa.table({"x": pa.FixedShapeTensorArray.from_numpy_ndarray(MATRIX)})
    else:
        kinds = {
            "fixed": pa.list_(pa.float32(), 3),
            "list": pa.list_(pa.float32()),
            "large": pa.large_list(pa.float32()),
        }
        table = pa.table({"x": pa.array(MATRIX.tolist(), type=kinds[form])})
    format, path = stored(table)
    facts = catalogue.inspect(format, path, None)
    assert (facts.shape, facts.dtype) == ((4, 3), "float32")
    value = catalogue.load(format, path, None, "features")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value, MATRIX)


def test_several_batches_are_concatenated(stored: Stored) -> None:
    for table in (as_table, as_lists):
        parts = pa.concat_tables([table(MATRIX[:1]), table(MATRIX[1:3]), table(MATRIX[3:])])
        format, path = stored(parts)
        assert catalogue.inspect(format, path, None).shape == (4, 3)
        np.testing.assert_array_equal(catalogue.load(format, path, None, "features"), MATRIX)


def test_many_columns_take_time_in_proportion(stored: Stored) -> None:
    """Reading the schema once for each of these columns would take 8 s."""
    format, path = stored(as_table(np.ones((2, 3000))))

    def seconds() -> float:
        began = time.process_time()
        assert catalogue.inspect(format, path, None).shape == (2, 3000)
        return time.process_time() - began

    # On a busy machine also the processor's time varies.
    assert any(seconds() < 3 for _ in range(4))


def test_a_large_table_of_many_blocks(stored: Stored) -> None:
    array = np.random.default_rng(0).random((30_000, 41))
    format, path = stored(as_table(array))
    np.testing.assert_array_equal(catalogue.load(format, path, None, "features"), array)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 1, 2], pa.int8()),
        pa.array([3, 1, 2], pa.uint64()),
        pa.array([3.0, 1.0, 2.0]),
        pa.array([3.0, 1.0, 2.0], pa.float16()),
    ],
)
def test_labels(values: pa.Array, stored: Stored) -> None:
    format, path = stored(pa.table({"y": values}))
    value = catalogue.load(format, path, None, "labels")
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.int64
    assert value.tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text(kind: pa.DataType, stored: Stored) -> None:
    words = ["rose", "<script>", "rose", "é\n'"]
    format, path = stored(pa.table({"y": pa.array(words).cast(kind)}))
    assert catalogue.inspect(format, path, None).shape == (4,)
    assert catalogue.inspect(format, path, None).dtype == "str"
    assert catalogue.load(format, path, None, "names") == words
    labels = catalogue.load(format, path, None, "labels")
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == words
    assert refused(catalogue.load, format, path, None, "features").code == "wrong-input"


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.list_(pa.int16()),
        pa.list_(pa.float64()),
    ],
    ids=str,
)
def test_lists_of_labels(kind: pa.DataType, stored: Stored) -> None:
    text = not pa.types.is_integer(kind.value_type) and not pa.types.is_floating(kind.value_type)
    rows: list[Any] = [[3, 10], [], None, [10], [3, 3]]
    written = [None if row is None else [f"{n}" for n in row] for row in rows] if text else rows
    plain = pa.list_(pa.string()) if text else kind
    format, path = stored(pa.table({"y": pa.array(written, plain).cast(kind)}))
    sets = catalogue.load(format, path, None, "labels")
    assert rows_of(sets) == [["10", "3"] if text else ["3", "10"], [], None, ["10"], ["3"]]
    facts = catalogue.inspect(format, path, None, role="labels")
    assert (facts.shape, facts.dtype) == ((5,), "str")
    # Without the role it is no matrix.
    error = refused(catalogue.inspect, format, path, None)
    assert ("?role=labels" in error.detail) == text


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None, "b"]),
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.array([1, None, 2], pa.int32()),
        pa.array([1.0, None, 2.0]),
    ],
    ids=lambda values: str(values.type),
)
def test_a_missing_label_is_unknown(values: pa.Array, stored: Stored) -> None:
    format, path = stored(pa.table({"y": values}))
    sets = catalogue.load(format, path, None, "labels")
    assert isinstance(sets, LabelSets)
    assert rows_of(sets) == [[sets.names[0]], None, [sets.names[1]]]
    assert refused(catalogue.load, format, path, None, "tasks").code == "missing-value"


def test_lists_of_one_label_are_a_column(stored: Stored) -> None:
    format, path = stored(pa.table({"y": pa.array([[3], [-1], [2]], pa.list_(pa.int8(), 1))}))
    labels = catalogue.load(format, path, None, "labels")
    assert isinstance(labels, np.ndarray)
    assert (labels.tolist(), labels.dtype) == ([3, -1, 2], np.int64)


@pytest.mark.parametrize(
    ("values", "code", "row"),
    [
        (pa.array([["a"], ["b", None]]), "missing-value", 1),
        (pa.array([["a"], ["b", ""]]), "missing-value", 1),
        (pa.array([[1.0], [1.0, 2.5]]), "wrong-input", 1),
        (pa.array([[[1]]]), "unsupported-format", None),
        (pa.array([[b"a"]]), "unsupported-format", None),
        (pa.array([[], None], pa.list_(pa.string())), "empty", None),
    ],
)
def test_lists_that_are_no_labels(
    values: pa.Array, code: str, row: int | None, stored: Stored
) -> None:
    format, path = stored(pa.table({"y": values}))
    error = refused(catalogue.load, format, path, None, "labels")
    assert (error.code, error.where.get("row")) == (code, row)


def test_lists_of_labels_in_many_batches(tmp_path: Path) -> None:
    parts = [
        pa.table({"y": pa.array(rows, pa.list_(pa.string()))})
        for rows in ([["b"]], [[], ["a", "b"]])
    ]
    with pa.ipc.new_stream(tmp_path / "x", parts[0].schema) as out:
        for part in parts:
            out.write_table(part)
    sets = catalogue.load("arrow-stream", tmp_path / "x", None, "labels")
    assert rows_of(sets) == [["b"], [], ["a", "b"]]
    paths = catalogue.load("arrow-stream", tmp_path / "x", None, "hierarchy")
    assert isinstance(paths, Tree)
    assert paths.name[paths.leaf_of_point].tolist() == ["b", "a"]


def test_a_column_is_selected_by_name(stored: Stored) -> None:
    format, path = stored(pa.table({"a": [1.5, 2.5], "y": ["u", "v"], "x": [[1, 2], [3, 4]]}))
    assert catalogue.load(format, path, "y", "labels").tolist() == ["u", "v"]  # type: ignore[union-attr]
    assert catalogue.load(format, path, "a", "features").tolist() == [[1.5], [2.5]]  # type: ignore[union-attr]
    assert catalogue.load(format, path, "x", "features").tolist() == [[1, 2], [3, 4]]  # type: ignore[union-attr]
    for member in (None, "z"):
        error = refused(catalogue.load, format, path, member, "labels")
        assert error.code == "member-needed"
        for name in ("'a'", "'y'", "'x'"):
            assert name in error.detail
    facts = catalogue.inspect(format, path, None)
    assert facts.shape == (2, 2)
    assert [column.role for column in facts.columns] == [None, "id", "feature"]


def test_the_error_names_text_among_numbers(stored: Stored) -> None:
    format, path = stored(pa.table({"a": [1.5, 2.5], "y": ["u", "v"]}))
    error = refused(catalogue.load, format, path, None, "features")
    assert error.code == "wrong-input"
    assert "'y'" in error.detail


def test_the_error_locates_missing_values(stored: Stored) -> None:
    table = pa.table({"a": [1.5, 2.5, 3.5], "b": pa.array([1, None, 2])})
    format, path = stored(table)
    error = refused(catalogue.load, format, path, None, "logits")
    assert error.code == "missing-value"
    assert (error.where["row"], error.where["column"]) == (1, 1)
    assert refused(catalogue.inspect, format, path, role="logits").code == "missing-value"
    lists = pa.array([[1.0, 2.0], [3.0, None]], pa.list_(pa.float64(), 2))
    format, path = stored(pa.table({"x": lists}))
    error = refused(catalogue.load, format, path, None, "logits")
    assert (error.where["row"], error.where["column"]) == (1, 1)
    for words in (pa.array(["u", None]), pa.array(["u", None]).dictionary_encode()):
        format, path = stored(pa.table({"y": words}))
        error = refused(catalogue.load, format, path, None, "names")
        assert (error.code, error.where["row"]) == ("missing-value", 1)


def test_the_error_locates_ragged_lists(stored: Stored) -> None:
    table = pa.table({"x": [[1.0, 2.0], [3.0, 4.0], [5.0]]})
    format, path = stored(table)
    error = refused(catalogue.load, format, path, None, "features")
    assert (error.code, error.where["row"]) == ("ragged", 2)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (as_table(MATRIX[:0]), "empty"),
        (pa.table({}), "empty"),
        (pa.table({"x": pa.array([[], []], pa.list_(pa.float64()))}), "empty"),
        (pa.table({"x": pa.array([1, 2], pa.timestamp("us"))}), "unsupported-format"),
        (pa.table({"x": pa.array([b"a", b"b"])}), "unsupported-format"),
        (pa.table({"x": pa.array([{"a": 1}])}), "unsupported-format"),
        (pa.table({"x": [[[1.0]]]}), "unsupported-format"),
    ],
)
def test_tables_that_hold_no_matrix(table: pa.Table, code: str, stored: Stored) -> None:
    format, path = stored(table)
    assert refused(catalogue.load, format, path, None, "features").code == code
    assert refused(catalogue.inspect, format, path, None).code == code


def test_a_column_without_any_value_is_of_gaps(stored: Stored) -> None:
    format, path = stored(pa.table({"x": [1.5, 2.0], "y": pa.nulls(2)}))
    facts = catalogue.inspect(format, path, None, role="features")
    assert "2 in column 'y'" in " ".join(facts.warnings)
    value = catalogue.load(format, path, None, "features", columns=facts.columns)
    np.testing.assert_array_equal(value, [[1.5, np.nan], [2.0, np.nan]])
    assert refused(catalogue.load, format, path, None, "logits").code == "missing-value"


@pytest.mark.parametrize(
    ("kind", "seconds", "ids"),
    [
        (pa.timestamp("us"), [0, 86400], ["1970-01-01", "1970-01-02"]),
        (pa.timestamp("ns"), [0, 60], ["1970-01-01 00:00:00", "1970-01-01 00:01:00"]),
        (pa.timestamp("s", "UTC"), [0, 60], ["1970-01-01 00:00:00Z", "1970-01-01 00:01:00Z"]),
    ],
)
def test_an_index_of_moments_is_the_ids(
    kind: pa.DataType, seconds: list[int], ids: list[str], stored: Stored
) -> None:
    moments = pa.array(seconds, pa.timestamp("s")).cast(pa.timestamp(kind.unit)).cast(kind)
    format, path = stored(pa.table({"index": moments, "x": [1.5, 2.0]}))
    columns = catalogue.inspect(format, path, None, role="features").columns
    assert [column.role for column in columns] == ["id", "feature"]
    assert catalogue.load(format, path, None, "names", columns=columns) == ids
    assert catalogue.texts(format, path, "index") == ids


def periods(freq: str) -> pa.Table:
    """A column of periods of pandas beside one of numbers."""
    notes = {"ARROW:extension:name": "pandas.period", "ARROW:extension:metadata": freq}
    fields = [pa.field("month", pa.int64(), metadata=notes), pa.field("x", pa.float64())]
    return pa.table([[600, 601], [1.5, 2.0]], pa.schema(fields))


@pytest.mark.parametrize("has_pandas", [False, True])
def test_periods_of_pandas_are_no_numbers(stored: Stored, *, has_pandas: bool) -> None:
    """Where pandas is loaded, such columns get a type from it in the whole process."""
    if has_pandas:
        pytest.importorskip("pandas.core.arrays.arrow.extension_types")
    facts = catalogue.inspect(*stored(periods('{"freq": "M"}')), None, role="features")
    assert [column.role for column in facts.columns] == [None, "feature"]
    assert "left out: 'month'" in " ".join(facts.warnings)


def test_a_type_that_cannot_be_read_is_no_error_of_the_service(stored: Stored) -> None:
    pytest.importorskip("pandas.core.arrays.arrow.extension_types")
    format, path = stored(periods("no JSON"))
    assert refused(catalogue.inspect, format, path, role="features").code == "invalid-file"


def test_the_pandas_index_is_not_a_feature(stored: Stored) -> None:
    meta = {"pandas": '{"index_columns": ["__index_level_0__"]}'}
    table = pa.table({"a": [1.0], "__index_level_0__": [7]}).replace_schema_metadata(meta)
    format, path = stored(table)
    assert "index=False" in refused(catalogue.load, format, path, None, "features").detail


@pytest.mark.parametrize("format", ["arrow-file", "parquet"])
def test_a_truncated_file(format: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_table(format, path, as_table(MATRIX))
    content = path.read_bytes()
    for length in (9, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        for call, *rest in ((catalogue.inspect,), (catalogue.load, "features")):
            assert refused(call, format, path, None, *rest).code == "truncated"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("format", ["arrow-file", "arrow-stream", "parquet"])
def test_mutated_files_raise_only_our_errors(
    format: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("t") / "x"
    tables = (as_table(MATRIX), as_lists(MATRIX), pa.table({"y": ["a", "bc", "a"]}))
    kind = data.draw(st.integers(0, 2))
    write_table(format, path, tables[kind])
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    for call, *rest in (
        (catalogue.inspect,),
        (catalogue.load, "labels" if kind == 2 else "logits"),
    ):
        survives(call, format, path, None, *rest)
