"""The operations of an edition, as they are sent and kept."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

LONGEST_NAME = 1000
LONGEST_NOTE = 4000
MOST_NODES = 10_000
"""The most nodes that one operation lists."""


def _line(text: str) -> str:
    return _without_controls(text, "")


def _lines(text: str) -> str:
    return _without_controls(text, "\n\t")


def _without_controls(text: str, allowed: str) -> str:
    for place, character in enumerate(text):
        if unicodedata.category(character) in ("Cc", "Cs") and character not in allowed:
            raise PydanticCustomError(
                "text",
                "Character {place} is the control character or half pair U+{code}; text is {what}",
                {
                    "place": place,
                    "code": f"{ord(character):04X}",
                    "what": "lines without any but tabs" if allowed else "one line without any",
                },
            )
    if not text.strip():
        raise PydanticCustomError("text", "The text is blank; null takes it away")
    return text


Node = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1, description="A node's id.")]
NodeName = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_line)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE), AfterValidator(_lines)]
Colour = Annotated[str, Field(pattern=r"^#[0-9a-fA-F]{6}$"), AfterValidator(str.lower)]


class _Op(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rename(_Op):
    """Give a node a name."""

    op: Literal["rename"]
    node: Node
    name: NodeName | None = Field(description="One line; null: the name that the tree gives it.")


class Annotate(_Op):
    """Write a note at a node."""

    op: Literal["note"]
    node: Node
    text: Note | None = Field(description="Any lines of text; null: no note.")


class Paint(_Op):
    """Colour a node and all that lies below it, up to nodes with colours of their own."""

    op: Literal["colour"]
    node: Node
    colour: Colour | None = Field(
        description="`#rrggbb`; null: the node inherits its colour.", examples=["#d55e00"]
    )


class Reorder(_Op):
    """Put the children of a node into another order."""

    op: Literal["reorder"]
    node: Node
    children: list[Node] = Field(
        min_length=1, max_length=MOST_NODES, description="All its children, from left to right."
    )


class Collapse(_Op):
    """Show an inner node folded, with what is below it hidden."""

    op: Literal["collapse"]
    node: Node


class Expand(_Op):
    """Show a collapsed node open again."""

    op: Literal["expand"]
    node: Node


class Merge(_Op):
    """Put siblings under one new inner node, where the first of them stood."""

    op: Literal["merge"]
    nodes: list[Node] = Field(
        min_length=2, max_length=MOST_NODES, description="Some, but not all, children of one node."
    )
    name: NodeName | None = Field(None, description="The name of the new node.")


class Dissolve(_Op):
    """Take an inner node out; its children take its place."""

    op: Literal["dissolve"]
    node: Node


Operation = Annotated[
    Rename | Annotate | Paint | Reorder | Collapse | Expand | Merge | Dissolve,
    Field(discriminator="op"),
]
