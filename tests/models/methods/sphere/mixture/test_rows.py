"""Unit rows: which are accepted, and how they are read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import UsageError
from models.inputs.rows import ArrayRows
from tests.models.methods.sphere.sphere_kit import FarRows, mixture, unit_rows

X = mixture((30, 20), 6, 20.0)[0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f8"])
def test_rows_of_any_float_are_unit(dtype: str) -> None:
    points = unit_rows(X.astype(dtype))
    points.require_unit()
    assert points.kind == (np.float64 if dtype.endswith("8") or dtype == "float64" else np.float32)
    read = np.concatenate([points.block(rows) for rows in points.slices()])
    assert read.dtype == points.kind
    assert np.linalg.norm(read, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert read == pytest.approx(X, abs=2e-3 if dtype == "float16" else 1e-6)


def test_bfloat16_is_made_unit_again() -> None:
    bits = (X.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    points = unit_rows(ArrayRows(bits, bfloat16=True))
    points.require_unit()
    assert np.linalg.norm(points.block(slice(0, 50)), axis=1) == pytest.approx(1.0, abs=1e-6)


def test_sparse_rows_with_doubled_entries() -> None:
    doubled = sp.csr_array(
        (np.array([0.6, 0.4, 0.4]), np.array([2, 0, 0]), np.array([0, 3])), shape=(1, 4)
    )
    points = unit_rows(doubled)
    points.require_unit()
    assert points.block(slice(0, 1)).toarray().tolist() == [[0.8, 0.0, 0.6, 0.0]]


def test_rows_taken_in_any_order() -> None:
    for points in (unit_rows(X), unit_rows(sp.csr_array(X)), unit_rows(FarRows(X))):
        assert (points.dense(np.array([7, 3, 3, 49])) == X[[7, 3, 3, 49]]).all()


def test_what_is_far_is_held_where_it_is_small() -> None:
    points = unit_rows(FarRows(X))
    assert not points.near
    held = points.held()
    assert held.near
    assert (held.block(slice(10, 20)) == X[10:20]).all()
    near = unit_rows(X)
    assert near.held() is near


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        (0.0, "zero-row", "Row 7 of input 'features' (counted from 0) is all zeros"),
        (2.0, "not-unit", "length 2; rows must have length 1"),
        (1.001, "not-unit", '`preprocess: [{"step":"l2"}]`'),
        (1e200, "not-unit", "length"),
        (np.nan, "not-finite", "NaN at row 7"),
    ],
)
def test_other_rows_are_named(change: float, code: str, text: str, sparse: bool) -> None:
    bad = X.copy()
    bad[7] *= change
    with np.errstate(over="ignore"), pytest.raises(UsageError) as caught:
        unit_rows(sp.csr_array(bad) if sparse else bad).require_unit()
    assert caught.value.code == code
    assert text in caught.value.detail
    assert caught.value.where["row"] == 7


def test_one_column_is_no_sphere() -> None:
    with pytest.raises(UsageError, match="at least 2"):
        unit_rows(np.ones((5, 1))).require_unit()
