"""Name, description and tags of what is kept, over the wire."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from app.http.late import LateModel
from workers.model import Annotation

LONGEST_NAME = 1000
LONGEST_DESCRIPTION = 10_000
LONGEST_IN_ADDRESS = 2000
"""The longest description in a query, where a character may take 12 of the headers' 64 KiB."""
LONGEST_TAG = 100
MOST_TAGS = 50


def _plain(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise PydanticCustomError(
            "tag", "A tag is printable text without spaces at its beginning and end"
        )
    return text


def _distinct(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


Tag = Annotated[str, Field(min_length=1, max_length=LONGEST_TAG), AfterValidator(_plain)]

EXAMPLE: dict[str, Any] = {"name": "flowers, final", "tags": ["thesis", "final"]}

Description = Annotated[str | None, Field(description="Any text, never interpreted.")]
Tags = Annotated[list[str], Field(description="In the order in which they were given.")]


NewDescription = Annotated[
    Annotated[str, Field(max_length=LONGEST_DESCRIPTION)] | None,
    Field(description="Any text, never interpreted."),
]
NewTags = Annotated[
    list[Tag],
    AfterValidator(_distinct),
    Field(max_length=MOST_TAGS, description="For filters of lists; doubled ones count once."),
]
"""The description of something that is being made, beside its name."""

DescriptionQuery = Annotated[
    str | None,
    Query(max_length=LONGEST_IN_ADDRESS, description="Any text; `PATCH` takes longer ones."),
]
TagsQuery = Annotated[
    tuple[Tag, ...],
    Query(alias="tag", max_length=MOST_TAGS, description="A tag; several times: several."),
    AfterValidator(lambda tags: tuple(dict.fromkeys(tags))),
]
"""The same in the query of an upload."""


class Changes(LateModel):
    """A JSON merge patch (RFC 7396): a field that is left out stays, null removes it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [EXAMPLE]},
    )

    name: Annotated[str, Field(max_length=LONGEST_NAME)] | None = Field(
        None, description="Any text, never interpreted."
    )
    description: Annotated[str, Field(max_length=LONGEST_DESCRIPTION)] | None = Field(
        None, description="Any text, never interpreted."
    )
    tags: Annotated[list[Tag], Field(max_length=MOST_TAGS)] | None = Field(
        None, description="All tags, in place of the earlier ones; doubled ones count once."
    )

    def applied(self, before: Annotation) -> Annotation:
        """The annotations of a thing, with these changes."""
        changed: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "tags" in changed:
            changed["tags"] = tuple(_distinct(changed["tags"] or []))
        return before.model_copy(update=changed)
