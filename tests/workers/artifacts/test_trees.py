"""Trees that jobs published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.tree.tree import Tree
from tests.workers.jobs_kit import end, request
from workers.artifacts import results, trees
from workers.assembly import Assembly
from workers.model import Request, sibling


#      0
#     / \
#    1   2      points: two in node 1, one in node 2
def small() -> Tree:
    return Tree(
        parent=np.array([-1, 0, 0], np.int32),
        height=np.array([2.0, 0.0, 0.0]),
        size=np.array([3, 2, 1]),
        name=np.array([None, "a", "b"], object),
        leaf_of_point=np.array([1, 1, 2], np.int32),
    ).validate()


def make(assembly: Assembly, folder: Path, **changed: Any) -> Request:
    job = request(**changed)
    assembly.ledger.submit(job)
    claim = assembly.ledger.claim(job.id, "w")
    assert claim is not None
    own = folder / job.id
    own.mkdir()
    results.save_tree(small(), own)
    (own / "model.safetensors").write_text("{}")
    assert assembly.ledger.finish(claim, end(claim), own)
    return job


def test_load(assembly: Assembly, tmp_path: Path) -> None:
    job = make(assembly, tmp_path)
    tree_id = sibling(job.id, "tr")
    loaded = assembly.trees.load("ada", tree_id)
    assert loaded is not None
    expected = small()
    for column in ("parent", "height", "size", "name", "leaf_of_point"):
        assert np.array_equal(getattr(loaded, column), getattr(expected, column))
    assert assembly.trees.load("ada", tree_id) is loaded
    assert assembly.trees.load("bob", tree_id) is None
    assert assembly.trees.load("ada", "tr_nothing") is None


def test_loaded_trees_are_bounded(
    assembly: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "KEPT_NODES", 12)
    ids = [sibling(make(assembly, tmp_path).id, "tr") for _ in range(3)]
    first, second, third = (assembly.trees.load("ada", tree_id) for tree_id in ids)
    assert assembly.trees.load("ada", ids[2]) is third
    assert assembly.trees.load("ada", ids[1]) is second
    assert assembly.trees.load("ada", ids[0]) is not first


def test_records_and_files(assembly: Assembly, tmp_path: Path) -> None:
    fitted, imported = make(assembly, tmp_path), make(assembly, tmp_path, kind="import")
    last = make(assembly, tmp_path)
    page, cursor = assembly.trees.page("ada", limit=2)
    assert [record.id for record in page] == [sibling(job.id, "tr") for job in (last, imported)]
    page, cursor = assembly.trees.page("ada", limit=2, cursor=cursor)
    assert [record.job for record in page] == [fitted.id]
    assert cursor is None
    record = assembly.trees.record("ada", sibling(imported.id, "tr"))
    assert record is not None
    assert record.job is None
    assert len(record.etag) == 32
    path = assembly.trees.file("ada", sibling(fitted.id, "tr"), "model.safetensors")
    assert path is not None
    assert path.read_text() == "{}"
    assert assembly.trees.file("ada", sibling(fitted.id, "tr"), "request.json") is None
    assert assembly.trees.file("ada", sibling(fitted.id, "tr"), "../../../secret") is None
    assert assembly.trees.file("bob", sibling(fitted.id, "tr"), "model.safetensors") is None


def test_delete(assembly: Assembly, tmp_path: Path) -> None:
    fitted, imported = make(assembly, tmp_path), make(assembly, tmp_path, kind="import")
    for published in (fitted, imported):
        tree_id = sibling(published.id, "tr")
        assert assembly.trees.load("ada", tree_id) is not None
        assert not assembly.trees.delete("bob", tree_id)
        assert assembly.trees.delete("ada", tree_id)
        assert not assembly.trees.delete("ada", tree_id)
        assert assembly.trees.load("ada", tree_id) is None
        assert assembly.trees.file("ada", tree_id, results.TREE) is None
    job = assembly.ledger.get("ada", fitted.id)
    assert job is not None
    assert job.status == "succeeded"
    assert assembly.ledger.get("ada", imported.id) is None
    assert assembly.trees.page("ada") == ([], None)
    assembly.redis.flushall()
    assert assembly.trees.page("ada") == ([], None)
    remaining = set(assembly.blobs.keys(""))
    assert remaining == {
        f"jobs/ada/{fitted.id}/{name}"
        for name in ("request.json", "end.json", "removed/tree.arrow")
    }
