"""The table of qualities runs methods as a comparison over HTTP does."""

from __future__ import annotations

import numpy as np
import pytest

from bench import quality
from bench.report import Report


def test_a_row_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    code = np.repeat([0, 1], 20)
    points = 9.0 * np.eye(2)[code] + np.random.default_rng(0).normal(size=(40, 2))
    report = Report({})
    runs = [("kmeans", quality._contender("kmeans", {"n_clusters": 2}))]
    quality._measure(report, "two", points, code, runs, 2)
    (row,) = report.tables["quality"]
    assert (row["what"], row["n"], row["seeds"], row["failed"]) == ("two: kmeans", 40, 2, "")
    assert row["accuracy"].startswith("1.0000")
