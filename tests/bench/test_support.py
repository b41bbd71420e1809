"""Clusters that were planted come back, others do not."""

from __future__ import annotations

import numpy as np
import pytest

from bench.support import holding, planted, support_of
from models.running.progress import silent
from workers.work.plan import Plan, run_plan


@pytest.mark.parametrize(("resample", "most"), [("noise", 0.5), ("columns", 0.5), ("rows", 0.9)])
def test_planted_clusters_have_support(resample: str, most: float) -> None:
    points, groups = planted()
    plan = Plan("hac", {})
    tree = run_plan(plan, {"features": points}, silent, 1).fitted.tree
    support, n_replicates = support_of(
        tree, plan, {"features": points}, resample=resample, replicates=20
    )
    known = np.isfinite(support)
    is_planted = known & holding(tree, groups)
    assert n_replicates == 20
    assert is_planted.sum() > 20
    assert support[is_planted].mean() > 0.8
    assert support[known & ~is_planted].mean() < most
