"""The figure of trees of several forms, and the table of splits beside their optimum."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from bench import margins, splits
from tests.needs_kit import need


def test_leaves_and_branching_are_drawn(tmp_path: Path) -> None:
    need("matplotlib")
    from bench import plot

    rows = [
        {"set": name, "method": method, "leaves": leaves, "branching": k, "SP": 80.0 + k + leaves}
        for name, method in product(("emoji", "nouns"), ("HMMC", "HKM"))
        for leaves, k in [(4, 2), (6, 2), (8, 2), (4, 3), (4, 4)]
    ]
    rows.append({"set": "emoji", "method": "KM", "leaves": 4, "branching": 2, "SP": 70.0})
    plot.leaves_and_branching(rows, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes()[1:4] == b"PNG"


def test_every_top_down_and_flat_method_has_a_style() -> None:
    need("matplotlib")
    from bench import plot

    called = {contender.called for contender in margins._baselines(3, 2, 0.1) if not contender.cut}
    assert set(plot.FIGURE_2) == called | {"HMMC"}


@pytest.mark.parametrize("alpha", splits.ALPHAS)
def test_a_search_with_gaps_ends_near_the_smallest_objective(alpha: float) -> None:
    rows = {row["what"]: row for row in splits.enumerated(alpha, n_draws=2, n_seeds=1)}
    assert list(rows) == [f"12 points: {effort}" for effort in splits.EFFORTS]
    gaps = rows["12 points: with gaps"]
    assert -0.1 < gaps["mean_above_pct"] < 3.0
    assert gaps["mean_above_pct"] <= rows["12 points: 3 starts"]["mean_above_pct"] + 0.1
