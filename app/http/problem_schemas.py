"""A problem as it goes over the wire (RFC 9457)."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from app.http.late import LateModel

PROBLEM = {"$ref": "#/components/schemas/Problem"}
"""The schema of a problem in the document, which `app.http.problems` puts there."""


class FieldError(LateModel):
    """What is wrong with one part of the request: `pointer`, `parameter` or `header` says which;
    none of them is there for the query as a whole."""

    detail: str = Field(description="What is wrong and what is accepted.")
    pointer: str | None = Field(
        None,
        description="The part of the body, as a JSON pointer (RFC 6901); empty for the whole.",
        examples=["/params/aggregation"],
    )
    parameter: str | None = Field(None, description="The parameter of the query.")
    header: str | None = Field(None, description="The header.")


class ProblemBody(LateModel):
    """`application/problem+json`; kinds of problem may add members of their own."""

    model_config = ConfigDict(extra="allow", title="Problem")

    type: str = Field(description="A stable path that names the kind of problem.")
    title: str = Field(description="The kind in words; the same for all problems of a kind.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong, where, and what is accepted.")
    errors: list[FieldError] | None = Field(None, description="One entry for each wrong field.")
    request_id: str | None = Field(
        None, description="The id to quote when you ask about the problem."
    )
