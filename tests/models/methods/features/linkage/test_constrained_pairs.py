"""Constraints where all pairs are compared, against the literal definition."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.methods.features.linkage.all_pairs import Linkage
from tests.models.methods.features.linkage.constrained_kit import (
    ByLinkage,
    euclidean,
    expected,
    fit,
    heights_of,
    inputs_of,
    merges_of,
    random_known,
    same,
)


@pytest.mark.parametrize("linkage", get_args(Linkage))
@settings(max_examples=settings().max_examples // 2)
@given(
    which=st.sampled_from(["m", "c", "t", "g", "mc", "gt", "ct", "gc", "mct", "gmct"]),
    seed=st.integers(0, 10**6),
    n=st.integers(2, 12),
)
def test_constrained_merges_are_their_definition(
    linkage: str, which: str, seed: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    known = random_known(rng, n, which)
    points = rng.normal(size=(n, 3))
    # A graph beside features has other distances (`test_constrained_edges`).
    role = "distances" if known.graph is not None or rng.random() < 0.5 else "features"
    distances = euclidean(points)
    values = points if role == "features" else distances
    fitted = fit({role: values, **inputs_of(known, rng)}, linkage=linkage)
    apart = ByLinkage(linkage, distances, known.groups())
    merges = merges_of(known, apart, apart.merge)
    same(heights_of(fitted.tree), expected(known, merges))
    assert fitted.metrics.get("n_forced", 0.0) == sum(level > 0 for _, _, level in merges)
