"""What `new_clusters` makes of draws that a method refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bench import Chosen, new_clusters
from bench.report import Report


def test_draws_that_a_method_refuses_are_counted_and_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scores(*each: float) -> Any:
        return np.array([each, each]).T

    by_method = {
        "tcs": scores(0.1, 0.5, 0.7),
        "gmm": scores(math.nan, 0.6, 0.8),
        "fda": scores(*[math.nan] * 3),
    }
    monkeypatch.setattr(new_clusters, "present", lambda *_: [("glass", np.eye(3), np.arange(3))])
    monkeypatch.setattr(new_clusters, "measured", lambda *_: dict(by_method))
    report = Report({})
    new_clusters.table(report, "quick", Chosen())
    gmm, fda = report.tables["new_clusters"][:2]
    assert (gmm["draws"], gmm["refused"]) == (2, 1)
    assert (gmm["tcs"], gmm["under"]) == pytest.approx((0.6, 0.1))
    assert (fda["draws"], fda["refused"], fda["under"]) == (0, 3, "refused")


def test_a_mixture_that_refuses_has_no_score() -> None:
    rows, code = np.ones((8, 2)), np.repeat([0, 1], 4)
    assert np.isnan(new_clusters._alone(rows, code, np.array([0, 1]), 0)).all()
