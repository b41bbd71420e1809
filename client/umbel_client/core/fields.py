"""What every request for work may have, and what may be changed later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, TypedDict

from umbel_client.errors import InputError

Expiry: TypeAlias = datetime | str | None
"""A time with its offset, as a datetime or in RFC 3339; None: the thing stays."""


class Retrying(TypedDict, total=False):
    """How work is tried again; what is left out is as the service does. attempts : the most.
    backoff : seconds before the second, doubled for each that follows. retry_on : the reasons, such
    as `worker-lost`; none: it is not tried again."""

    attempts: int | None
    backoff: float | None
    retry_on: Sequence[str] | None


class Kept(Enum):
    """What stays unchanged, since None removes."""

    KEPT = "kept"


KEPT: Final = Kept.KEPT
Change: TypeAlias = str | Literal[Kept.KEPT] | None
TagsChange: TypeAlias = Sequence[str] | Literal[Kept.KEPT] | None


def new_work(
    name: str | None,
    description: str | None,
    tags: Sequence[str],
    webhook: str | None,
    expires_at: Expiry,
    retrying: Retrying | None,
) -> dict[str, Any]:
    """The fields of a request for work that say what it is, who hears of it and how it is tried
    again; None: left out.

    Raises InputError as `expiry`.
    """
    return {
        "name": name,
        "description": description,
        "tags": tags_of(tags) or None,
        "webhook": webhook,
        "expires_at": expiry(expires_at),
        **(retrying or {}),
    }


def in_query(work: Mapping[str, Any]) -> dict[str, Any]:
    """The same as a query has it, where the body is a file."""
    return {"tag" if name == "tags" else name: value for name, value in work.items()}


def expiry(when: Expiry) -> str | None:
    """The time as the service takes it. Raises InputError for a datetime without its offset."""
    if not isinstance(when, datetime):
        return when
    if when.utcoffset() is None:
        raise InputError(
            "expires_at", f"{when.isoformat()} has no offset; give one, such as datetime.UTC."
        )
    return when.astimezone(UTC).isoformat()


class Filters(TypedDict, total=False):
    """What the things of a list have: this name, all of the tags, and each of the words in their
    name, description, tags, id or method, in any case. sort : `newest`, which it is by default, or
    `oldest`. limit : the first so many; 50."""

    name: str | None
    tags: Sequence[str]
    words: str | None
    sort: str
    limit: int


class WorkFilters(Filters, total=False):
    """As `Filters`. status : `queued`, `running`, `succeeded`, `failed` or `cancelled`."""

    status: str | None


class JobFilters(WorkFilters, total=False):
    """As `WorkFilters`. method : its id. reason : the type of the problem of those that failed.
    kind : `fit`, `predict`, .... tree : only what was made for this tree."""

    method: str | None
    reason: str | None
    kind: str | None
    tree: str | None


class TreeFilters(WorkFilters, total=False):
    """As `WorkFilters`; name and tags are the jobs'. tree : only what was made for this tree."""

    tree: str | None


class MethodFilters(Filters, total=False):
    """As `Filters`. method : the id of the one that made them; `consensus` and `import` too."""

    method: str | None


class DatasetFilters(Filters, total=False):
    """As `Filters`. role : what they are to be."""

    role: str | None


def query_of(filters: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The query of a list, and the most of its things; the service refuses a filter that there is
    none of."""
    query = dict(filters)
    limit: int = query.pop("limit", 50)
    tags, words = query.pop("tags", ()), query.pop("words", None)
    return {**query, "tag": tags_of(tags), "q": words}, limit


def changes(name: Change, description: Change, tags: TagsChange) -> dict[str, Any]:
    """What is to change; None removes."""
    listed = [tags] if isinstance(tags, str) else tags
    fields = {"name": name, "description": description, "tags": listed}
    return {field: value for field, value in fields.items() if value is not KEPT}


def tags_of(tags: Sequence[str]) -> list[str]:
    """Tags as a list; a single text is one tag."""
    return [tags] if isinstance(tags, str) else list(tags)
