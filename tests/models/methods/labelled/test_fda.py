"""Fisher discriminants as a method."""

from __future__ import annotations

import numpy as np
import pytest

from models.errors import UsageError
from models.inputs.data import Data
from models.metrics import flat
from models.registry import method
from tests.models.methods.labelled.bimodal_kit import half_known


@pytest.mark.parametrize("seed", range(10))
def test_clusters_of_two_far_modes_are_found(seed: int) -> None:
    data, code = half_known(seed)
    used = method("fda")
    fitted = used.fit(data, used.Params(n_clusters=3, n_init=20))
    free = code < 3
    cluster = fitted.tree.leaf_of_point[free]
    assert flat.ari(flat.contingency(cluster, code[free], 7, 3)) == pytest.approx(1)


def test_as_many_directions_as_known_clusters_less_one() -> None:
    rng = np.random.default_rng(0)
    code = np.arange(100) % 5
    points = rng.normal(size=(5, 8))[code] + 0.1 * rng.normal(size=(100, 8))
    data = Data({"features": points, "labels": np.where(code < 3, code, -1)})
    used = method("fda")
    fitted = used.fit(data, used.Params(n_clusters=2, n_init=2))
    assert fitted.metrics["n_components"] == 2
    assert [number for number, _ in fitted.curves["ratio"]] == [1, 2]


def test_directions_without_spread_need_a_gamma() -> None:
    code = np.arange(20) % 4
    data = Data({"features": np.eye(4)[code], "labels": np.where(code < 3, code, -1)})
    used = method("fda")
    with pytest.raises(UsageError, match="gamma"):
        used.fit(data, used.Params(n_clusters=1, gamma=0.0))
