"""A file of AnnData from upload to prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.conftest import Service
from tests.workers.formats.h5ad_kit import h5ad, put_categories, sparse
from umbel_client import File, Umbel, UmbelWarning

pytestmark = [
    pytest.mark.needs("h5py"),
    pytest.mark.filterwarnings("ignore::umbel_client.UmbelWarning"),
]


def test_cells_and_genes(service: Service, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = np.arange(24) % 3
    counts = np.where(kind[:, None] == np.arange(6) % 3, 9, 0) + rng.integers(0, 2, (24, 6))

    def turn(root: Any) -> None:
        root["var/_index"][:] = [f"g{at}" for at in (5, 4, 3, 2, 1, 0)]

    cells = h5ad(
        tmp_path / "cells.h5ad",
        sparse(counts),
        others={"obsm/X_pca": counts[:, :3] * 1.0},
        act=lambda root: put_categories(root["obs"], "cell_type", kind.tolist(), ["a", "b", "c"]),
    )
    turned = sparse(np.ascontiguousarray(counts[:, ::-1]), "csc")
    others = h5ad(tmp_path / "turned.h5ad", turned, act=turn)
    with Umbel(service.url) as umbel:
        dataset = umbel.upload(File(cells), progress=False)
        with pytest.warns(UmbelWarning, match=r"chooses another"):
            tree = umbel.run("kmeans", features=dataset, n_clusters=3, n_init=1)
        assert tree.ids()[3] == "c3"
        assert tree.evaluate(dataset)["dendrogram_purity"] == 1
        same, again = tree.predict(dataset), tree.predict(File(others))
        assert same.ids == again.ids
        assert same.leaf.tolist() == again.leaf.tolist()
        pca = umbel.upload(File(cells, member="obsm/X_pca"), progress=False)
        assert umbel.run("hac", features=pca).evaluate(dataset)["dendrogram_purity"] == 1
