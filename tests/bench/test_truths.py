"""True hierarchies from class paths and their points."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench import truths


def test_nodes_with_a_single_child_are_merged_with_it() -> None:
    path_of = [("a", "b", "c"), ("a", "b", "d", "e"), ("f",), ("f", "g", "h"), ("a", "b", "c")]
    assert truths._without_single_children(path_of) == [
        ("a.b", "c"), ("a.b", "d.e"), ("f",), ("f", "g.h"), ("a.b", "c"),
    ]  # fmt: skip


def test_points_are_projected_on_their_main_components() -> None:
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=(50, 3)), rng.normal(size=(300, 150)) + 7.0
    np.testing.assert_allclose(truths._projected(few), few - few.mean(axis=0))
    projected = truths._projected(many)
    values = np.linalg.svd(many - many.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(projected, axis=0), values[: truths.COMPONENTS])


def test_classes_of_few_nouns_count_for_the_concept_above(tmp_path: Path) -> None:
    features, described = tmp_path / "f.npy", tmp_path / "d.json"
    paths = [[1, 2, n] for n in (3,) * 120 + (4,) * 60 + (5,) * 60]
    np.save(features, np.zeros((240, 2)))
    described.write_text(json.dumps({"path_root_to_self": paths}))
    _, path_of = truths._nouns(features, described)
    assert path_of == [("1", "2", "3")] * 120 + [("1", "2")] * 120


@pytest.mark.parametrize("name", ["emoji", "tinyimagenet-20-3", "ImCLEF07A"])
def test_labels_are_rows_of_the_hierarchy(name: str) -> None:
    truth = truths.loaded(name)
    if truth is None:
        pytest.skip(f"{name} is not in the folder that UMBEL_TEST_DATA names")
    assert np.unique(truth.label).tolist() == list(range(truth.n_classes))
    assert len(truth.points) == len(truth.label)
    assert truth.points.shape[1] <= truths.COMPONENTS
    if "-20-" in name:
        assert truth.n_classes == 20
        assert (truth.hierarchy.n_children[truth.hierarchy.n_children > 0] > 1).all()


def test_a_missing_set_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UMBEL_TEST_DATA", str(tmp_path))
    assert truths.loaded("emoji") is None
