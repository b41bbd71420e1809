"""libsvm: sparse features and their labels, and errors that locate wrong lines."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.formats.files_kit import put, refused, rows_of, survives
from workers.formats import catalogue, libsvm
from workers.formats.catalogue import format_of
from workers.formats.facts import Bounds

load = partial(catalogue.load, "libsvm")


def test_features_and_labels_of_the_same_file(tmp_path: Path) -> None:
    text = "# made by hand\n3 1:0.5 4:-2e1\n-1\n\n+2 qid:7 2:1 # third\n"
    path = put(tmp_path / "x", text)
    facts = libsvm.inspect(path, None)
    assert (facts.shape, facts.dtype, facts.sparse) == ((3, 4), "float64", True)
    value = load(path, None, "features")
    assert isinstance(value, sp.csr_array)
    assert value.toarray().tolist() == [[0.5, 0, 0, -20], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert load(path, None, "labels").tolist() == [3, -1, 2]  # type: ignore[union-attr]


def test_an_index_of_zero_makes_indices_zero_based(tmp_path: Path) -> None:
    value = load(put(tmp_path / "x", "1 0:5 2:6\n1 1:7\n"), None, "features")
    assert isinstance(value, sp.csr_array)
    assert value.toarray().tolist() == [[5, 0, 6], [0, 7, 0]]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ("x 1:2", "invalid-file"),
        ("1,,2 1:2", "invalid-file"),
        ("1, 2 1:2", "invalid-file"),
        ("1,x 1:2", "invalid-file"),
        ("1,inf 1:2", "invalid-file"),
        (" 1:2 1:3", "invalid-file"),
        ("nan 1:2", "invalid-file"),
        ("1 1:x", "invalid-file"),
        ("1 1:nan", "invalid-file"),
        ("1 1:inf", "invalid-file"),
        ("1 1:1e400", "invalid-file"),
        ("1 1", "invalid-file"),
        ("1 a:1", "invalid-file"),
        ("1 -1:1", "invalid-file"),
        ("1 2:1 1:1", "invalid-file"),
        ("1 2:1 2:1", "invalid-file"),
        ("1 3000000000:1", "invalid-file"),
        ("1 99999999999999999999:1", "invalid-file"),
    ],
)
def test_errors_locate_wrong_lines(bad: str, code: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", f"# header\n1 1:1\n{bad}\n1 2:2\n")
    for call, *rest in ((libsvm.inspect,), (load, "features")):
        error = refused(call, path, None, *rest)
        assert (error.code, error.where["line"]) == (code, 3)
        assert "Line 3" in error.detail


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        ("\n# nothing\n", "empty"),
        ("1\n2\n", "empty"),
        (b"1 1:\0\n", "invalid-file"),
        (b"\xff\xfe\n", "invalid-file"),
    ],
)
def test_files_without_features(text: str | bytes, code: str, tmp_path: Path) -> None:
    path = put(tmp_path / "x", text)
    assert refused(load, path, None, "features").code == code


def test_bounds(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "1 1:1 2:1 3:1\n" * 1000)
    assert refused(libsvm.inspect, path, None, Bounds(max_bytes=60_000)).code == "too-large"
    wide = put(path, "1 2000000000:1\n")
    assert refused(libsvm.inspect, wide, None, Bounds(max_bytes=1 << 30)).code == "too-large"


def test_labels_with_fractions_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "1 1:1\n2.5 1:1\n")
    error = refused(load, path, None, "labels")
    assert (error.code, error.where["row"]) == ("wrong-input", 1)


def test_rows_may_have_several_labels_or_none(tmp_path: Path) -> None:
    path = put(tmp_path / "x", "3,7 1:0.5\n 2:1\n-1 1:1\n# nothing\nqid:4 1:2\n7,3,7\n10,-1\n")
    sets = load(path, None, "labels")
    assert rows_of(sets) == [["3", "7"], [], None, [], ["3", "7"], ["-1", "10"]]
    assert load(path, None, "features").shape == (6, 2)  # type: ignore[union-attr]
    error = refused(load, path, None, "tasks")
    assert (error.code, error.where) == ("wrong-input", {"row": 0})
    assert format_of(None, path.read_bytes()[:20]) == "libsvm"


def test_a_file_without_any_label(tmp_path: Path) -> None:
    path = put(tmp_path / "x", " 1:0.5\n 2:1\n")
    assert format_of(None, path.read_bytes()) == "libsvm"
    assert load(path, None, "features").shape == (2, 2)  # type: ignore[union-attr]
    assert refused(load, path, None, "labels").code == "empty"


@pytest.mark.parametrize("first", [0, 1])
def test_the_declared_number_of_features(first: int, tmp_path: Path) -> None:
    path = put(tmp_path / "x", f"1 {first}:0 {first + 1}:5\n\n1 {first + 3}:6\n")
    for n_features in (4, 9):
        value = load(path, None, "features", Bounds(n_features=n_features))
        assert isinstance(value, sp.csr_array)
        assert value.toarray()[:, :4].tolist() == [[0, 5, 0, 0], [0, 0, 0, 6]]
        assert value.shape == (2, n_features)
        assert libsvm.inspect(path, None, Bounds(n_features=n_features)).shape == (2, n_features)
    for role in ("features", "labels"):
        error = refused(load, path, None, role, Bounds(n_features=3))
        assert (error.code, error.where) == ("invalid-file", {"line": 3})
        assert f"the index {first + 3}; the last declared feature has the index {first + 2}" in (
            error.detail
        )


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.none() | st.lists(st.integers(-3, 12), max_size=4), min_size=1, max_size=8))
def test_written_label_sets_are_read_back(
    rows: list[list[int] | None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Unknown labels are written as -1 alone.
    own = [[-1] if row is None or row == [-1] else row for row in rows]
    text = "".join(f"{','.join(map(str, row))} 1:1\n" for row in own)
    path = put(tmp_path_factory.mktemp("svm") / "x", text)
    if all(len(set(row)) == 1 for row in own):
        assert load(path, None, "labels").tolist() == [row[0] for row in own]  # type: ignore[union-attr]
        return
    expected = [None if set(row) == {-1} else [*map(str, sorted(set(row)))] for row in own]
    if not any(expected):
        assert refused(load, path, None, "labels").code == "empty"
        return
    assert rows_of(load(path, None, "labels")) == expected


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_written_values_are_read_back(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((6, 9)) * (rng.random((6, 9)) < 0.4)
    matrix[5, 8] = 1e-300
    lines = [
        " ".join([f"{row}", *(f"{at + 1}:{value!r}" for at, value in enumerate(cells) if value)])
        for row, cells in enumerate(matrix.tolist())
    ]
    path = put(tmp_path_factory.mktemp("svm") / "x", "\n".join(lines))
    value = load(path, None, "features")
    assert isinstance(value, sp.csr_array)
    np.testing.assert_array_equal(value.toarray(), matrix)


@settings(max_examples=60, deadline=None)
@given(
    content=st.binary(max_size=30)
    | st.text(alphabet="0123:.e-,#q \n\rna", max_size=30).map(str.encode)
)
def test_any_bytes_are_accepted_or_refused(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = put(tmp_path_factory.mktemp("svm") / "x", content)
    for role in ("features", "labels"):
        survives(load, path, None, role)
