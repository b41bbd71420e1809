"""Trees grown by k-means: on hostile points, and on points read by rows as on those in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from models import registry
from models.clusters import lloyd
from models.errors import Cancelled
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Fitted
from models.methods.features.growing import means
from tests.pairwise_kit import pairwise

KINDS = ("float32", "float64")


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


def hostile(name: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(400, 4))
    if name == "equal but two":
        points[:] = 0.1
        points[17], points[300] = 0.2, 5.0
    elif name == "duplicates":
        points = np.repeat(points[:13], 31, axis=0)
    elif name == "constant columns":
        points[:, 1:] = 7.7
    elif name == "far":
        points = 1e6 + points
    elif name == "one huge":
        points[5] = 1e15
    elif name == "grid":
        points = rng.integers(0, 4, size=(400, 4)).astype(float)
    elif name == "tiny":
        points *= 1e-25
    return points


def fit(name: str, features: Any, **params: Any) -> Fitted:
    method = registry.method(name)
    return method.fit(Data({"features": features}), method.Params.model_validate(params))


NOT_IN_TYPE = {("one huge", "int32"), ("one huge", "float16"), ("far", "float16")}
"""Points and types that cannot hold them."""
HOSTILE = ("equal but two", "duplicates", "constant columns", "far", "one huge", "grid", "tiny")


@pytest.mark.parametrize(
    ("name", "kind", "branching"),
    [
        case
        for case in pairwise(HOSTILE, (*KINDS, "float16", "int32"), (2, 3, 7))
        if case[:2] not in NOT_IN_TYPE
    ],
)
def test_trees_of_hostile_points(name: str, branching: int, kind: str) -> None:
    points = hostile(name).astype(kind)
    fitted = fit("hkm", points, branching=branching, max_leaves=1000, n_init=2)
    tree = fitted.tree
    n_distinct = len(np.unique(points, axis=0))
    assert tree.n_leaves == n_distinct
    assert not any("before it converged" in warning for warning in fitted.warnings)
    # Each leaf is one place, at its centre.
    centre, leaf = fitted.model.arrays["centers"], tree.leaf_of_point
    assert centre[leaf] == pytest.approx(points.astype(np.float64), rel=1e-12, abs=0)
    method = registry.method("hkm")
    placed = method.predict(fitted.model, tree, Data({"features": points}))
    assert (placed.leaf == leaf).all()


@pytest.mark.parametrize("kind", [*KINDS, "float16", "int32"])
@pytest.mark.parametrize("name", ["duplicates", "constant columns", "grid"])
def test_fitted_points_go_where_they_were(name: str, kind: str) -> None:
    points = hostile(name).astype(kind)
    for method, params in (
        ("hkm", {"branching": 3, "max_leaves": 9, "n_init": 1}),
        ("bisecting-kmeans", {"n_clusters": 5 if len(np.unique(points, axis=0)) > 5 else 2}),
    ):
        fitted = fit(method, points, **params)
        used = registry.method(method)
        placed = used.predict(fitted.model, fitted.tree, Data({"features": points}))
        assert (placed.leaf == fitted.tree.leaf_of_point).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("branching", [2, 5])
def test_a_seed_fixes_all_bits(tmp_path: Path, kind: str, branching: int) -> None:
    points = np.random.default_rng(3).normal(size=(900, 6)).astype(kind)
    np.save(tmp_path / "points.npy", points)
    mapped = ArrayRows(np.load(tmp_path / "points.npy", mmap_mode="r"))
    params = {"branching": branching, "max_leaves": 60, "n_init": 2, "seed": 4}
    one, *others = (
        fit("hkm", features, **params)
        for features in (points, points.copy(), mapped, np.asfortranarray(points))
    )
    for other in others:
        assert (other.tree.leaf_of_point == one.tree.leaf_of_point).all()
        assert (other.tree.parent == one.tree.parent).all()
        assert other.metrics == one.metrics
        for name, values in one.model.arrays.items():
            assert (other.model.arrays[name] == values).all()
    assert fit("hkm", points, **{**params, "seed": 5}).metrics != one.metrics


def test_cancel_is_obeyed_between_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(means, "LARGE", 100)
    stages = []

    def progress(fraction: float, stage: str, message: str = "") -> None:
        stages.append((stage, message))
        if message == "run 3 of 5":
            raise Cancelled

    method = registry.method("hkm")
    with pytest.raises(Cancelled):
        method.fit(
            Data({"features": np.random.default_rng(0).normal(size=(200, 3))}),
            method.Params.model_validate({"n_init": 5}),
            progress,
        )
    assert ("fitting", "run 2 of 5") in stages
