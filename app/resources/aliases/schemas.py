"""Bodies of aliases."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.creation.annotation_schemas import LONGEST_NAME
from app.creation.fields import WebhookAddress
from app.creation.job_schemas import WebhookBody
from app.http.late import LateModel
from workers.artifacts.aliases import Alias, Move
from workers.model import Webhook

_TREE = "tr_01kamjx5w0n5zr4v8cqe2t7h3f"
EXAMPLE: dict[str, Any] = {
    "name": "champion",
    "tree": _TREE,
    "job": "job_01kamjx5w0n5zr4v8cqe2t7h3f",
    "revision": 4,
    "moved_at": "2026-11-26T10:04:12.000000Z",
    "by": "ada",
    "note": "drift of the old one: p < .01",
    "before": "tr_01kaq3v0q8f2x7m5n9c4r6t1zd",
    "webhook": "https://example.org/hooks/umbel",
    "warnings": [],
}
MOVE_EXAMPLE: dict[str, Any] = {
    "number": 4,
    "at": "2026-11-26T10:04:12.000000Z",
    "tree": _TREE,
    "by": "ada",
    "note": "drift of the old one: p < .01",
    "restores": None,
    "webhook": {
        "url": "https://example.org/hooks/umbel",
        "status": "delivered",
        "attempts": 1,
        "next_at": None,
        "reason": None,
    },
}


class AliasRequest(LateModel):
    """Where an alias is to point."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"tree": _TREE, "note": "best on the held-out rows"}]},
    )

    tree: str = Field(
        max_length=100,
        description="A tree, or `@` and another alias, whose tree it names from now on.",
        examples=[_TREE],
    )
    note: str | None = Field(
        None, max_length=LONGEST_NAME, description="Why; kept with the move, never interpreted."
    )
    webhook: WebhookAddress | None = Field(
        None,
        description="An address, as a job's, that receives a signed POST at this move of the alias "
        "and at every later one, steps back and its removal included (the webhook `alias_moved`: "
        "its `type`, as `alias.rolled_back`, its `timestamp`, and the move as `data`); null: none; "
        "left out: as before.",
        examples=["https://example.org/hooks/umbel"],
    )


class RollbackRequest(LateModel):
    """A step back."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"note": "too many unsure answers"}]}
    )

    note: str | None = Field(
        None, max_length=LONGEST_NAME, description="Why; kept with the move, never interpreted."
    )


class AliasBody(LateModel):
    """An alias: in paths, queries and bodies `@champion` stands for the id of its tree, of the
    tree's model and of its job."""

    model_config = ConfigDict(title="Alias", json_schema_extra={"examples": [EXAMPLE]})

    name: str
    tree: str
    job: str | None = Field(description="The job that made the tree; null for an imported one.")
    revision: int = Field(description="Grows by one with each move.")
    moved_at: str
    by: str | None = Field(
        description="What the key is called that moved it, or its id; null for keys of the "
        "settings and without keys."
    )
    note: str | None
    before: str | None = Field(description="The tree that `rollback` gives back; null: none.")
    webhook: str | None = Field(description="The address that hears of its moves.")
    warnings: list[str] = Field(
        description="That the tree is gone, or goes once no alias names it."
    )

    @classmethod
    def of(cls, alias: Alias, *, job: str | None, warnings: list[str]) -> AliasBody:
        last, earlier = alias.moves[-1], alias.earlier
        return cls(
            name=alias.name,
            tree=str(alias.tree),
            job=job,
            revision=alias.revision,
            moved_at=last.at,
            by=last.by,
            note=last.note,
            before=None if earlier is None else earlier.tree,
            webhook=alias.webhook,
            warnings=warnings,
        )


class AliasMoveBody(LateModel):
    """One move of an alias."""

    model_config = ConfigDict(title="AliasMove", json_schema_extra={"examples": [MOVE_EXAMPLE]})

    number: int
    at: str
    tree: str | None = Field(description="That it named from then on; null: it was removed.")
    by: str | None
    note: str | None
    restores: int | None = Field(
        description="For a step back: the number of the move whose tree it gave back."
    )
    webhook: WebhookBody | None = Field(
        description="Where the webhook stands that hears of it; null: none does."
    )

    @classmethod
    def of(cls, move: Move, webhook: Webhook | None) -> AliasMoveBody:
        body = None if webhook is None else WebhookBody(**webhook.model_dump())
        return cls(**move.model_dump(exclude={"webhook"}), webhook=body)


class MovedAlias(LateModel):
    """A move as its webhook tells of it."""

    name: str
    number: int
    at: str
    tree: str | None = Field(description="That it named from then on; null: it was removed.")
    previous: str | None = Field(description="That it named until then; null: none.")
    by: str | None
    note: str | None
    restores: int | None


class AliasMoved(LateModel):
    """The body of a webhook's request."""

    type: Literal["alias.moved", "alias.rolled_back", "alias.removed"]
    timestamp: str = Field(description="When it was moved, as RFC 3339 in UTC.")
    data: MovedAlias = Field(description="The move; the same at every attempt.")
