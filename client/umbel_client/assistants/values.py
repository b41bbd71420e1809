"""Arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from umbel_client.commands.values import input_of
from umbel_client.errors import InputError
from umbel_client.quoting import listed, shown

MAX_INLINE = 1_000_000
"""Characters of JSON that a list of values may have; more belongs into a file."""

Value: TypeAlias = Annotated[
    str | list[Any],
    Field(
        description="A path (x.npz:member for one array of several), an id, or a list of values "
        "(at most 1 MB of JSON)"
    ),
]
Tree: TypeAlias = Annotated[
    str,
    Field(pattern=r"^(tr_|@)[\w.-]+$", description="The id of a tree, tr_..., or its alias, @..."),
]
Limit: TypeAlias = Annotated[int, Field(ge=1, le=1000, description="How many are listed at most")]
Labels: TypeAlias = Annotated[
    str | list[Any] | None,
    Field(description="The class of each row, by name or number: a path, an id, or a list"),
]
Clusters: TypeAlias = Annotated[
    int | None, Field(ge=1, description="Clusters that flat metrics look at")
]
Metrics: TypeAlias = Annotated[
    list[str] | None, Field(description="Such as nmi, ari, dendrogram_purity; none: all that fit")
]
Name: TypeAlias = Annotated[str | None, Field(description="What people find it by")]
Wait: TypeAlias = Annotated[
    float | None, Field(gt=0, description="The most seconds to wait; the job goes on after them")
]


def given(role: str, value: str | list[Any]) -> Any:
    """An input of a role. Raises InputError, also for a list that is too long for a message."""
    if isinstance(value, str):
        return input_of(role, value)
    if (length := len(json.dumps(value))) > MAX_INLINE:
        raise InputError(
            role,
            f"the list has {length:,} characters and {MAX_INLINE:,} are taken; "
            "write it to a file and give its path.",
        )
    return value


def by_role(
    inputs: Mapping[str, str | list[Any]],
    labels: str | list[Any] | None = None,
    *,
    taken: Collection[str] | None = None,
    other: Collection[str] = (),
) -> dict[str, Any]:
    """Inputs by role, with the labels that a tool takes as an argument.

    taken : the roles besides labels; None: any outside `other`, which has names of arguments.

    Raises InputError, also for labels among the inputs: all tools take them in one way.
    """
    for role in inputs:
        if role == "labels":
            raise InputError(role, "give them as the argument `labels`, not among the inputs.")
        if role in other or (taken is not None and role not in taken):
            accepted = "see `methods`" if taken is None else f"it takes {listed(list(taken))}"
            raise InputError(role, f"there is no input {shown(role)}; {accepted}.")
    named = {role: given(role, value) for role, value in inputs.items()}
    return named if labels is None else {**named, "labels": given("labels", labels)}
