"""Rows about their mean, on one scale."""

from __future__ import annotations

import numpy as np
import pytest

from models.methods.deep.networks import scaling as scaling_module
from models.methods.deep.networks.scaling import RowScaling, measure_scaling


def test_it_is_the_mean_and_the_root_of_the_mean_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling_module, "BLOCK", 12)  # four rows at a time
    rows = np.random.default_rng(0).normal(3.0, [1.0, 5.0, 0.0], size=(50, 3))
    scaling = measure_scaling(rows, np.random.default_rng(1).permutation(50))
    np.testing.assert_allclose(scaling.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaling.factor**2, rows.var(axis=0).mean(), rtol=1e-12)
    scaled = scaling.apply(rows)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, (rows - rows.mean(axis=0)) / scaling.factor, atol=1e-6)
    np.testing.assert_allclose(scaling.undo(scaled), rows, atol=1e-5)


def test_bytes_do_not_wrap_around() -> None:
    rows = np.array([[0, 255], [255, 0], [255, 255]], dtype=np.uint8)
    scaling = measure_scaling(rows, np.arange(3))
    np.testing.assert_allclose(scaling.mean, [170.0, 170.0])
    assert scaling.apply(rows).min() < 0


def test_equal_rows_stay_finite() -> None:
    scaling = measure_scaling(np.full((3, 2), 7.0), np.arange(3))
    assert (scaling.apply(np.array([[7.0, 8.0]])) == [[0.0, 1.0]]).all()


def test_it_is_stored_in_a_model() -> None:
    scaling = RowScaling(np.array([1.0, 2.0]), 3.0)
    stored = RowScaling.of(scaling.arrays())
    assert (stored.mean == scaling.mean).all()
    assert stored.factor == 3.0
