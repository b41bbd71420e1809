"""What a user says of a tree's nodes and rows, over the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, FailFast, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from app.creation.fields import Name
from app.http.late import LateModel
from app.http.paging import Page

_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

Number = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]


class Points(LateModel):
    """Rows in place of a node."""

    model_config = _STRICT

    rows: Annotated[list[Number], FailFast()] = Field(
        min_length=1, description="Row numbers, counted from 0."
    )


Part = Annotated[Number | Points, Field(description="A node's id, for the rows under it, or rows.")]


class Statement(LateModel):
    """One statement: exactly one of `known`, `together` and `apart`."""

    model_config = ConfigDict(**_STRICT, title="Statement")

    known: Part | None = Field(None, description="'This is a cluster I know', with its `name`.")
    together: list[Part] | None = Field(
        None, min_length=1, max_length=100, description="'These are one cluster.'"
    )
    apart: list[Part] | None = Field(
        None,
        min_length=2,
        max_length=20,
        description="'These do not belong together': each is a separate cluster.",
    )
    name: str | None = Field(
        None, max_length=1000, description="The cluster's name; one name is one cluster."
    )

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def parts(self) -> list[int | Points]:
        value: Any = getattr(self, self.kind)
        return value if isinstance(value, list) else [value]

    @model_validator(mode="after")
    def _is_one(self) -> Statement:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        why = None
        if len(given) != 1:
            why = "A statement has exactly one of 'known', 'together' and 'apart'"
        elif self.name is not None and not self.name.strip():
            why = "A name must not be blank"
        elif given == ["known"] and self.name is None:
            why = "A known cluster has a 'name'"
        elif given == ["apart"] and self.name is not None:
            why = "Clusters that are apart take no 'name'; name each by a statement 'known'"
        if why is not None:
            raise PydanticCustomError("statement", "{why}", {"why": why})
        return self


StatementKind = Literal["known", "together", "apart"]
KINDS: tuple[str, ...] = get_args(StatementKind)

_EXAMPLE: list[JsonValue] = [
    {"known": 17, "name": "cats"},
    {"together": [3, 5]},
    {"apart": [4, {"rows": [9, 12]}]},
]


class StatementsRequest(LateModel):
    """Statements about a tree, which become labels of its rows."""

    model_config = ConfigDict(**_STRICT, json_schema_extra={"examples": [{"statements": _EXAMPLE}]})

    statements: list[Statement] = Field(min_length=1, max_length=500)
    name: Name = Field(
        None, description="A name for the dataset; by default that of the tree and ', known'."
    )


class StatementsBody(LateModel):
    """The statements that labels were made from, as they are stored."""

    tree: str
    statements: list[Statement]


class StatementsPage(Page[Statement]):
    """A page of the statements that labels were made from."""

    model_config = ConfigDict(
        title="Statements",
        json_schema_extra={
            "examples": [
                {
                    "tree": "tr_" + "0" * 26,
                    "items": _EXAMPLE,
                    "next_cursor": None,
                    "count": None,
                }
            ]
        },
    )

    tree: str = Field(description="The tree that they are about; it may have been removed since.")


class ContradictionBody(LateModel):
    """Statements that cannot all be so."""

    model_config = ConfigDict(title="Contradiction")

    statements: list[int] = Field(description="Their places in the request, from 0.")
    detail: str
    n_rows: int = Field(description="The number of rows that lead from one to the next.")
    rows: list[int] = Field(description="The first of these rows.")
