"""Inputs of tools, and answers that fit into a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from umbel_client.commands.values import input_of

Value: TypeAlias = Annotated[
    str | list[Any],
    Field(description="A path (x.npz:member for one array of several), an id, or a list of values"),
]
Tree: TypeAlias = Annotated[str, Field(description="The id of a tree, tr_...")]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=1000, description="How many are listed at most")]
Labels: TypeAlias = Annotated[
    str | list[Any] | None,
    Field(description="The class of each row, by name or number: a path, an id, or a list"),
]
Wait: TypeAlias = Annotated[
    float | None, Field(gt=0, description="The most seconds to wait; the job goes on after them")
]


def given(role: str, value: str | list[Any]) -> Any:
    """An input of a role. Raises InputError."""
    return input_of(role, value) if isinstance(value, str) else value


def by_role(inputs: Mapping[str, str | list[Any]]) -> dict[str, Any]:
    """Inputs by role. Raises InputError."""
    return {role: given(role, value) for role, value in inputs.items()}


def shortened(name: str, items: Sequence[Any], limit: int) -> dict[str, Any]:
    """The first items under a name, and how many there are where these are not all."""
    listed = {name: list(items[:limit])}
    return listed if len(items) <= limit else {**listed, f"n_{name}": len(items)}
