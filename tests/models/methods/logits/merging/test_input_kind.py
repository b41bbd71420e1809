"""Logits that look like probabilities or their logarithms are noted; others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.inputs.data import Data
from models.inputs.reading import noting
from models.inputs.rows import ArrayRows
from models.method import Method
from models.methods.logits.merging.input_kind import looks_like
from models.registry import method

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(300, 12)) * 3.0
E = np.exp(LOGITS - LOGITS.max(axis=1, keepdims=True))
PROBS = E / E.sum(axis=1, keepdims=True)
BEST = np.argsort(-PROBS, axis=1)[:, :3]
COUNTS = RNG.poisson(1.0, size=(12, 12)) + np.diag(np.full(12, 30))
L2H: Method[Any] = method("l2h")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_each_kind_is_known(dtype: str) -> None:
    for kind, values in (("logits", LOGITS), ("probs", PROBS), ("log_probs", np.log(PROBS))):
        assert looks_like(ArrayRows(values.astype(dtype))) == kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (PROBS.round(3), "probs"),
        (np.eye(12)[LOGITS.argmax(axis=1)], "probs"),
        (np.eye(12, dtype=np.int64)[LOGITS.argmax(axis=1)], "probs"),
        (np.eye(12, dtype=bool)[LOGITS.argmax(axis=1)], "probs"),
        (PROBS[:1], "probs"),
        (np.full((5, 2), 0.5), "probs"),
        (np.where(PROBS < 1e-4, -np.inf, np.log(PROBS)), "log_probs"),
        (1.1 * PROBS, "logits"),
        (PROBS - 0.01, "logits"),
        (-np.abs(LOGITS), "logits"),
        (np.zeros((5, 3)), "logits"),
        (100.0 * PROBS, "percent"),
        (1.0 / (1.0 + np.exp(-LOGITS)), "shares"),
        (1.0 / (1.0 + np.exp(-LOGITS[:20])), "logits"),
        (np.where(PROBS < 0.1, 0.0, PROBS), "shares"),
        (np.full((3, 4), np.nan), "logits"),
        (COUNTS, "counts"),
        (COUNTS[:-1], "logits"),
        (COUNTS - 1, "logits"),
        (COUNTS + 0.5, "logits"),
        (COUNTS // 9, "logits"),
        (np.eye(12), "probs"),
    ],
)
def test_what_is_near_to_a_kind(values: Any, kind: str) -> None:
    assert looks_like(ArrayRows(values)) == kind


def test_negated_logarithms_and_bytes_are_known() -> None:
    """As losses and images of predictions have them."""
    drawn = np.random.default_rng(0).dirichlet(np.ones(5), 200) * 0.99 + 0.002
    probs = np.vstack([drawn, np.full((1, 5), 0.2)])
    assert looks_like(ArrayRows(-np.log(probs))) == "costs"
    assert looks_like(ArrayRows(np.full((3, 2), np.log(2.0)))) == "costs"
    assert looks_like(ArrayRows(np.rint(probs * 255).astype(np.uint8))) == "bytes"
    assert looks_like(ArrayRows(np.arange(600.0).reshape(120, 5))) == "logits"


@pytest.mark.parametrize("row", [0, 63, 64, 299])
def test_a_single_other_row_settles_it(row: int) -> None:
    for values in (PROBS, np.log(PROBS)):
        odd = values.copy()
        odd[row] += 0.5
        assert looks_like(ArrayRows(odd)) == "logits"


def test_the_best_classes_alone_sum_to_less() -> None:
    best = np.take_along_axis(PROBS, BEST, axis=1)
    assert looks_like(ArrayRows(best)) == "shares"
    assert looks_like(ArrayRows(best), best_only=True) == "probs"
    assert looks_like(ArrayRows(np.log(best)), best_only=True) == "log_probs"
    logits = np.take_along_axis(LOGITS, BEST, axis=1)
    for values in (logits, logits - 20.0):
        assert looks_like(ArrayRows(values), best_only=True) == "logits"


def notes_of_fit(values: Any, **inputs: Any) -> list[str]:
    kind = inputs.pop("kind", "logits")
    with noting() as notes:
        L2H.fit(Data({"logits": values, **inputs}), L2H.Params.model_validate({"input": kind}))
    return list(notes)


def test_fits_note_it() -> None:
    assert "`input: probs`" in notes_of_fit(PROBS)[0]
    assert "`input: log_probs`" in notes_of_fit(np.log(PROBS))[0]
    best = np.take_along_axis(PROBS, BEST, axis=1)
    assert "`input: probs`" in notes_of_fit(best, top_classes=BEST)[0]
    assert notes_of_fit(LOGITS) == []
    assert notes_of_fit(PROBS, kind="probs") == []
    assert notes_of_fit(np.log(PROBS), kind="log_probs") == []


def test_new_rows_note_it() -> None:
    fitted = L2H.fit(Data({"logits": LOGITS}), L2H.Params())
    assert fitted.model is not None
    for values, n_notes in ((PROBS, 1), (LOGITS, 0), (np.log(PROBS), 0)):
        data = Data({"logits": values})
        with noting() as notes:
            L2H.predict(fitted.model, fitted.tree, data)
        assert len(notes) == n_notes
        with noting() as notes:
            L2H.class_scores(fitted.model, data)  # type: ignore[attr-defined]
        assert len(notes) == n_notes


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_masked_classes_make_the_tree_of_very_low_logits(dtype: str) -> None:
    masked = LOGITS.copy()
    masked[::2, 4] = -np.inf
    masked[1::3, 7:] = -np.inf
    low = np.where(np.isneginf(masked), -1e9 if dtype != "float16" else -6e4, masked)
    trees = []
    for values in (masked, low):
        fitted = L2H.fit(Data({"logits": values.astype(dtype)}), L2H.Params())
        assert fitted.model is not None
        placed = L2H.predict(fitted.model, fitted.tree, Data({"logits": values.astype(dtype)}))
        scores = L2H.class_scores(fitted.model, Data({"logits": values.astype(dtype)}))  # type: ignore[attr-defined]
        assert np.isfinite(scores.read(0, 300)).all()
        trees.append((fitted.tree.parent.tolist(), placed.leaf.tolist(), placed.probability))
    assert trees[0][:2] == trees[1][:2]
    np.testing.assert_allclose(trees[0][2], trees[1][2], atol=1e-12)
