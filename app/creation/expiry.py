"""When a dataset or a job may be removed, over the wire."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

_LONGEST = 40
_DESCRIPTION = (
    "When it is removed, as RFC 3339 with an offset; not while anything that is kept needs it. "
    "Null: it stays until it is deleted, or as long as the service keeps such things."
)
_WRONG = "Input should be a time in the future with its offset, such as 2027-01-31T00:00:00Z"


def _text(value: object) -> object:
    if value is not None and not isinstance(value, str):
        raise PydanticCustomError("expires_at", _WRONG)
    return value


def _future(text: str | None) -> str | None:
    """The time in UTC with microseconds."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text) if len(text) <= _LONGEST else None
        moment = None if moment is None or moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None or moment <= datetime.now(UTC):
        raise PydanticCustomError("expires_at", _WRONG)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_SCHEMA = WithJsonSchema(
    {"anyOf": [{"type": "string", "format": "date-time", "maxLength": _LONGEST}, {"type": "null"}]}
)
_CHECKED = Annotated[str | None, BeforeValidator(_text), AfterValidator(_future), _SCHEMA]

EXAMPLE = "2099-01-31T00:00:00Z"
ExpiresAt = Annotated[_CHECKED, Query(description=_DESCRIPTION, examples=[EXAMPLE])]
ExpiresAtField = Annotated[_CHECKED, Field(description=_DESCRIPTION, examples=[EXAMPLE])]
