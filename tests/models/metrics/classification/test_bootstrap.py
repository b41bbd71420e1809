"""Metrics on resampled rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import Float
from models.metrics.classification import evaluation
from models.metrics.classification.evaluation import gains_of, resampled
from models.metrics.classification.outcomes import outcomes, true_labels
from models.metrics.classification.scores import METRIC_IDS, METRICS, Statistics, statistics
from models.tree.build import from_partition
from tests.models.metrics.classification.rows_kit import LabelledRows, labelled_rows


def statistics_of(case: LabelledRows) -> Statistics:
    truth = true_labels(case.label_sets, case.tree, case.class_node)
    n_classes = case.class_node.size
    gain = gains_of(case.tree, truth.tree.n_nodes)
    return statistics(outcomes(truth, n_classes, case.predict, top_k=2, with_loss=True, gain=gain))


@given(case=labelled_rows(), data=st.data())
def test_weighted_sums_are_those_of_repeated_rows(case: LabelledRows, data: st.DataObject) -> None:
    n_rows = len(case.labelled)
    times = data.draw(
        st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows).filter(lambda n: sum(n) > 0)
    )
    weights = np.stack([np.array(times, dtype=np.float64), np.ones(n_rows)], axis=1)
    sums = statistics_of(case).sums(weights)
    repeated = case.rows(np.repeat(case.labelled, times))
    for at, same in enumerate((repeated, case)):
        expected = same.evaluate(metrics=METRIC_IDS, top_k=2).metrics
        for name in METRIC_IDS:
            value = METRICS[name].compute(sums)[at]
            whole = np.nan if expected[name] is None else expected[name]
            assert value == pytest.approx(whole, rel=1e-9, abs=1e-12, nan_ok=True), name


def coin_rows(n_rows: int, share: float) -> LabelledRows:
    """Rows of two classes, of which this share is right."""
    tree = from_partition(np.zeros(0, dtype=np.int64), 2, names=["n1", "n2"])
    right = np.arange(n_rows) < share * n_rows
    probability: Float = np.where(np.arange(2) == 0, 0.75, 0.25) * np.ones((n_rows, 1))
    labels: list[set[str] | None] = [{"n1"} if hit else {"n2"} for hit in right.tolist()]
    return LabelledRows(
        tree, np.array([1, 2]), labels, probability, probability > 0.5, one_each=True
    )


def test_the_standard_error_of_a_share() -> None:
    evaluation = coin_rows(400, 0.8).evaluate(metrics=METRIC_IDS, bootstrap=1000)
    expected = np.sqrt(0.8 * 0.2 / 400)
    assert evaluation.standard_errors["accuracy"] == pytest.approx(expected, rel=0.1)
    low, high = evaluation.intervals["accuracy"]
    assert (low, high) == pytest.approx((0.8 - 1.96 * expected, 0.8 + 1.96 * expected), abs=0.006)
    assert set(evaluation.standard_errors) == set(evaluation.intervals) == set(METRIC_IDS)


def test_resamples_do_not_depend_on_how_many_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    totals = statistics_of(coin_rows(50, 0.6))
    values = []
    for size in (1, 50 * 7, 1 << 22):
        monkeypatch.setattr(evaluation, "VALUES", size)
        drawn = resampled(totals, ["accuracy"], 20, 3)["accuracy"]
        assert drawn.shape == (20,)
        assert np.allclose(drawn * 50, np.round(drawn * 50))
        values.append(drawn.mean())
    assert values == pytest.approx([0.6] * 3, abs=0.08)


def test_the_seed_decides() -> None:
    case = coin_rows(60, 0.7)
    first, same, other = (case.evaluate(bootstrap=50, seed=seed) for seed in (1, 1, 2))
    assert first.intervals == same.intervals
    assert first.standard_errors == same.standard_errors != other.standard_errors


def test_none_without_resamples() -> None:
    case = replace(coin_rows(10, 0.5))
    assert not case.evaluate(bootstrap=0).standard_errors
