"""Principal components of rows, held against the decomposition of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from models.arrays import Array, Float
from models.errors import UsageError
from models.inputs.rows import ArrayRows
from models.maps import principal
from models.maps.principal import components
from models.running.progress import silent


def literal(rows: Array, n: int) -> tuple[Float, float]:
    """The components by the singular values of the centred rows, with their signs."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    _, values, vectors = np.linalg.svd(centred, full_matrices=False)
    axes = vectors[:n].T
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n)])
    return centred @ axes, float((values[:n] ** 2).sum() / (values**2).sum())


def planted(n_points: int, n_columns: int) -> Array:
    """Two wide directions and a third one among noise, far from the origin."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(n_columns, 3)))[0]
    rows = rng.normal(size=(n_points, 3)) * [9.0, 5.0, 2.0] @ axes.T
    return (rows + 0.1 * rng.normal(size=rows.shape) + 100.0).astype(np.float32)


@pytest.mark.parametrize("kind", ["array", "rows", "sparse"])
@pytest.mark.parametrize("widest", [principal.EXACT_COLUMNS, 8])
def test_they_are_those_of_the_whole_matrix(
    kind: str, widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(principal, "EXACT_COLUMNS", widest)
    rows = planted(120, 30)
    given = {"array": rows, "rows": ArrayRows(rows), "sparse": sp.csr_array(rows)}[kind]
    found = components(given, 2, 0, silent)
    expected, explained = literal(rows, 2)
    assert found.points.dtype == np.float32
    np.testing.assert_allclose(found.points, expected, atol=0.02)
    assert found.explained == pytest.approx(explained, abs=1e-4)


def test_where_there_are_fewer_than_requested_the_others_are_zero() -> None:
    assert components(np.ones((1, 5)), 2, 0, silent).points.tolist() == [[0.0, 0.0]]
    line = components(np.arange(4.0)[:, None], 2, 0, silent)
    assert line.points[:, 0].tolist() == [-1.5, -0.5, 0.5, 1.5]
    assert not line.points[:, 1].any()
    assert line.explained == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_no_rows_and_no_columns_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="at least one row and one column"):
        components(np.zeros(shape), 2, 0, silent)


@pytest.mark.parametrize("widest", [principal.EXACT_COLUMNS, 2])
def test_a_value_that_is_not_finite_is_named(widest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(principal, "EXACT_COLUMNS", widest)
    rows = planted(20, 5)
    rows[7, 3] = np.nan
    with pytest.raises(UsageError, match="row 7, column 3"):
        components(rows, 2, 0, silent)
