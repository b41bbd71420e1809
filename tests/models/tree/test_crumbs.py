"""One cluster with most of the rows, and crumbs: warned of in cuts and in fits."""

from __future__ import annotations

import numpy as np
import pytest

from models.inputs.data import Data
from models.registry import method
from models.tree.cut import cut
from models.tree.noise import crumbs_warning, lump_and_crumbs


@pytest.mark.parametrize(
    ("sizes", "warned"),
    [
        ([97, 1, 1, 1], True),
        ([96, 1, 1, 1, 1], True),
        ([60, 38, 1, 1], True),
        ([49, 49, 1, 1], False),
        ([85, 5, 5, 5], False),
        ([25, 25, 25, 25], False),
        ([98, 1, 1], True),
        ([199, 1], True),
        ([2000, 20], False),
        ([97, 2, 1], False),
        ([18, 1], False),
        ([100], False),
        ([30, 1, 1, 1], False),
        ([30, 0, 0], False),
        ([300, 2, 0, 0], True),
    ],
)
def test_what_is_a_cluster_with_crumbs(sizes: list[int], warned: bool) -> None:
    found = crumbs_warning(np.array(sizes))
    assert (found is not None) is warned
    if found is not None:
        assert f"{min(99, 100 * max(sizes) / sum(sizes)):.0f}% of the rows" in found
        assert "'ward'" in found


def test_a_cut_of_outliers_is_warned_of_and_an_even_one_is_not() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(200, 3)), 30 * rng.normal(size=(5, 3))])
    hac = method("hac")
    average = hac.fit(Data({"features": points}), hac.Params.model_validate({"linkage": "average"}))
    warning = cut(average.tree, k=6).warning
    assert warning is not None
    assert "outliers split off" in warning
    # The height between the fifth and the sixth merge from the root.
    high = np.sort(average.tree.height)[::-1]
    by_height = cut(average.tree, height=float(high[4:6].mean()))
    assert by_height.n_clusters == 6
    assert by_height.warning == warning
    two = cut(average.tree, k=2)
    assert np.bincount(two.cluster_of_point).min() == 1
    assert two.warning is not None
    assert "1 has at most 1% of the rows: these are outliers split off" in two.warning
    even = hac.fit(
        Data({"features": rng.normal(size=(200, 3))}),
        hac.Params.model_validate({"linkage": "ward"}),
    )
    assert cut(even.tree, k=6).warning is None
    assert cut(even.tree, k=2).warning is None


def test_a_partition_of_outliers_is_warned_of() -> None:
    rng = np.random.default_rng(0)
    far = 1000 * np.eye(3)
    points = np.concatenate([rng.normal(size=(200, 3)), far])
    kmeans = method("kmeans")
    found = kmeans.fit(Data({"features": points}), kmeans.Params.model_validate({"n_clusters": 4}))
    assert any("outliers split off" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("sizes", "is_lump"),
    [
        ([990, 6, 4], True),
        ([97, 3], True),
        ([94, 6], False),
        ([960, 39, 1], False),
        ([50, 50], False),
        ([100], False),
        ([], False),
    ],
)
def test_what_is_a_lump_with_crumbs(sizes: list[int], is_lump: bool) -> None:
    assert lump_and_crumbs(np.array(sizes, dtype=np.int64)) is is_lump
