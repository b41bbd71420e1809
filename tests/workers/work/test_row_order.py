"""Inputs brought into one order by the ids of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.label_sets import LabelSets
from models.inputs.reading import noting
from workers.work.row_order import Ided, in_one_order
from workers.work.sources import Source, looked_at, values_of


def ordered(value: Any, own: Sequence[str], ids: Sequence[str]) -> tuple[Any, list[str]]:
    with noting() as notes:
        values = in_one_order({"labels": value}, [Ided("labels", "key", lambda: own)], ids)
    return values["labels"], list(notes)


def test_labels_follow_the_ids() -> None:
    sets = LabelSets(
        np.array([0, 2, 2, 3]), np.array([0, 1, 1]), ["a", "b"], np.array([False, True, False])
    )
    values = [np.array([1, 2, 3]), ["a", "b", "c"], sets]
    taken, notes = zip(*(ordered(v, "xyz", "zxy") for v in values), strict=True)
    assert taken[0].tolist() == [3, 1, 2]
    assert taken[1] == ["c", "a", "b"]
    assert taken[2].start.tolist() == [0, 1, 3, 3]
    assert taken[2].code.tolist() == [1, 0, 1]
    assert taken[2].unlabelled.tolist() == [False, False, True]
    assert all("put in the order of the tree by their ids" in own[0] for own in notes)


@pytest.mark.parametrize(
    ("own", "ids", "word"),
    [
        ("xyz", "xyz", ""),
        ("xyz", "abc", "taken in order"),
        ("xyx", "xyx", ""),
        ("xyx", "abc", "taken in order"),
        ("xy", "abc", ""),
    ],
)
def test_what_stays(own: str, ids: str, word: str) -> None:
    value = np.array([1, 2, 3])
    same, notes = ordered(value, own, ids)
    assert same is value
    assert [word in note for note in notes] == [True] * bool(word)


def test_ids_that_are_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match=r"'q' at row 1, column 'key'.*lacks 'y' of row 1"):
        ordered(np.array([1, 2, 3]), "xqz", "xyz")


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ("xz", r"2 rows and the tree 3: .*'key'.* lacks 'y' of row 1 there\."),
        ("zyxq", r"it has 'q' at row 3, which the tree has not\."),
        ("zq", r"lacks 'x' of row 0 there and has 'q' at row 1"),
    ],
)
def test_ids_missing_and_too_many_are_named(own: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        ordered(np.arange(len(own)), own, "xyz")
    assert caught.value.code == "wrong-length"


@pytest.mark.parametrize(("own", "ids"), [("xyx", "xyz"), ("xzx", "zxx")])
def test_an_id_that_occurs_twice_is_refused(own: str, ids: str) -> None:
    with pytest.raises(UsageError, match=r"'labels' has the id 'x' at row 0 and at row 2.*'key'"):
        ordered(np.array([1, 2, 3]), own, ids)


@pytest.mark.parametrize("own", ["xyx", "yxx"])
def test_an_id_that_occurs_twice_in_the_first_input_is_refused(own: str) -> None:
    ided = [Ided("features", "id", lambda: "xxy"), Ided("labels", "key", lambda: own)]
    with pytest.raises(UsageError, match=r"'features' has the id 'x' at row 0 and at row 1.*'id'"):
        in_one_order({"labels": np.arange(3)}, ided)


def test_rows_without_an_id_are_noted() -> None:
    def read() -> Sequence[str]:
        raise UsageError("row 1 is empty", code="missing-value")

    with noting() as notes:
        in_one_order({"labels": np.arange(2)}, [Ided("labels", "key", read)], "ab")
    assert list(notes) == ["The rows of input 'labels' are taken in order: row 1 is empty"]


def test_a_matrix_is_not_sorted() -> None:
    with pytest.raises(UsageError, match=r"another order.*row 0"):
        ordered(np.eye(3), "yxz", "xyz")


@pytest.mark.parametrize(
    ("features", "labels"), [("id", "id"), ("name", "id"), ("case_id", "case_id")]
)
def test_doubled_ids_are_refused_though_their_column_is_none_of_ids(
    features: str, labels: str, tmp_path: Path
) -> None:
    contents = {
        "features": f"{features},x,y\na,1,2.5\nb,3,4.5\nc,5,4.5\n",
        "labels": f"{labels},label\nb,two\na,one\na,one\n",
    }
    with pytest.raises(UsageError, match=r"'labels' has the id 'a' at row 1 and at row 2"):
        values_of([table(tmp_path, role, content) for role, content in contents.items()])


def table(folder: Path, role: str, content: str) -> Source:
    path = folder / role
    path.write_text(content)
    return looked_at(Source(role=role, kind="dataset", path=path, format="csv", inspected=False))


def test_tables_are_matched_where_they_are_read(tmp_path: Path) -> None:
    """The labels of another file, and of the same file, which needs no second look."""
    contents = {
        "features": "id,x,y,label\na,1,2.5,one\nb,3,4.5,two\n",
        "labels": "id,label\nb,two\na,one\n",
    }
    sources = [table(tmp_path, role, content) for role, content in contents.items()]
    with noting() as notes:
        assert values_of(sources)["labels"].tolist() == ["one", "two"]
    assert len(notes) == 1
    own = [sources[0], sources[0].model_copy(update={"role": "labels"})]
    with noting() as notes:
        assert values_of(own)["labels"].tolist() == ["one", "two"]
    assert not notes


@pytest.mark.parametrize(
    ("ids", "is_noted"), [("201", True), ("312", True), ("012", False), ("742", False)]
)
def test_numbers_of_rows_in_another_order_are_noted_where_there_are_no_ids(
    ids: str, is_noted: bool, tmp_path: Path
) -> None:
    plain = table(tmp_path, "features", "x,y\n1.5,2\n3.5,4\n5.5,4\n")
    rows = "".join(f"{own},{label}\n" for own, label in zip(ids, "abc", strict=True))
    labels = table(tmp_path, "labels", f"id,label\n{rows}")
    with noting() as notes:
        assert values_of([plain, labels])["labels"].tolist() == ["a", "b", "c"]
    assert ["in another order, and input 'features' has no ids" in own for own in notes] == [
        True
    ] * is_noted
    with noting() as notes:
        values_of([labels])
    assert not notes
