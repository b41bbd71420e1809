"""A hierarchy grown block by block equals the one of all rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from models.inputs.data import Data, Earlier
from models.inputs.rows import ArrayRows, Rows
from models.method import Fitted
from models.methods.logits.l2h import L2H, L2HParams

METHOD = L2H()


def logits_of(n: int, n_classes: int, seed: int) -> np.ndarray:
    """Rows of a planted hierarchy of pairs of pairs, some classes never the best."""
    rng = np.random.default_rng(seed)
    label = rng.integers(max(1, n_classes - 2), size=n)
    group = np.arange(n_classes)
    affinity = sum(
        strength * (group[:, None] // width == group[None, :] // width)
        for width, strength in ((1, 3.0), (2, 1.5), (4, 1.0), (8, 0.7))
    )
    return (affinity[label] + rng.normal(size=(n, n_classes))).astype(np.float32)


def grown(blocks: list[np.ndarray], gone: int = 0, **params: Any) -> Fitted:
    """Block after block; of the first `gone` ones the rows cannot be read again."""
    chosen = L2HParams(growable=True, **params)
    fitted = METHOD.fit(Data({"logits": blocks[0]}), chosen)
    for i in range(1, len(blocks)):
        assert fitted.state is not None
        rows: list[Rows | None] = [
            None if k < gone else ArrayRows(block) for k, block in enumerate(blocks[:i])
        ]
        earlier = Earlier("l2h", chosen.model_dump(), fitted.tree, fitted.state, {"logits": rows})
        fitted = METHOD.fit(Data({"logits": blocks[i], "base": earlier}), chosen)
    return fitted


def same(a: Fitted, b: Fitted) -> bool:
    return (
        a.tree.parent.tolist() == b.tree.parent.tolist()
        and a.tree.leaf_of_point.tolist() == b.tree.leaf_of_point.tolist()
    )


@settings(max_examples=60)
@given(
    n=st.integers(3, 400),
    n_classes=st.integers(2, 40),
    seed=st.integers(0, 1000),
    cuts=st.lists(st.floats(0.05, 0.95), min_size=1, max_size=3),
    aggregation=st.sampled_from(["mean-sum", "sum", "mean", "size"]),
)
def test_growing_equals_the_run_on_all_rows(
    n: int, n_classes: int, seed: int, cuts: list[float], aggregation: Any
) -> None:
    logits = logits_of(n, n_classes, seed)
    edges = sorted({0, n, *(max(1, int(n * cut)) for cut in cuts)})
    blocks = [logits[a:b] for a, b in itertools.pairwise(edges)]
    whole = METHOD.fit(Data({"logits": logits}), L2HParams(aggregation=aggregation))
    assert same(grown(blocks, aggregation=aggregation), whole)


def test_old_rows_are_not_read_where_the_kept_state_decides() -> None:
    logits = logits_of(3000, 8, seed=1)
    fitted = grown([logits[:2000], logits[2000:]], gone=1)
    whole = METHOD.fit(Data({"logits": logits}), L2HParams())
    assert same(fitted, whole)
    assert fitted.metrics["n_undecided_merges"] == 0.0
    assert not any("base" in warning for warning in fitted.warnings)


def test_reading_old_rows_again_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.methods.logits.merging.row_digest.LISTED", 1)
    logits = logits_of(3000, 64, seed=2)
    fitted = grown([logits[:2500], logits[2500:]])
    assert same(fitted, METHOD.fit(Data({"logits": logits}), L2HParams()))
    assert any("had to be read again" in warning for warning in fitted.warnings)


def test_open_decisions_without_old_rows_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.methods.logits.merging.row_digest.LISTED", 1)
    logits = logits_of(3000, 64, seed=2)
    fitted = grown([logits[:2500], logits[2500:]], gone=1)
    assert fitted.metrics["n_undecided_merges"] > 0
    assert any("gone" in warning for warning in fitted.warnings)


def test_names_come_from_the_base() -> None:
    logits = logits_of(50, 3, seed=0)
    first = METHOD.fit(Data({"logits": logits, "names": ["a", "b", "c"]}), L2HParams(growable=True))
    assert first.state is not None
    earlier = Earlier("l2h", {}, first.tree, first.state, {"logits": [ArrayRows(logits)]})
    fitted = METHOD.fit(Data({"logits": logits, "base": earlier}), L2HParams())
    assert sorted(fitted.tree.name[fitted.tree.leaves]) == ["a", "b", "c"]
    assert fitted.state is None


@pytest.mark.parametrize(
    ("columns", "before", "params", "message"),
    [
        (4, {}, {}, "3 classes"),
        (3, {"temperature": 2.0}, {}, "must be the same"),
        (3, {}, {"aggregation": "sum"}, "must be the same"),
    ],
)
def test_a_base_that_does_not_fit_is_refused(
    columns: int, before: dict[str, Any], params: dict[str, Any], message: str
) -> None:
    logits = logits_of(50, 3, seed=0)
    first = METHOD.fit(Data({"logits": logits}), L2HParams(growable=True))
    assert first.state is not None
    earlier = Earlier("l2h", before, first.tree, first.state, {"logits": [None]})
    with pytest.raises(UsageError, match=message):
        METHOD.fit(Data({"logits": np.zeros((5, columns)), "base": earlier}), L2HParams(**params))


def test_a_job_that_kept_nothing_is_no_base() -> None:
    logits = logits_of(50, 3, seed=0)
    first = METHOD.fit(Data({"logits": logits}), L2HParams())
    earlier = Earlier("l2h", {}, first.tree, {}, {"logits": [None]})
    with pytest.raises(UsageError, match="growable"):
        METHOD.fit(Data({"logits": logits, "base": earlier}), L2HParams())
