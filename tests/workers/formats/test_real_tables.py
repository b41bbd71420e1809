"""Tables as real tools export them, read; columns in any order; refusals by row and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workers.formats.files_kit import put, refused, survives
from tests.workers.formats.real_tables_kit import GAPS, TABLES, WRITERS, Real, frame_of, permuted
from workers.formats import catalogue, column_roles
from workers.formats.refusals import shown
from workers.work.sources import Source, looked_at, values_of

ONE_FOLDER = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("real", TABLES.values(), ids=list(TABLES))
def test_a_real_table(real: Real, tmp_path: Path) -> None:
    path = put(tmp_path / "x", real.content)
    if real.refusal:
        detail = refused(catalogue.inspect, real.format, path, None, role="features").detail
        assert [word for word in real.refusal if word not in detail] == [], detail
        return
    facts = catalogue.inspect(real.format, path, None, role="features")
    columns = facts.columns
    assert column_roles.features(columns) == real.features
    value = catalogue.load(real.format, path, None, "features", columns=columns)
    assert np.asarray(value).tolist() == [list(row) for row in real.values]
    assert facts.shape == np.shape(value)
    index = column_roles.of_role(columns, "id")
    ids = None if index is None else tuple(catalogue.texts(real.format, path, index))
    assert ids == real.ids
    label = column_roles.of_role(columns, "label")
    assert (label is None) == (real.labels is None)
    if real.labels is not None:
        labels = catalogue.load(real.format, path, None, "labels", columns=columns)
        assert tuple(np.asarray(labels).tolist()) == real.labels
    note = " ".join(facts.warnings)
    unused = [column.name for column in columns if column.role != "feature"]
    for word in (*real.words, *map(shown, unused)):
        assert word in note


@pytest.mark.parametrize("real", GAPS.values(), ids=list(GAPS))
def test_an_empty_cell_is_counted(real: Real, tmp_path: Path) -> None:
    path = put(tmp_path / "x", real.content)
    facts = catalogue.inspect(real.format, path, None, role="features")
    note = " ".join(facts.warnings)
    assert [word for word in real.gap if word not in note] == [], note
    value = catalogue.load(real.format, path, None, "features", columns=facts.columns)
    assert np.isnan(np.asarray(value)).sum() == 1


@pytest.mark.parametrize("real", TABLES.values(), ids=list(TABLES))
def test_a_job_that_comes_before_the_inspection_reads_the_same(real: Real, tmp_path: Path) -> None:
    path = put(tmp_path / "x", real.content)
    source = Source(
        role="features", kind="dataset", path=path, format=real.format, warnings=(), inspected=False
    )
    if real.refusal:
        refused(lambda: values_of([looked_at(source)]))
        return
    facts = catalogue.inspect(real.format, path, None, role="features")
    own = looked_at(source)
    assert (own.columns, own.warnings) == (facts.columns, facts.warnings)
    value = values_of([own])["features"]
    assert np.asarray(value).tolist() == [list(row) for row in real.values]
    assert looked_at(source.model_copy(update={"role": "labels"})).warnings != facts.warnings
    known = source.model_copy(update={"inspected": True})
    assert looked_at(known) is known


@ONE_FOLDER
@given(st.permutations(range(9)), st.sampled_from(sorted(WRITERS)), st.integers(0, 5))
def test_the_order_of_columns_changes_nothing(
    tmp_path: Path, order: list[int], format: str, seed: int
) -> None:
    frame = frame_of(12, seed)
    found = []
    for own in (frame, permuted(frame, order)):
        path = put(tmp_path / "x", WRITERS[format](own))
        facts = catalogue.inspect(format, path, None, role="features")
        assert [column.name for column in facts.columns] == list(own.columns)
        used = column_roles.features(facts.columns)
        note = " ".join(facts.warnings)
        assert all(repr(name) in note for name in own.columns if name not in used)
        value = np.asarray(catalogue.load(format, path, None, "features", columns=facts.columns))
        found.append(
            (
                {column.name: column.role for column in facts.columns},
                {name: value[:, at].tolist() for at, name in enumerate(used)},
            )
        )
    assert found[0] == found[1]
    assert set(found[0][1]) == {"width", "height", "depth"}


@ONE_FOLDER
@given(st.sampled_from(sorted(TABLES)), st.data())
def test_a_damaged_table_is_read_or_refused(tmp_path: Path, name: str, data: st.DataObject) -> None:
    real = TABLES[name]
    content = bytearray(real.content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        content = content or bytearray(b"x")
    path = put(tmp_path / "x", bytes(content))
    survives(catalogue.inspect, real.format, path, None, catalogue.Bounds(), "features")
    survives(catalogue.inspect, real.format, path, None, catalogue.Bounds(), "labels")


@ONE_FOLDER
@given(st.binary(min_size=1, max_size=80), st.sampled_from(["csv", "json", "jsonl"]))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes, format: str) -> None:
    path = put(tmp_path / "x", content)
    survives(catalogue.inspect, format, path, None, catalogue.Bounds(), "features")


def test_ten_thousand_columns(tmp_path: Path) -> None:
    names = [f"x{at}" for at in range(10_000)]
    row = ",".join(["1.5"] * 10_000)
    path = put(tmp_path / "x", f"id,{','.join(names)}\na,{row}\nb,{row}\n")
    facts = catalogue.inspect("csv", path, None, role="features")
    assert facts.shape == (2, 10_000)
    path = put(tmp_path / "x", f"id,{','.join(names[:-1])},x7\na,{row}\nb,{row}\n")
    error = refused(catalogue.inspect, "csv", path, None, role="features")
    assert "'x7'" in error.detail
    assert error.where["column"] == 10_000


def test_a_column_of_one_value_is_a_feature(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "a,b\n1,1\n1,2\n1,3\n")
    facts = catalogue.inspect("csv", path, None, role="features")
    assert facts.shape == (3, 2)
    assert facts.warnings == ()


def test_a_type_that_changes_late(tmp_path: Path) -> None:
    content = b"a,b\n" + b"1,2.%s\n" % (b"5" * 50) * 33_000 + b"1,late\n1,2\n"
    error = refused(catalogue.inspect, "csv", put(tmp_path / "x", content), None, role="features")
    assert error.where == {"row": 33_000, "column": 1, "line": 33_002}
    assert "'late'" in error.detail
    assert "'b'" in error.detail
