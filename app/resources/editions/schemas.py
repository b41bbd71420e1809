"""Bodies of editions: what a person changes of a tree."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from app.creation.annotation_schemas import LONGEST_NAME
from app.http.late import LateModel
from models.editions.state import Operation
from workers.artifacts.editions import Change, Edition

MOST_OPERATIONS = 1000
"""In one request."""

_ID = "ed_01kamjx5w0n5zr4v8cqe2t7h3f01kamjy7d2w3rk8m0vnq5c6t9e"
EXAMPLE: dict[str, Any] = {
    "id": _ID,
    "tree": "tr_01kamjx5w0n5zr4v8cqe2t7h3f",
    "name": "for the paper",
    "revision": 3,
    "created_at": "2026-11-26T10:00:00.000000Z",
    "changed_at": "2026-11-26T10:04:12.000000Z",
    "n_operations": 2,
    "undo": True,
    "redo": False,
}
EDITED_EXAMPLE: dict[str, Any] = {**EXAMPLE, "new_nodes": [], "warnings": []}
CHANGE_EXAMPLE: dict[str, Any] = {
    "number": 2,
    "at": "2026-11-26T10:04:12.000000Z",
    "by": "ada",
    "kind": "edit",
    "operations": [{"op": "rename", "node": 2, "name": "flowers"}],
    "name": None,
    "holds": True,
}
REQUEST_EXAMPLE: dict[str, Any] = {
    "operations": [
        {"op": "rename", "node": 2, "name": "flowers"},
        {"op": "colour", "node": 2, "colour": "#009e73"},
    ]
}


class Undo(LateModel):
    """Take back the last edit that holds: all operations of one request."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["undo"]


class Redo(LateModel):
    """Repeat the edit that was taken back last, as long as nothing else was edited since."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["redo"]


class EditionRequest(LateModel):
    """A new edition of a tree."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "for the paper"}]}
    )

    name: Annotated[str, Field(max_length=LONGEST_NAME)] | None = Field(
        None, description="Any text, never interpreted."
    )
    source: str | None = Field(
        None,
        alias="from",
        max_length=100,
        description="An edition of the same tree to start from: what holds there now holds here.",
        examples=[_ID],
    )


class EditionChanges(LateModel):
    """A JSON merge patch (RFC 7396) of an edition."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "for the paper, final"}]}
    )

    name: Annotated[str, Field(max_length=LONGEST_NAME)] | None = Field(
        None, description="Any text, never interpreted."
    )


class OperationsRequest(LateModel):
    """One edit: operations that are applied all, or none."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [REQUEST_EXAMPLE]})

    operations: list[Annotated[Operation | Undo | Redo, Field(discriminator="op")]] = Field(
        min_length=1,
        max_length=MOST_OPERATIONS,
        description="In their order; `undo` and `redo` stand alone.",
    )


class EditionBody(LateModel):
    """An edition of a tree. Forms of the tree show it with `edition`."""

    model_config = ConfigDict(title="Edition", json_schema_extra={"examples": [EXAMPLE]})

    id: str
    tree: str
    name: str | None
    revision: int = Field(description="Grows by one with each change.")
    created_at: str
    changed_at: str
    n_operations: int = Field(description="The operations that hold.")
    undo: bool = Field(description="Whether there is an edit to undo.")
    redo: bool = Field(description="Whether there is an edit to repeat.")

    @classmethod
    def of(cls, edition: Edition) -> EditionBody:
        done, undone = edition.steps
        return cls(
            id=edition.id,
            tree=edition.tree,
            name=edition.name,
            revision=edition.revision,
            created_at=edition.changes[0].at,
            changed_at=edition.changes[-1].at,
            n_operations=len(edition.operations),
            undo=bool(done),
            redo=bool(undone),
        )


class EditedBody(EditionBody):
    """An edition after an edit."""

    model_config = ConfigDict(title="Edited", json_schema_extra={"examples": [EDITED_EXAMPLE]})

    new_nodes: list[int] = Field(description="The ids of the nodes that its merges made.")
    warnings: list[str] = Field(description="Names given to leaves that others have too.")


class ChangeBody(LateModel):
    """One change of an edition."""

    model_config = ConfigDict(
        title="EditionChange", json_schema_extra={"examples": [CHANGE_EXAMPLE]}
    )

    number: int
    at: str
    by: str | None = Field(
        description="What the key is called that made it, or its id; null for keys of the settings "
        "and without keys."
    )
    kind: Literal["create", "edit", "undo", "redo", "title"] = Field(
        description="`title` is a new name of the edition."
    )
    operations: list[Operation]
    name: str | None = Field(description="For `create` and `title`.")
    holds: bool = Field(description="Whether its operations are in the edition now.")

    @classmethod
    def of(cls, change: Change, holding: set[int]) -> ChangeBody:
        return cls(**change.model_dump(), holds=change.number in holding)
