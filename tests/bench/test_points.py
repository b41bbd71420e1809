"""Large trees of points: cost is counted, and drawn clusters far apart are found."""

from __future__ import annotations

from bench.points import large


def test_clusters_are_found_by_groups() -> None:
    found = large(2_000, 400)
    assert found["purity"] > 0.99
    assert found["cpu_s"] > 0.0
    assert found["grown_gb"] >= 0.0
