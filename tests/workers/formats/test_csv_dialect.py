"""CSV as people export it: separators, decimal commas, thousands, percentages, odd headers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.workers.formats.files_kit import put, refused
from workers.formats import catalogue
from workers.formats.column_roles import Choice
from workers.formats.csv_dialect import Written, dialect_of
from workers.formats.facts import Bounds, Facts


def read(path: Path, written: Written | None = None) -> tuple[Facts, np.ndarray]:
    bounds = Bounds(csv=written or Written())
    choice = Choice(csv=bounds.csv)
    facts = catalogue.inspect("csv", path, None, bounds, "features", choice)
    value = catalogue.load("csv", path, None, "features", bounds, facts.columns)
    assert isinstance(value, np.ndarray)
    return facts, value


@pytest.mark.parametrize(
    "text",
    [
        "x;y\r\n1,5;2,25\r\n3,5;4\r\n9;9,75\r\n",
        "1,5;2,25\r\n3,5;4\r\n9;9,75\r\n",
        "1,5;2,25\n3,5;4\n9,0;9,75\n",
        '"x";"y"\n"1,5";"2,25"\n"3,5";"4"\n"9";"9,75"\n',
        "x\ty\n1,5\t2,25\n3,5\t4\n9\t9,75\n",
        'x,y\n"1,5","2,25"\n"3,5",4\n9,"9,75"\n',
        "x|y\n1,5|2,25\n3,5|4\n9|9,75\n",
        "x|y\n1.5|2.25\n3.5|4\n9|9.75\n",
        "x;y\n1.5;2.25\n3.5;4\n9;9.75\n",
        "\ufeffx;y\n 1,5 ; 2,25\n3,5;4,\n9;9,75\n",
        "# made by R\n#\nx;y\n1,5;2,25\n3,5;4\n9;9,75\n",
        "# made by R\n1,5;2,25\n3,5;4\n9;9,75",
    ],
)
def test_marks_within_numbers(text: str, tmp_path: Path) -> None:
    facts, value = read(put(tmp_path / "x", text))
    assert facts.shape == (3, 2)
    assert value.tolist() == [[1.5, 2.25], [3.5, 4.0], [9.0, 9.75]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('x,y\n"1,234.5",2\n"2,345,678.25",3\n', [[1234.5, 2], [2345678.25, 3]]),
        ("x;y\n1.234,5;2\n2.345.678,25;3\n", [[1234.5, 2], [2345678.25, 3]]),
        ("x;y\n1 234,5;2\n2 345 678,25;3\n", [[1234.5, 2], [2345678.25, 3]]),
        ("x;y\n1\u00a0234,5;2\n12;3\n", [[1234.5, 2], [12, 3]]),
        ("x;y\n1\u202f234,5;2\n12;3\n", [[1234.5, 2], [12, 3]]),
        ("x,y\n1'234.5,2\n12,3\n", [[1234.5, 2], [12, 3]]),
        ("x,y\n12%,2\n3.5 %,3\n", [[0.12, 2], [0.035, 3]]),
        ("x;y\n12,5%;2\n100%;3\n", [[0.125, 2], [1.0, 3]]),
        ("x,y\ntrue,2\nFalse,3\n", [[1, 2], [0, 3]]),
        ("x,y\nyes,2\nno,3\nYes,4\n", [[1, 2], [0, 3], [1, 4]]),
        ("x,y\n-1e3,2\n+.5,3\n", [[-1000, 2], [0.5, 3]]),
        ('x,y\n$10.00,2\n"-$1,200.50",3\n', [[10, 2], [-1200.5, 3]]),
        ("x;y\n10,50 €;2\n1.200,50\u00a0€;3\n", [[10.5, 2], [1200.5, 3]]),
        ("x,y\n\u22121.5,2\n2.5,3\n", [[-1.5, 2], [2.5, 3]]),
    ],
)
def test_numbers_as_people_write_them(
    text: str, expected: list[list[float]], tmp_path: Path
) -> None:
    _, value = read(put(tmp_path / "x", text))
    assert value.tolist() == expected


@pytest.mark.parametrize(
    ("text", "taken", "word"),
    [
        ('x,y\n"1,234",2\n"5,678",3\n', [1234, 5678], "decimal=,"),
        ("x;y\n1,234;2\n5,678;3\n", [1.234, 5.678], "thousands=,"),
        ("x,y\n12%,2\n3%,3\n", [0.12, 0.03], "divided by 100 in 'x'"),
        ("x,y\nyes,2\nno,3\n", [1, 0], "read as 1, false and no as 0 in 'x'"),
        ("x,y\n$1,2\n$2,3\n", [1, 2], "Signs of currencies were left out in 'x'"),
    ],
)
def test_what_could_be_read_otherwise_is_noted(
    text: str, taken: list[float], word: str, tmp_path: Path
) -> None:
    facts, value = read(put(tmp_path / "x", text))
    assert value[:, 0].tolist() == taken
    (note,) = facts.warnings
    assert word in note


@pytest.mark.parametrize(
    ("text", "is_noted"),
    [
        ("x;y\n1.200 €;2\n950 €;3\n", True),
        ("x;y\n1.200 €;2\n9.5 €;3\n", False),
        ("x;y\n1.200;2 €\n2.400;3 €\n", False),
    ],
)
def test_amounts_with_three_digits_behind_the_point(
    text: str, is_noted: bool, tmp_path: Path
) -> None:
    facts, value = read(put(tmp_path / "x", text))
    assert value[0].tolist() == [1.2, 2]
    assert any("?thousands=." in note for note in facts.warnings) is is_noted


def test_the_uploader_decides(tmp_path: Path) -> None:
    path = put(tmp_path / "x", 'x,y\n"1,234",2\n"5,678",3\n')
    facts, value = read(path, Written(decimal=","))
    assert (value[:, 0].tolist(), facts.warnings) == ([1.234, 5.678], ())
    path = put(tmp_path / "x", "1;2\n3;4\n")
    assert read(path, Written(header=True))[1].tolist() == [[3, 4]]
    path = put(tmp_path / "x", "0,1,2\n3,4,5\n")
    facts, value = read(path)
    assert value.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert "?header=true" in facts.warnings[0]
    assert read(path, Written(header=True))[0].shape == (1, 3)
    for text in ("2019,2020,2021\n5,3,4\n", "2019,2020,2021\n5,3,4.5\n"):
        assert "?header=true" in read(put(tmp_path / "x", text))[0].warnings[0]
    assert read(put(tmp_path / "x", "1,2,3\n4,5,6\n"))[0].warnings == ()
    error = refused(read, put(tmp_path / "x", "a,b\r1,2\r3,4\r"))
    assert "carriage return alone" in error.detail
    path = put(tmp_path / "x", "a;b|c;d\n1;2|3;4\n")
    assert dialect_of(path, Written(delimiter="|")).first == ("a;b", "c;d")


@pytest.mark.parametrize(
    ("text", "shape", "ids"),
    [
        (",0,1,2\n0,1.5,2.5,3.5\n1,4.5,5.5,6.5\n", (2, 3), ""),
        ("0,1,2\n1.5,2.5,3.5\n4.5,5.5,6.5\n", (2, 3), None),
        ("gene,2019,2020\nabc,1,2\nxyz,3,4\n", (2, 2), "gene"),
        (",a,b\nr1,1,2\nr2,3,4\n", (2, 2), ""),
        ('"","a","b"\n"1",1,2\n"2",3,4\n', (2, 2), ""),
        ("Unnamed: 0,a,b\n0,1,2\n1,3,4\n", (2, 2), "Unnamed: 0"),
        ("Unnamed: 0.1,Unnamed: 0,a,b\n0,0,1,2\n1,1,3,4\n", (2, 2), "Unnamed: 0"),
        ("2019,2020,2021\n1.5,2.5,3.5\n4.5,5.5,6.5\n", (2, 3), None),
        ("a b\n1 2\n3 4\n", (2, 2), None),
        ("1 2 3\n4 5 9\n7 7 1\n", (3, 3), None),
    ],
)
def test_an_index_and_a_header_of_numbers(
    text: str, shape: tuple[int, int], ids: str | None, tmp_path: Path
) -> None:
    facts, value = read(put(tmp_path / "x", text))
    assert facts.shape == shape == value.shape
    assert [column.name for column in facts.columns if column.role == "id"] == (
        [] if ids is None else [ids]
    )


def test_texts_with_breaks_and_marks_stand_beside_numbers(tmp_path: Path) -> None:
    words = ['"one, two"', '"line\nbreak"', '"say ""no"""', "plain"]
    lines = [f"{at}.5,{words[at % 4]},{at % 3}" for at in range(40_000)]
    path = put(tmp_path / "x", "x,text,y\n" + "\n".join(lines) + "\n")
    _, value = read(path)
    assert value.tolist() == [[at + 0.5, at % 3] for at in range(40_000)]
    texts = catalogue.texts("csv", path, "text")
    assert texts[:4] == ["one, two", "line\nbreak", 'say "no"', "plain"]
    lines[39_999] = "1,b,word"
    error = refused(read, put(tmp_path / "x", "x,text,y\n" + "\n".join(lines) + "\n"))
    assert (error.where["row"], error.where["column"]) == (39_999, 2)
    assert error.where["line"] == 40_001 + 10_000
    assert "'y'" in error.detail


def test_windows_text_is_read_and_noted(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "größe;länge\n1,5;2\n3,5;4\n".encode("cp1252"))
    facts, value = read(path)
    assert [column.name for column in facts.columns] == ["größe", "länge"]
    assert value.tolist() == [[1.5, 2], [3.5, 4]]
    assert "Windows-1252" in facts.warnings[0]
    error = refused(read, put(tmp_path / "x", "a,b\n1,2\n".encode("utf-16")))
    assert "UTF-16" in error.detail


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("x;y\n1,5;2\n1.5;3\n4,5;3\n", 1, 0),
        ('x,y\n"1,234.5",2\n"12,34.5",3\n8,9\n', 1, 0),
        ("x,y\n12%,2\n3%,3\n" + "5%,1\n" * 600 + "4,4\n", 602, 0),
        ("x,y\n$5,1\n6,2\n7,3\n", 0, 0),
        ("x,y\n$5,1\n" + "$6,2\n" * 600 + "€7,3\n8,9\n", 602, 0),
    ],
)
def test_a_number_in_another_way_is_refused(
    text: str, row: int, column: int, tmp_path: Path
) -> None:
    error = refused(read, put(tmp_path / "x", text))
    assert (error.where["row"], error.where["column"]) == (row, column)


def test_trailing_separators_are_left_out(tmp_path: Path) -> None:
    facts, value = read(put(tmp_path / "x", "x,y,\n1,2,\n3,4,\n"))
    assert value.tolist() == [[1, 2], [3, 4]]
    assert "''" in facts.warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        '"a" "b"\n"r1" 1.5 2\n"r2" 2.25 3\n',
        "a b\nr1 1.5 2\nr2 2.25 3\n",
        "a\tb\nr1\t1.5\t2\nr2\t2.25\t3\n",
        "a,b\nr1,1.5,2\nr2,2.25,3",
        '"a";"b"\r\n"r1";1,5;2\r\n"r2";2,25;3\r\n',
    ],
)
def test_a_short_header_stands_beside_the_names_of_rows(text: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    facts = catalogue.inspect("csv", path, None, role="features")
    assert [column.role for column in facts.columns] == ["id", "feature", "feature"]
    assert facts.columns[0].name == ""
    value = catalogue.load("csv", path, None, "features", columns=facts.columns)
    assert np.asarray(value).tolist() == [[1.5, 2], [2.25, 3]]
    assert catalogue.texts("csv", path, "") == ["r1", "r2"]
    assert "'' is taken as the ids" in facts.warnings[-1]


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2,3\n",
        "a,b\n1,2,\n3,4,\n",
        "a,b\n1,2,3\n1,4,5\n",
        "a,b\n1,2,3\n2,4\n",
        "1,2\n3,4,5\n6,7,8\n",
        "text\nhello, world\nso, long\n",
    ],
)
def test_other_rows_of_other_lengths_are_ragged(text: str, tmp_path: Path) -> None:
    assert refused(catalogue.inspect, "csv", put(tmp_path / "x", text)).code == "ragged"


def test_numbers_are_parted_by_spaces(tmp_path: Path) -> None:
    path = tmp_path / "x"
    np.savetxt(path, [[1.5, 2], [3, 4]])
    assert catalogue.inspect("csv", path).shape == (2, 2)
    value = catalogue.load("csv", path, None, "features")
    assert np.asarray(value).tolist() == [[1.5, 2], [3, 4]]


@pytest.mark.parametrize("text", ["amount\n1 234\n2 345\n", "3 5\n2 4\n", "hello you\nso long\n"])
def test_other_spaces_are_within_cells(text: str, tmp_path: Path) -> None:
    assert dialect_of(put(tmp_path / "x", text), Written()).n_columns == 1


def test_the_separator_that_excel_writes(tmp_path: Path) -> None:
    for begin in ("", "\ufeff"):
        for mark, number in ((";", "1,5"), (",", "1.5"), ("\t", "1.5")):
            text = f"{begin}sep={mark}\r\nname{mark}x\r\na{mark}{number}\r\nb{mark}{number}\r\n"
            path = put(tmp_path / "x", text)
            facts = catalogue.inspect("csv", path, None, role="features")
            assert [column.name for column in facts.columns] == ["name", "x"]
            value = catalogue.load("csv", path, None, "features", columns=facts.columns)
            assert np.asarray(value).tolist() == [[1.5], [1.5]]
            assert catalogue.texts("csv", path, "name") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("   x      y\n 1.5   2.25\n 10    4.5 \n", None),
        (" 1.5   2.25\r\n  10   4.5\r\n", None),
        ("         x     y\nrow 1  1.5  2.25\n", None),
        ('          x     y\n"row  1"  1.5  2.25\n"row 2"   10   4.5\n', ["row  1", "row 2"]),
    ],
)
def test_columns_are_aligned_by_spaces(text: str, ids: list[str] | None, tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    if "row 1" in text and ids is None:
        assert refused(catalogue.inspect, "csv", path, role="features").code == "wrong-shape"
        return
    facts = catalogue.inspect("csv", path, role="features")
    assert facts.shape == (2, 2)
    features = catalogue.load("csv", path, None, "features", columns=facts.columns)
    assert np.asarray(features).tolist() == [[1.5, 2.25], [10, 4.5]]
    if ids is not None:
        assert catalogue.texts("csv", path, facts.columns[0].name) == ids


def test_values_that_excel_and_pandas_lack_are_missing(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "x,y\n1,#N/A\n<NA>,2\n3,4\n")
    facts = catalogue.inspect("csv", path, role="features")
    assert "2 cell(s) of the features are empty" in facts.warnings[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x\n1\nNA\n3\n", [[1.0], [np.nan], [3.0]]),
        ("x\ntrue\nfalse\n", [[1.0], [0.0]]),
        ("is_new\nyes\nno\n", [[1.0], [0.0]]),
    ],
)
def test_a_single_column_with_words_for_values_is_a_matrix(
    text: str, expected: list[list[float]], tmp_path: Path
) -> None:
    facts, value = read(put(tmp_path / "x", text))
    assert facts.shape == (len(expected), 1)
    np.testing.assert_array_equal(value, expected)


def test_a_missing_value_in_one_column_is_named(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "x\n1\nNA\n3\n")
    error = refused(catalogue.inspect, "csv", path, None, Bounds(csv=Written()), "logits")
    assert (error.code, error.where["row"]) == ("missing-value", 1)


@pytest.mark.parametrize("text", ["true\nfalse\ntrue\n", "yes\nNo\nyes\n"])
def test_truths_without_a_header_keep_their_first_row(text: str, tmp_path: Path) -> None:
    facts, value = read(put(tmp_path / "x", text))
    assert value.tolist()[:2] == [[1.0], [0.0]]
    assert any("it was taken as a row" in warning for warning in facts.warnings)


def test_a_header_of_yes_and_no_over_numbers_is_one(tmp_path: Path) -> None:
    facts, value = read(put(tmp_path / "x", "yes,no\n3,4\n5,6\n"))
    assert value.tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert [column.name for column in facts.columns] == ["yes", "no"]
