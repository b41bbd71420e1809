"""Masks of classes: -1e9 and its kin count as -inf does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models import registry
from models.errors import UsageError
from models.inputs.data import Data
from models.inputs.rows import ArrayRows, Rows
from models.method import Fitted
from models.methods.logits.merging.masks import LOW, masks, unmasked

RNG = np.random.default_rng(3)
LOGITS = RNG.normal(size=(80, 7)).astype(np.float32) * 3
OUT = RNG.random((80, 7)) < 0.5
OUT[np.arange(80), RNG.integers(7, size=80)] = False
HIDDEN = np.where(OUT, -np.inf, LOGITS)


def fit(method: str, logits: Any, **params: Any) -> Fitted:
    used = registry.method(method)
    return used.fit(Data({"logits": logits}), used.Params(**params))


class Read(Rows):
    """Rows that are no array in memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self._array = array

    def read(self, start: int, stop: int) -> np.ndarray:
        return self._array[start:stop]

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self._array[rows]


def written(mask: float, how: str) -> Any:
    """The hidden logits with this mask in place of -inf."""
    if how == "added":
        return np.where(OUT, LOGITS.astype(np.float64) + mask, LOGITS)
    values = np.where(OUT, np.float32(mask), LOGITS)
    if how == "rows":
        return Read(values)
    if how == "bfloat16":
        bits = (values.view(np.uint32) >> 16).astype(np.uint16)
        return ArrayRows(bits, bfloat16=True)
    return values.astype(how)


def hidden(how: str) -> Any:
    return written(-np.inf, "float64" if how == "added" else how)


@pytest.mark.parametrize("method", ["l2h", "class-tree"])
@pytest.mark.parametrize(
    ("mask", "how"),
    [
        (-1e9, "float32"),
        (-1e9, "added"),
        (-1e4, "added"),
        (-1e4, "float16"),
        (-65504.0, "float16"),
        (-1e9, "bfloat16"),
        (float(np.finfo(np.float32).min), "float32"),
        (float(np.finfo(np.float32).min), "bfloat16"),
        (-1e30, "float64"),
        (-1e9, "rows"),
    ],
)
def test_a_mask_counts_as_minus_infinity(method: str, mask: float, how: str) -> None:
    found, expected = fit(method, written(mask, how)), fit(method, hidden(how))
    np.testing.assert_array_equal(found.tree.parent, expected.tree.parent)
    np.testing.assert_array_equal(found.tree.height, expected.tree.height)
    np.testing.assert_array_equal(found.tree.leaf_of_point, expected.tree.leaf_of_point)
    assert found.warnings == expected.warnings
    (note,) = [note for note in found.warnings if "-inf" in note]
    assert f"{int(OUT.sum()):,} logit(s)" in note


def test_a_mask_differs_from_a_low_logit_where_nothing_else_is_left() -> None:
    """Without the masks, rows of one class alone would vote for their masked classes."""
    logits = np.full((4, 4), -1e9)
    logits[np.arange(4), np.arange(4)] = 1.0
    logits[0, 1], logits[2, 3] = 0.5, 0.5
    found, expected = fit("l2h", logits), fit("l2h", np.where(logits < -1e8, -np.inf, logits))
    np.testing.assert_array_equal(found.tree.parent, expected.tree.parent)
    assert found.warnings == expected.warnings


@pytest.mark.parametrize("how", ["float64", "float32", "float16", "rows"])
def test_a_row_of_nothing_else_is_refused(how: str) -> None:
    values = np.where(OUT, np.float32(-1e4), LOGITS)
    values[17] = -1e4
    logits: Any = Read(values) if how == "rows" else values.astype(how)
    with pytest.raises(UsageError, match=r"Row 17 .* a mask such as -1e9") as raised:
        fit("l2h", logits)
    assert raised.value.where["row"] == 17


@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e9, 1e30])
def test_logits_of_any_scale_are_no_masks(scale: float) -> None:
    logits = RNG.normal(size=(50, 6)) * scale
    assert masks(logits) is None
    rows = ArrayRows(logits)
    assert unmasked(rows) is rows


def test_what_was_found_is_of_the_array_that_lives() -> None:
    for _ in range(20):
        clean, masked = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
        masked[1, 2] = LOW - 100
        assert isinstance(unmasked(ArrayRows(clean)), ArrayRows)
        assert not isinstance(unmasked(ArrayRows(masked)), ArrayRows)
        del clean, masked


def test_integers_are_read_with_minus_infinity() -> None:
    values = np.array([[3, 1, -(10**9)], [1, 5, 2]])
    read = unmasked(ArrayRows(values)).read(0, 2)
    np.testing.assert_array_equal(read, [[3, 1, -np.inf], [1, 5, 2]])


def test_predictions_give_masked_classes_no_probability() -> None:
    used = registry.method("l2h")
    fitted = fit("l2h", LOGITS)
    assert fitted.model is not None
    answers = [
        used.predict(fitted.model, fitted.tree, Data({"logits": values}))
        for values in (HIDDEN, np.where(OUT, -1e9, LOGITS).astype(np.float32))
    ]
    np.testing.assert_array_equal(answers[0].leaf, answers[1].leaf)
    np.testing.assert_array_equal(answers[0].probability, answers[1].probability)
