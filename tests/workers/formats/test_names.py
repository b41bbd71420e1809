"""Every name that a file brings comes out of its reader as it was written, in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from workers.formats import catalogue
from workers.formats.column_roles import Choice, features, of_role
from workers.formats.csv_dialect import Written
from workers.formats.facts import DEFAULT, Bounds

HOSTILE = [
    *('a"b', "it's", "🦊👩‍👩‍👧", "שלום", "\u202eevil", "a,b", "a\nb", "a\rb", "x" * 10_000, "nan"),
    *("NaN", "1.0", "007", "-0", "1e5", "null", "None", "true", " lead", "trail ", "a;b", "a\tb"),
    *("(a:1)", "[x]", "a_b", "a b", "=cmd()", "É", "E\u0301", "<b>&amp;", "\\n", "NA", "inf"),
    *("0x1F", "1,5", "1.234,5", "2024-01-01", "ﬁ", "١", "#x", "-", "?", "sep=;"),
]
NUMBERS = np.array([0.25, -1.5, 3.125])
SEPARATORS = (",", ";", "\t", "|")


def csv_of(header: list[str], rows: list[list[object]], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows([header, *rows])
    return text.getvalue().encode()


def files(header: list[str], rows: list[list[object]]) -> dict[str, tuple[str, bytes]]:
    """The same table in each format: its format and its bytes."""
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    table = pa.table(columns)
    parquet, arrow = io.BytesIO(), io.BytesIO()
    pyarrow.parquet.write_table(table, parquet)
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table)
    objects = [dict(zip(header, row, strict=True)) for row in rows]
    return {
        "csv": ("csv", csv_of(header, rows)),
        "parquet": ("parquet", parquet.getvalue()),
        "arrow": ("arrow-file", arrow.getvalue()),
        "json": ("json", json.dumps(objects).encode()),
        "jsonl": ("jsonl", "".join(json.dumps(one) + "\n" for one in objects).encode()),
    }


def as_ids(names: list[str]) -> tuple[list[str], list[list[object]]]:
    """A table with these ids."""
    return ["id", "x", "y"], [
        [name, float(NUMBERS[row % 3]), row + 0.5] for row, name in enumerate(names)
    ]


def require_ids(path: Path, kind: str, names: list[str]) -> None:
    facts = catalogue.inspect(kind, path, role="features")
    assert of_role(facts.columns or (), "id") == "id"
    assert features(facts.columns or ()) == ("x", "y")
    assert facts.shape == (len(names), 2)
    assert catalogue.texts(kind, path, "id", DEFAULT, None) == names


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "json", "jsonl"])
def test_ids_of_rows(kind: str, tmp_path: Path) -> None:
    format, content = files(*as_ids(HOSTILE))[kind]
    path = tmp_path / "file"
    path.write_bytes(content)
    require_ids(path, format, HOSTILE)


@pytest.mark.parametrize("delimiter", SEPARATORS)
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:12])
def test_one_odd_id_changes_no_number(name: str, delimiter: str, tmp_path: Path) -> None:
    header, rows = as_ids([name, "second", "third", "fourth"])
    path = tmp_path / "file"
    path.write_bytes(csv_of(header, rows, delimiter))
    require_ids(path, "csv", [name, "second", "third", "fourth"])
    found = catalogue.load("csv", path, None, "features", DEFAULT, _columns(path))
    np.testing.assert_array_equal(found, [row[1:] for row in rows])


def _columns(path: Path) -> tuple[catalogue.Column, ...]:
    return catalogue.inspect("csv", path, role="features").columns or ()


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "json", "jsonl"])
def test_names_of_features_in_any_order(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, len(HOSTILE)))
    csv_bounds = Bounds(csv=Written(header=True))
    for order in (range(len(HOSTILE)), rng.permutation(len(HOSTILE))):
        names = [HOSTILE[at] for at in order]
        format, content = files(names, values[:, list(order)].tolist())[kind]
        path.write_bytes(content)
        choice = Choice(features=tuple(HOSTILE), csv=csv_bounds.csv)
        facts = catalogue.inspect(format, path, None, csv_bounds, "features", choice)
        assert sorted(features(facts.columns or ())) == sorted(HOSTILE)
        by_name = {own.name: own for own in facts.columns or ()}
        columns = tuple(by_name[name] for name in HOSTILE)
        found = catalogue.load(format, path, None, "features", csv_bounds, columns)
        np.testing.assert_array_equal(found, values)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
        .filter(lambda text: text.strip())
        .filter(lambda text: len(text) < 30),
        min_size=2,
        max_size=8,
        unique=True,
    ).filter(lambda names: any(any(mark.isalpha() for mark in name) for name in names)),
    st.sampled_from(["csv", "parquet", "arrow", "json", "jsonl"]),
)
def test_any_ids(tmp_path_factory: pytest.TempPathFactory, names: list[str], kind: str) -> None:
    path = tmp_path_factory.mktemp("names") / "file"
    format, content = files(*as_ids(names))[kind]
    path.write_bytes(content)
    columns = catalogue.inspect(format, path, role="features").columns
    assert features(columns or ()) == ("x", "y")
    assert catalogue.texts(format, path, "id", DEFAULT, None) == names


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-Infinity"])
def test_words_for_numbers_are_names_among_names(word: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(csv_of(["id", "x", word], [["a", 1.5, 2.5], ["b", 0.5, 3.5]]))
    facts = catalogue.inspect("csv", path, role="features")
    assert features(facts.columns or ()) == ("x", word)
    assert facts.shape == (2, 2)
    assert any("taken as its header" in note for note in facts.warnings)
    found = catalogue.load("csv", path, None, "features", DEFAULT, facts.columns)
    np.testing.assert_array_equal(found, [[1.5, 2.5], [0.5, 3.5]])


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (["1", "2", "oops"], "column 2 .counted from 0. is 'oops', column 0 '1'"),
        (["nan", "nan", "oops"], "column 2 .counted from 0. is 'oops', column 0 'nan'"),
        (["nan", "x", "7"], "column 1 .counted from 0. is 'x', column 0 'nan'"),
    ],
)
def test_a_row_with_a_slip_is_no_header(first: list[str], why: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(csv_of(first, [[1.5, 2.5, 3.5], [0.5, 3.5, 4.5]]))
    with pytest.raises(UsageError, match=why):
        catalogue.inspect("csv", path, role="features")


def test_text_that_is_no_header_by_the_uploader_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a,b\n1,2\n")
    bounds = Bounds(csv=Written(header=False))
    with pytest.raises(UsageError, match=r"column 0 \(counted from 0\) is 'a'\. A matrix"):
        catalogue.inspect("csv", path, None, bounds, "features")
