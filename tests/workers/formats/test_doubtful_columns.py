"""Columns that look like something else than what they are taken as: taken so, or a warning."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.inputs.reading import noting
from tests.workers.formats.files_kit import put, refused
from workers.formats import catalogue
from workers.formats.column_roles import Choice

ROWS = [(row, 0.5 * (row * 7 % 5), row % 3 + 0.25) for row in range(8)]


def csv(head: str, first: Sequence[object]) -> bytes:
    rows = (f"{own},{x},{y}\n" for own, (_, x, y) in zip(first, ROWS, strict=True))
    return "".join([f"{head},x,y\n", *rows]).encode()


COUNTS: list[object] = list(range(8))
FROM_ONE: list[object] = list(range(1, 9))
PAIRS: list[object] = [row // 2 for row in range(8)]
FLOATS: list[object] = [f"{row // 2}.0" for row in range(8)]
CODES: list[object] = ["0012", "0013", "0013", "0208", "1007", "0101", "0020", "0700"]
REALS: list[object] = [f"{row // 2}.25" for row in range(8)]


@pytest.mark.parametrize(
    ("head", "first", "role", "words"),
    [
        *((name, COUNTS, "id", name) for name in ("X", "V1", "rn", "...1", "obs", "n", "#")),
        ("V1", FROM_ONE, "id", "V1"),
        ("V1", PAIRS, "feature", ""),
        ("t", COUNTS, "feature", "counts the rows and is among the features"),
        ("id", PAIRS, None, "row 1 has that of row 0"),
        ("customer_id", FLOATS, None, "row 1 has that of row 0"),
        ("id", [f"{row}.0" for row in range(8)], "id", "'id'"),
        ("label", FLOATS, "label", "'label'"),
        ("target", REALS, "feature", "Numbers with decimals are no labels"),
        ("height", REALS, "feature", ""),
        ("respondent", CODES, "feature", "begin with 0, such as '0012', as ids and codes do"),
    ],
)
def test_the_first_column(
    head: str, first: list[object], role: str | None, words: str, tmp_path: Path
) -> None:
    facts = catalogue.inspect("csv", put(tmp_path / "x.csv", csv(head, first)))
    assert facts.columns[0].role == role
    assert words in " ".join(facts.warnings)
    assert bool(words) == bool(facts.warnings)


def test_decimals_without_decimals_are_integers(tmp_path: Path) -> None:
    """Warehouses hold every integer as a decimal of scale 0."""
    whole = [Decimal(number) for number in (7, 3, 9)]
    table = pa.table({"id": whole, "label": [whole[0], *whole[:2]], "x": [1.5, 2.0, 0.25]})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    path = put(tmp_path / "x.parquet", sink.getvalue())
    columns = catalogue.inspect("parquet", path).columns
    assert [(column.type, column.role) for column in columns] == [
        ("integer", "id"),
        ("integer", "label"),
        ("number", "feature"),
    ]
    assert catalogue.load("parquet", path, None, "labels", columns=columns).tolist() == [7, 7, 3]
    assert catalogue.texts("parquet", path, "id") == ["7", "3", "9"]


def test_two_columns_of_one_name_are_refused_by_name_and_column(tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array([1.0])] * 2, names=["x", "x"]), sink)
    error = refused(catalogue.inspect, "parquet", put(tmp_path / "x", sink.getvalue()))
    assert "'x'" in error.detail
    assert "column 1" in error.detail


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", "b", "a "], "'a' and 'a '"),
        (["Cat", "cat", "dog"], "'Cat' and 'cat'"),
        (["é", "e\u0301", "b"], r"'\xe9' and 'e\u0301'"),
        (["a\u200b", "a", "b"], r"'a\u200b' and 'a'"),
        (["a", "NA", "b"], "'NA' at row 1"),
        (["a", "b", "a"], ""),
    ],
)
def test_labels_that_may_be_mistakes(labels: list[str], words: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x.csv", "\n".join(["label", *labels, ""]).encode())
    with noting() as notes:
        catalogue.load("csv", path, None, "labels")
    assert words in " ".join(notes)
    assert bool(words) == bool(notes)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([3, 1, 0, 2, 7, 6, 5, 4], "has the numbers of the rows in another order"),
        ([1, 2, 3, 4, 5, 6, 7, 8], "counts the rows"),
        ([20200130, 20200131, 20200201, 20200229] * 2, "days as integers, such as '20200130'"),
        ([20200130, 20200132, 20200201, 20200229] * 2, ""),
        ([3, 1, 0, 2, 7, 6, 5, 9], ""),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_behind_the_features(
    column: list[int], words: str, form: str, tmp_path: Path
) -> None:
    x = [0.5, 0.25, 3.0, 1.5, 2.0, 9.0, 8.5, 0.0]
    lines = ["x,extra", *(f"{one},{other}" for one, other in zip(x, column, strict=True)), ""]
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": x, "extra": column}), sink)
    content = "\n".join(lines).encode() if form == "csv" else sink.getvalue()
    facts = catalogue.inspect(form, put(tmp_path / "x", content))
    assert [own.role for own in facts.columns] == ["feature", "feature"]
    assert words in " ".join(facts.warnings)
    assert bool(words) == bool(facts.warnings)


@pytest.mark.parametrize("head", ["x,rank", "x,rank by size", "extra,other"])
def test_ranks_are_features(head: str, tmp_path: Path) -> None:
    """One column with the numbers of the rows may be an index; several, or by name, are ranks."""
    column = [3, 1, 0, 2, 7, 6, 5, 4]
    first = column[::-1] if "other" in head else [row / 4 for row in column]
    lines = [head, *(f"{one},{other}" for one, other in zip(first, column, strict=True)), ""]
    assert not catalogue.inspect("csv", put(tmp_path / "x", "\n".join(lines).encode())).warnings


@pytest.mark.parametrize(
    "template",
    [
        "{} kg",
        "{}kg",
        "USD {}.5",
        "<{}",
        "(${}.50)",
        "{}.5-",
        "0x1{}",
        "{}.5D+2",
        "1{}:30",
        "{} # x",
    ],
)
def test_numbers_with_units_are_named_and_no_ids(template: str, tmp_path: Path) -> None:
    """Also where a true id stands behind them."""
    rows = (f"{template.format(at)},{x},p{at}\n" for at, (_, x, _) in enumerate(ROWS))
    path = put(tmp_path / "x.csv", "".join(["weight,x,plant\n", *rows]).encode())
    facts = catalogue.inspect("csv", path)
    assert [column.role for column in facts.columns] == [None, "feature", "id"]
    assert f"'weight' ({template.format(0)!r})" in " ".join(facts.warnings)


@pytest.mark.parametrize(
    "template", ["{}a", "S{}", "LAB {}", "{} A", "1.2.{}", "10.0.0.{}", "{}-7", "W1_{}"]
)
def test_codes_with_numbers_are_ids(template: str, tmp_path: Path) -> None:
    texts = [template.format(at) for at in range(8)]
    facts = catalogue.inspect("csv", put(tmp_path / "x.csv", csv("plant", texts)))
    assert facts.columns[0].role == "id"
    assert "units or signs" not in " ".join(facts.warnings)


def test_codes_and_chosen_columns_are_no_numbers_as_texts(tmp_path: Path) -> None:
    rows = [{"town": f"0{row}", "kind": str(row % 2), "x": row / 4} for row in range(4)]
    path = put(tmp_path / "x", "\n".join(map(json.dumps, rows)).encode())
    choice = Choice(id="town", label="kind")
    assert not catalogue.inspect("jsonl", path, choice=choice).warnings
    assert "features: 'kind'." in catalogue.inspect("jsonl", path).warnings[-1]


@pytest.mark.parametrize("codes", [["12", "12a", "13", "14"], ["100", "200", "A1", "300"]])
def test_codes_of_digits_and_letters_are_ids(codes: list[str], tmp_path: Path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"code": codes, "x": [0.5, 1, 2, 4], "y": [1.5, 3, 2, 0]}), sink)
    facts = catalogue.inspect("parquet", put(tmp_path / "x", sink.getvalue()), role="features")
    assert [own.role for own in facts.columns] == ["id", "feature", "feature"]
    assert not any("numbers and words" in warning for warning in facts.warnings)


def test_lists_in_the_only_column_get_advice(tmp_path: Path) -> None:
    content = b'emb\n"[0.5, 1]"\n"[2, -1e3]"\n'
    error = refused(catalogue.load, "csv", put(tmp_path / "x", content), None, "features")
    assert "Write lists as a column for each number" in error.detail


@pytest.mark.parametrize(
    "text", ["[0.1, 2]", "(1, 2)", "[np.float64(0.1), np.float64(2.0)]", "array([0.1, 2.0])",
             "tensor([0.1000, 2.0000])", "[tensor(0.1), tensor(2.0)]"],
)  # fmt: skip
def test_lists_as_texts_are_named(text: str, tmp_path: Path) -> None:
    """As pandas writes columns of lists into CSV."""
    rows = "".join(f'{row},"{text}",{row / 4}\n' for row in range(8))
    facts = catalogue.inspect("csv", put(tmp_path / "x.csv", f"id,e,y\n{rows}".encode()))
    words = "Lists of numbers that are written as texts are no features: 'e'"
    assert words in " ".join(facts.warnings)


@pytest.mark.parametrize("word", ["?", "1,5 m", "-"])
def test_words_among_numbers_make_no_ids_and_are_named(word: str, tmp_path: Path) -> None:
    heights: list[object] = [1.5, word, 3, 4, 5]
    rows = [{"height": height, "e": 2 * row} for row, height in enumerate(heights)]
    path = put(tmp_path / "x", json.dumps(rows))
    for format in ("json", "jsonl"):
        if format == "jsonl":
            put(path, "\n".join(map(json.dumps, rows)))
        facts = catalogue.inspect(format, path, None, role="features")
        assert [column.role for column in facts.columns] == [None, "feature"]
        words = f"'height' is no feature: it has numbers and words, '{word}' at row 1"
        assert words in " ".join(facts.warnings)
