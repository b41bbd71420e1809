"""The contract of a method: what one step hands on to the next, and rows transformed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from models.errors import Cancelled, UsageError
from models.inputs.data import Data
from models.method import Fitted, handed_on
from models.registry import method

# Two known clusters and two new ones, apart on the first column, which has another unit.
_rng = np.random.default_rng(3)
LABELS = np.repeat([0, 1, -1, -1], 15)
ROWS = _rng.normal(size=(60, 3)) + 9.0 * np.outer(np.repeat(np.arange(4), 15), [1.0, 0.0, 0.0])
ROWS = ROWS / [10.0, 1.0, 1.0]


def fitted(features: Any, **inputs: Any) -> Fitted:
    used = method("fda")
    data = Data({"features": features, "labels": LABELS, **inputs})
    return used.fit(data, used.Params(**used.example))


@pytest.mark.parametrize(
    ("first", "second", "role"),
    [
        ("kmeans", "l2h", "logits"),
        ("tcs", "l2h", "logits"),
        ("fda", "hac", "features"),
        ("fda", "gmm", "features"),
        ("fda", "vmf", "features"),
        ("fda", "hmmc", "features"),
        ("fda", "ghhc", "features"),
    ],
)
def test_what_the_second_method_takes(first: str, second: str, role: str) -> None:
    assert handed_on(method(first), method(second)) == role


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("hac", "l2h", "'hac' gives neither"),
        ("kmeans", "hac", "'kmeans' gives logits alone, which method 'hac' does not take"),
        ("fda", "fda", "'fda' also needs the input 'labels'"),
        ("fda", "ghhc-glove", "logits or transformed rows, which method 'ghhc-glove' does not"),
    ],
)
def test_what_does_not_fit_is_refused(first: str, second: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        handed_on(method(first), method(second))
    assert caught.value.code == "wrong-input"


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_cancel_is_obeyed_at_either_end_of_a_fit(end: float) -> None:
    def cancel(fraction: float, stage: str, message: str = "") -> None:
        if fraction == end:
            raise Cancelled

    with pytest.raises(Cancelled):
        method("kmeans").fit(Data({"features": ROWS}), method("kmeans").Params(), cancel)


def test_rows_are_transformed_as_those_of_the_fit() -> None:
    used = method("fda")
    result = fitted(ROWS)
    assert result.model is not None
    assert result.features is not None
    rows = used.transform(result.model, Data({"features": ROWS}))
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows, result.features, rtol=1e-9, atol=1e-9)
    projection, offset = result.model.arrays["projection"], result.model.arrays["offset"]
    np.testing.assert_allclose(rows, ROWS @ projection - offset, rtol=1e-12)
    sparse = used.transform(result.model, Data({"features": sp.csr_array(ROWS)}))
    np.testing.assert_allclose(sparse, rows, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_single_precision_stays(dtype: str) -> None:
    result = fitted(ROWS)
    assert result.model is not None
    rows = method("fda").transform(result.model, Data({"features": ROWS.astype(dtype)}))
    assert rows.dtype == ("float32" if dtype == "float32" else "float64")


@pytest.mark.parametrize(
    ("method_id", "features", "code"),
    [
        ("kmeans", ROWS, "cannot-transform"),
        ("fda", ROWS[:, :2], "wrong-shape"),
        ("fda", np.array([[0.0, np.nan, 0.0]]), "not-finite"),
        ("fda", np.array([[0.0, 0.0, 0.0], [1e308, 0.0, 0.0]]), "unusable-input"),
        ("fda", np.array([[3e38, 0.0, 0.0]], dtype=np.float32), "unusable-input"),
    ],
)
def test_rows_that_cannot_be_transformed(method_id: str, features: Any, code: str) -> None:
    result = fitted(ROWS / 1000.0)
    assert result.model is not None
    with pytest.raises(UsageError) as caught:
        method(method_id).transform(result.model, Data({"features": features}))
    assert caught.value.code == code


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_step_in_a_feature_moves_a_row_by_its_stretch(form: Any) -> None:
    used, names = method("fda"), ["height", "width", "age"]
    result = fitted(form(ROWS), feature_names=names)
    assert result.model is not None
    stretches = used.stretches(result.model)
    assert stretches is not None
    steps = np.vstack([np.zeros((1, 3)), np.eye(3)])
    moved = used.transform(result.model, Data({"features": steps}))
    np.testing.assert_allclose(stretches.stretch, np.linalg.norm(moved[1:] - moved[0], axis=1))
    np.testing.assert_allclose(stretches.spread, ROWS.std(axis=0))
    np.testing.assert_allclose(stretches.reach, stretches.stretch * ROWS.std(axis=0))
    assert stretches.reach.argmax() == 0
    assert stretches.names == names
    assert stretches.n_components == result.features.shape[1]


def test_features_without_names_and_a_wrong_number_of_them() -> None:
    result = fitted(ROWS)
    assert result.model is not None
    stretches = method("fda").stretches(result.model)
    assert stretches is not None
    assert stretches.names is None
    assert method("kmeans").stretches(result.model) is None
    with pytest.raises(UsageError, match="'feature_names' has 2 names; 3 are needed"):
        fitted(ROWS, feature_names=["height", "width"])
