"""Plain tables: which arrays are accepted, and which cells are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.workers.formats.files_kit import refused
from workers.formats.tables import WrittenColumn, is_number, require_dtype, require_filled


@pytest.mark.parametrize(
    ("texts", "kind", "expected"),
    [
        (["1", " -2 "], "i", [1, -2]),
        (["1", "2.0"], "f", [1.0, 2.0]),
        (["9" * 19], "f", [1e19]),
        (["1", "inf"], "f", [1.0, np.inf]),
        (["1", "n/a", "NA"], "f", [1.0, None, None]),
        (["nan", "nan"], "O", ["nan", "nan"]),
        (["na", "null"], "O", ["na", "null"]),
        (["1", "1_0"], "O", ["1", "1_0"]),
        (["1", "x"], "O", ["1", "x"]),
    ],
)
def test_cells_are_integers_else_numbers_else_text(
    texts: list[str], kind: str, expected: list[Any]
) -> None:
    typed = WrittenColumn(texts, range(len(texts))).typed()
    assert typed.dtype.kind == kind
    values = [None if value != value else value for value in typed.tolist()]
    assert values == expected


@pytest.mark.parametrize("text", ["1", " -2. ", ".5", "+1e-3", "nan", "-Inf", "\tinfinity"])
def test_numbers(text: str) -> None:
    assert is_number(text)


@pytest.mark.parametrize("text", ["", "1,5", "0x10", "1_0", "٣", "na", "1 2", "e5", "1\n"])
def test_text_that_is_not_a_number(text: str) -> None:
    assert not is_number(text)


@pytest.mark.parametrize("dtype", ["?", "i1", "<u8", ">f2", "f8", "U1", "S3"])
def test_accepted_dtypes(dtype: str) -> None:
    require_dtype(np.dtype(dtype))


@pytest.mark.parametrize("dtype", ["c8", "M8[s]", "V8", "O", "f2,f2", "U0"])
def test_other_dtypes(dtype: str) -> None:
    assert refused(require_dtype, np.dtype(dtype)).code == "unsupported-format"


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ((), "wrong-shape"),
        ((1, 1, 1, 1, 1), "wrong-shape"),
        ((1, 0, 1), "empty"),
        ((0,), "empty"),
        ((0, 3), "empty"),
        ((3, 0), "empty"),
    ],
)
def test_empty_tables_and_other_dimensions(shape: tuple[int, ...], code: str) -> None:
    error = refused(require_filled, shape)
    assert (error.code, error.where) == (code, {"shape": list(shape)})
