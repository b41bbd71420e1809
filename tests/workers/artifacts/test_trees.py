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
    asked = request(**changed)
    assembly.ledger.submit(asked)
    claim = assembly.ledger.claim(asked.id, "w")
    assert claim is not None
    own = folder / asked.id
    own.mkdir()
    results.save_tree(small(), own)
    (own / "model.safetensors").write_text("{}")
    assert assembly.ledger.finish(claim, end(claim), own)
    return asked


def test_load(assembly: Assembly, tmp_path: Path) -> None:
    asked = make(assembly, tmp_path)
    tree_id = sibling(asked.id, "tr")
    loaded = assembly.trees.load("ada", tree_id)
    assert loaded is not None
    wanted = small()
    for column in ("parent", "height", "size", "name", "leaf_of_point"):
        assert np.array_equal(getattr(loaded, column), getattr(wanted, column))
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
    other = make(assembly, tmp_path)
    found, cursor = assembly.trees.page("ada", limit=2)
    assert [record.id for record in found] == [
        sibling(asked.id, "tr") for asked in (other, imported)
    ]
    found, cursor = assembly.trees.page("ada", limit=2, cursor=cursor)
    assert [record.job for record in found] == [fitted.id]
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
    for asked in (fitted, imported):
        tree_id = sibling(asked.id, "tr")
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
    left = set(assembly.blobs.keys(""))
    assert left == {f"jobs/ada/{fitted.id}/{name}" for name in ("request.json", "end.json")}
