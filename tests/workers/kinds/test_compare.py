"""Tests between runs on the same rows, against literal ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, wilcoxon

from workers.kinds.compare import differences, holm


def test_holm_is_the_step_down_procedure() -> None:
    p_values = [0.01, 0.04, 0.03, 0.005]
    # 4 x .005, 3 x .01, 2 x .03, then no smaller than the one before.
    assert holm(p_values) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_runs_are_compared_with_the_purest_by_rows_and_by_classes() -> None:
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(16), 5)
    base = rng.uniform(0.4, 0.6, code.size)
    runs = {
        0: [base - rng.uniform(0.0, 0.2, code.size)],
        1: [base + 0.2, base],
        2: [base + 0.1 + rng.normal(0, 0.1, code.size)],
    }
    found = differences(runs, code)
    means = {run: np.mean(of_seeds, axis=0) for run, of_seeds in runs.items()}
    best = max(means, key=lambda run: means[run].mean())
    others = [run for run in runs if run != best]
    assert [(one["run"], one["than"]) for one in found] == [(run, best) for run in others]
    rows, classes = [], []
    for one in found:
        apart = means[one["run"]] - means[best]
        apart[np.abs(apart) < 1e-12] = 0.0
        n_better, n_worse = int((apart > 0).sum()), int((apart < 0).sum())
        assert (one["rows"]["n_better"], one["rows"]["n_worse"]) == (n_better, n_worse)
        rows.append(binomtest(n_better, n_better + n_worse).pvalue)
        by_class = np.array([apart[code == number].mean() for number in range(16)])
        classes.append(wilcoxon(by_class).pvalue)
    assert [one["rows"]["p_value"] for one in found] == pytest.approx(holm(rows))
    assert [one["classes"]["p_value"] for one in found] == pytest.approx(holm(classes))


def test_runs_that_are_even_and_single_rows_are_beyond_no_chance() -> None:
    code = np.array([0, 0, 1, 1, 2])
    purity = np.array([1.0, 1.0, 0.5, 0.5, np.nan])
    (one,) = differences({0: [purity], 3: [purity.copy()]}, code)
    assert one["rows"] == {"n_better": 0, "n_worse": 0, "p_value": 1.0}
    assert one["classes"]["p_value"] == 1.0
    assert differences({0: [purity]}, code) == []
    assert differences({0: [purity], 1: [purity]}, np.arange(5)) == []
