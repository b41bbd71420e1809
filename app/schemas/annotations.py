"""Name, description and tags of what is kept, over the wire."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from workers.artifacts.annotations import Annotation

LONGEST_NAME = 1000
LONGEST_TAG = 100
MOST_TAGS = 50


def _plain(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise PydanticCustomError(
            "tag", "A tag is printable text without spaces at its beginning and end"
        )
    return text


Tag = Annotated[str, Field(min_length=1, max_length=LONGEST_TAG), AfterValidator(_plain)]
NameFilter = Annotated[
    str | None,
    Query(max_length=LONGEST_NAME, description="Only those with exactly this name."),
]
TagFilter = Annotated[
    tuple[Tag, ...],
    Query(
        alias="tag",
        max_length=MOST_TAGS,
        description="Only those with this tag; several times: with all of the tags.",
    ),
]
"""Filters of lists. The name is looked for in a bounded number of entries for each page, so that a
page may have fewer items than `limit`, even none, and a `next_cursor`."""

EXAMPLE: dict[str, Any] = {"name": "flowers, final", "tags": ["thesis", "final"]}

Description = Annotated[str | None, Field(description="Any text; stored, never interpreted.")]
Tags = Annotated[list[str], Field(description="In the order in which they were given.")]


class Changes(BaseModel):
    """A JSON merge patch (RFC 7396): a field that is left out stays, null removes it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [EXAMPLE]},
    )

    name: Annotated[str, Field(max_length=LONGEST_NAME)] | None = Field(
        None, description="Any text; stored, never interpreted."
    )
    description: Annotated[str, Field(max_length=10_000)] | None = Field(
        None, description="Any text; stored, never interpreted."
    )
    tags: Annotated[list[Tag], Field(max_length=MOST_TAGS)] | None = Field(
        None, description="All tags, in place of the earlier ones; doubled ones count once."
    )

    def applied(self, before: Annotation) -> Annotation:
        """The annotations of a thing, with these changes."""
        changed: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "tags" in changed:
            changed["tags"] = tuple(dict.fromkeys(changed["tags"] or ()))
        return before.model_copy(update=changed)
