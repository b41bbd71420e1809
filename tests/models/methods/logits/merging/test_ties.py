"""Merges that ties alone decided are counted, and a warning names them where they are most."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from models.inputs.data import Data
from models.methods.logits.merging import ties
from models.methods.logits.merging.reference import Merges
from models.registry import method

L2H: Any = method("l2h")
RNG = np.random.default_rng(0)


def warned(values: Any, kind: str = "logits", **more: Any) -> list[str]:
    params = L2H.Params.model_validate({"input": kind, **more})
    fitted = L2H.fit(Data({"logits": values}), params)
    return [text for text in fitted.warnings if "ties alone" in text]


@pytest.mark.parametrize("k", [3, 8, 9, 12, 130, 200])
def test_one_hot_and_saturated_rows(k: int) -> None:
    one_hot = np.eye(k)[np.arange(10 * k) % k]
    expected = f"{k - 2} of {k - 2} merges with a choice"
    for values in (one_hot, 30 * one_hot, 1e6 * one_hot, (one_hot * 40).astype(np.float32)):
        assert warned(values)[0].startswith(expected)
    assert warned(one_hot, "probs")[0].startswith(expected)
    smooth = 0.9 * one_hot + 0.1 / k
    assert warned(smooth, "probs")[0].startswith(expected)
    with np.errstate(divide="ignore"):
        assert warned(np.log(one_hot))[0].startswith(expected)


@pytest.mark.parametrize("aggregation", ["mean-sum", "sum", "mean", "size"])
def test_rows_that_favour_a_class_are_no_ties(aggregation: str) -> None:
    logits = RNG.normal(size=(300, 12))
    for values in (logits, 5 * logits, 1e4 * logits):
        assert warned(values, aggregation=aggregation) == []


def test_groups_without_votes_are_counted_by_the_merger() -> None:
    """Pairs of classes are taken for each other alone; how the pairs join, nothing says."""
    for k, group, n_tied in ((12, 2, 4), (12, 6, 0), (200, 2, 98)):
        label = np.arange(20 * k) % k
        near = (label // group * group) + (label + 1) % group
        probs = 0.7 * np.eye(k)[label] + 0.3 * np.eye(k)[near]
        found = warned(probs, "probs")
        assert bool(found) == (2 * n_tied > k - 2)


def test_two_classes_have_no_choice() -> None:
    assert warned(np.eye(2)[[0, 1, 1]]) == []


def test_a_few_indifferent_classes_are_not_most() -> None:
    logits = RNG.normal(size=(300, 12)) * 3.0
    label = logits.argmax(axis=1)
    logits[label == 0] = 9.0 * np.eye(12)[0]
    assert warned(logits) == []


def test_merges_are_counted_by_their_groups() -> None:
    # (((0,1)3,2)4): classes 0 and 1 are indifferent, so is their group 3.
    merges = Merges(np.array([0, 4, 5]), np.array([1, 2, 3]), 0)
    indifferent = np.array([True, True, False, False])
    assert ties.count(merges, indifferent, [], ()) == 2
    assert ties.count(merges, np.zeros(4, dtype=bool), [], {1}) == 1
    assert ties.count(merges, np.ones(4, dtype=bool), [], ()) == 2
    hosts = [(0, np.array([1, 2, 3]))]
    assert ties.count(merges, np.zeros(4, dtype=bool), hosts, ()) == 1
    assert ties.count(merges, np.zeros(4, dtype=bool), [(0, np.array([1]))], ()) == 0
