"""Trees grown by k-means on points read by rows: as on the same points in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.clusters import lloyd
from models.inputs.data import Data
from models.inputs.rows import ArrayRows


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("hkm", {"max_leaves": 6, "grow": "scattered"}),
        ("hkm", {"max_leaves": 6, "grow": "compact"}),
        ("bisecting-kmeans", {"n_clusters": 6}),
    ],
)
def test_what_is_too_large_goes_by_rows_from_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, params: dict[str, object]
) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(6, size=3_000)
    centre = np.array([[0, 0], [9, 0], [0, 40], [9, 44], [90, 0], [99, 3]])
    rows = (centre[group] + rng.normal(size=(3_000, 2))).astype(np.float16)
    method = registry.method(name)
    chosen = method.Params.model_validate(params)
    whole = method.fit(Data({"features": rows}), chosen)
    assert not any("sample" in warning for warning in whole.warnings)
    np.save(tmp_path / "rows.npy", rows)
    monkeypatch.setattr(lloyd, "WHOLE", 2_500)
    monkeypatch.setattr(lloyd, "SAMPLE", 800)
    mapped = ArrayRows(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    fitted = method.fit(Data({"features": mapped}), chosen)
    (note,) = (warning for warning in fitted.warnings if "on a sample of the node's" in warning)
    assert note.startswith("2 node(s)")
    leaf = fitted.tree.leaf_of_point
    assert adjusted_rand_score(whole.tree.leaf_of_point, leaf) > 0.99
    assert fitted.metrics["inertia"] == pytest.approx(whole.metrics["inertia"], rel=1e-3)
    predictions = method.predict(fitted.model, fitted.tree, Data({"features": mapped}))
    assert (predictions.leaf == leaf).all()
