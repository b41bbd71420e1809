"""libsvm: sparse features and their labels, and errors that locate wrong lines."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.formats.files_kit import put, refused, survives
from workers.formats import catalogue, libsvm
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
        ("1,2 1:2", "invalid-file"),
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
