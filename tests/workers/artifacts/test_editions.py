"""Editions: operations against nested nodes; changes in the store, by several writers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import TypeAdapter

from models.editions.edited import edited
from models.editions.state import Operation
from tests.models.editions.naive_kit import Nested, outline, outline_of
from tests.models.tree.strategies_kit import random_tree
from workers.artifacts.editions import TOGETHER, Change, Edition, Editions, id_beside
from workers.stores.objects.local import LocalBlobs

_OPERATION = TypeAdapter(Operation)
TREE = "tr_" + "0" * 26


def operation(op: str, **fields: Any) -> Operation:
    return _OPERATION.validate_python({"op": op, **fields})


class EditionMachine(RuleBasedStateMachine):
    """Any edits, undone and repeated in any order, give the tree that nested nodes give."""

    @initialize(tree=random_tree(max_leaves=9))
    def begin(self, tree: Any) -> None:
        self.tree = tree
        self.nested = Nested(tree)
        self.before: list[Nested] = []
        self.after: list[Nested] = []
        self.edition = Edition(
            "ed_x", "t", [Change(number=1, at="", by=None, kind="create", name=None)]
        )

    def add(self, **fields: Any) -> None:
        number = self.edition.revision + 1
        change = Change(number=number, at="", by=None, **fields)
        self.edition = Edition("ed_x", "t", [*self.edition.changes, change])

    def edit(self, *operations: Operation) -> Nested:
        """The nested nodes, to be changed in the same way."""
        self.add(kind="edit", operations=operations)
        self.before.append(self.nested.copy())
        self.after.clear()
        return self.nested

    @rule(data=st.data(), text=st.sampled_from([None, "a", "b\u00fc"]))
    def say(self, data: st.DataObject, text: str | None) -> None:
        ids = [node.id for node, _ in self.nested.all()]
        node, other = data.draw(st.sampled_from(ids)), data.draw(st.sampled_from(ids))
        colour = None if text is None else "#00ff0a"
        nested = self.edit(
            operation("rename", node=node, name=text),
            operation("note", node=other, text=text),
            operation("colour", node=node, colour=colour),
        )
        nested.rename(node, text)
        nested.find(other)[0].note = text
        nested.find(node)[0].colour = colour

    @rule(data=st.data())
    def reorder(self, data: st.DataObject) -> None:
        inner = [node for node, _ in self.nested.all() if node.children]
        if inner:
            node = data.draw(st.sampled_from(inner))
            order = data.draw(st.permutations([child.id for child in node.children]))
            self.edit(operation("reorder", node=node.id, children=order)).reorder(node.id, order)

    @rule(data=st.data(), opened=st.booleans())
    def fold(self, data: st.DataObject, opened: bool) -> None:
        inner = [node.id for node, parent in self.nested.all() if node.children and parent]
        if inner:
            node = data.draw(st.sampled_from(inner))
            nested = self.edit(operation("expand" if opened else "collapse", node=node))
            nested.find(node)[0].collapsed = not opened

    @rule(data=st.data(), name=st.sampled_from([None, "both"]))
    def merge(self, data: st.DataObject, name: str | None) -> None:
        wide = [node for node, _ in self.nested.all() if len(node.children) > 2]
        if wide:
            ids = [child.id for child in data.draw(st.sampled_from(wide)).children]
            some = data.draw(st.permutations(ids))[: data.draw(st.integers(2, len(ids) - 1))]
            self.edit(operation("merge", nodes=some, name=name)).merge(some, name)

    @rule(data=st.data())
    def dissolve(self, data: st.DataObject) -> None:
        inner = [node.id for node, parent in self.nested.all() if node.children and parent]
        if inner:
            node = data.draw(st.sampled_from(inner))
            self.edit(operation("dissolve", node=node)).dissolve(node)

    @precondition(lambda self: self.before)
    @rule()
    def undo(self) -> None:
        self.add(kind="undo")
        self.after.append(self.nested)
        self.nested = self.before.pop()

    @precondition(lambda self: self.after)
    @rule()
    def redo(self) -> None:
        self.add(kind="redo")
        self.before.append(self.nested)
        self.nested = self.after.pop()

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "edition"):
            return
        done, undone = self.edition.steps
        assert (len(done), len(undone)) == (len(self.before), len(self.after))
        shown = edited(self.edition.state(self.tree))
        assert shown.tree.validate() is shown.tree
        assert outline(shown) == outline_of(self.nested)
        ids = [node.id for node, _ in self.nested.all()]
        assert [shown.id(shown.row(node)) for node in ids] == ids


def test_operations_undo_and_redo() -> None:
    run_state_machine_as_test(
        EditionMachine, settings=settings(max_examples=25, stateful_step_count=15, deadline=None)
    )


@pytest.fixture
def editions(tmp_path: Path) -> Editions:
    return Editions(LocalBlobs(tmp_path), lambda folder: None)


def rename(edition: Edition, name: str) -> Change:
    return Change(
        number=edition.revision + 1,
        at="2026-01-01T00:00:00.000000Z",
        by="ada",
        kind="edit",
        operations=(operation("rename", node=0, name=name),),
    )


def test_of_two_writers_one_is_refused(editions: Editions, tmp_path: Path) -> None:
    edition_id = id_beside(TREE, "ed")
    seen = editions.create("t", edition_id, by=None, name="mine")
    assert editions.change(seen, rename(seen, "first")) is not None
    assert editions.change(seen, rename(seen, "second")) is None
    # Another process reads the same.
    read = Editions(LocalBlobs(tmp_path), lambda folder: None).get("t", edition_id)
    assert read is not None
    assert (read.revision, read.name, read.tree) == (2, "mine", TREE)
    assert [each.model_dump()["name"] for each in read.operations] == ["first"]
    assert editions.get("other", edition_id) is None


def test_many_changes_are_read_together(editions: Editions, tmp_path: Path) -> None:
    edition_id = id_beside(TREE, "ed")
    edition = editions.create("t", edition_id, by=None, name=None)
    for number in range(TOGETHER + 3):
        changed = editions.change(edition, rename(edition, f"name {number}"))
        assert changed is not None
        edition = changed
    blobs = LocalBlobs(tmp_path)
    n_read, get = [0], blobs.get

    def counted(key: str) -> bytes:
        n_read[0] += 1
        return get(key)

    blobs.get = counted  # type: ignore[method-assign]
    read = Editions(blobs, lambda folder: None).get("t", edition_id)
    assert read is not None
    assert read.changes == edition.changes
    assert n_read[0] == 1 + 4
    # Without the copy, from the changes themselves.
    (copy,) = (key for key in blobs.keys(f"jobs/t/job_{'0' * 26}/") if "/to." in key)
    blobs.delete(copy)
    again = Editions(blobs, lambda folder: None).get("t", edition_id)
    assert again is not None
    assert again.changes == edition.changes


def test_removed_editions_stay_removed(editions: Editions) -> None:
    edition_id, other_id = id_beside(TREE, "ed"), id_beside(TREE, "ed")
    edition = editions.create("t", edition_id, by=None, name=None)
    editions.create("t", other_id, by=None, name=None)
    assert set(editions.of_tree("t", TREE)) == {edition_id, other_id}
    editions.delete("t", edition_id)
    assert editions.get("t", edition_id) is None
    # A writer that had read it before leaves nothing behind.
    assert editions.change(edition, rename(edition, "late")) is None
    assert editions.of_tree("t", TREE) == [other_id]
