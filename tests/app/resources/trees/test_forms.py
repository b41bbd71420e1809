"""Arrays as .npy files, written in pieces."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from app.http.forms import npy_chunks


@pytest.mark.parametrize("array", [np.arange(300_000), np.ones((70_000, 4)), np.zeros((0, 4))])
def test_npy_in_pieces(array: Any) -> None:
    expected = io.BytesIO()
    np.save(expected, array)
    assert b"".join(npy_chunks(array)) == expected.getvalue()


def test_npy_of_an_array_in_fortran_order() -> None:
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    back = np.load(io.BytesIO(b"".join(npy_chunks(array))))
    np.testing.assert_array_equal(back, array)
