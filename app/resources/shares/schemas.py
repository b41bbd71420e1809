"""Bodies of shares: links that show a tree to whoever has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import ConfigDict, Field, field_validator

from app.creation.expiry import ExpiresAtField
from app.http.late import LateModel
from models.parameters import Exact
from workers.artifacts.shares import Share

DAYS = 7
MOST_DAYS = 366
VIEW = r"^[A-Za-z0-9_.,:%&=+~-]*$"
"""The characters of a query, of which none means anything in markup."""

_ID = "sh_01kamjx5w0n5zr4v8cqe2t7h3f01kamk2c5p8r1tz4hn6wd3gq7s"
_TREE = "tr_01kamjx5w0n5zr4v8cqe2t7h3f"
_EDITION = "ed_01kamjx5w0n5zr4v8cqe2t7h3f01kamjy7d2w3rk8m0vnq5c6t9e"
EXAMPLE: dict[str, Any] = {
    "id": _ID,
    "tree": _TREE,
    "name": "for the reviewers",
    "title": "Languages that are taken for each other",
    "note": "Look at the small cluster on the left.",
    "view": "cut=k:12&node=3",
    "edition": _EDITION,
    "names": None,
    "map": None,
    "rows": False,
    "embed": False,
    "by": "ada",
    "created_at": "2026-11-26T10:00:00.000000Z",
    "expires_at": "2026-12-03T10:00:00.000000Z",
}
MADE_EXAMPLE: dict[str, Any] = {
    **EXAMPLE,
    "token": f"umbel_share_{_ID[3:]}_Hq3v0Zk1m9yW2uT7pL5cX8aR4sD6fG0hJ1kN3bV5qE8",
    "page": f"/shared#umbel_share_{_ID[3:]}_Hq3v0Zk1m9yW2uT7pL5cX8aR4sD6fG0hJ1kN3bV5qE8",
}
SHARED_EXAMPLE: dict[str, Any] = {
    key: EXAMPLE[key]
    for key in (
        *("tree", "title", "note", "view", "edition", "names", "map", "rows", "embed"),
        "expires_at",
    )
}


class ShareRequest(Exact):
    """What a link shows, and until when."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"edition": _EDITION, "name": "for the reviewers"}]},
    )

    name: Annotated[str, Field(max_length=1000)] | None = Field(
        None, description="For its owner: whom it is for. Whoever has the link does not see it."
    )
    title: Annotated[str, Field(max_length=1000)] | None = Field(
        None, description="The heading of its page; null: the name of the tree."
    )
    note: Annotated[str, Field(max_length=10_000)] | None = Field(
        None, description="For whoever has the link: plain text below the heading."
    )
    view: Annotated[str, Field(max_length=4000, pattern=VIEW)] | None = Field(
        None,
        description="Where its page opens: what follows the `?` in the address of the page of the "
        "tree, such as its cut, its root and the node that is chosen. What the link does not open "
        "is left out.",
        examples=["cut=k:12&node=3"],
    )
    expires_at: ExpiresAtField = Field(
        None,
        description=f"When the link ends, as RFC 3339 with an offset, at most {MOST_DAYS} days "
        f"from now; null: in {DAYS} days.",
    )
    edition: str | None = Field(
        None,
        max_length=100,
        description="The edition of the tree that it shows, in its state at the time of a look; "
        "null: the tree itself.",
        examples=[_EDITION],
    )
    names: str | None = Field(
        None, max_length=100, description="The naming that it shows, questions too."
    )
    map: str | None = Field(None, max_length=100, description="A map of the tree to show with it.")
    rows: bool = Field(False, description="Whether it shows which rows lie under a node.")
    embed: bool = Field(
        False,
        description="Whether other pages may show it in a frame, where the operator lists their "
        "origins (UMBEL_FRAME_ANCESTORS).",
    )

    @field_validator("expires_at")
    @classmethod
    def _near(cls, text: str | None) -> str | None:
        if text is not None and datetime.fromisoformat(text) > _in_days(MOST_DAYS):
            raise ValueError(f"a link ends within {MOST_DAYS} days")
        return text

    def end(self) -> datetime:
        return (
            _in_days(DAYS) if self.expires_at is None else datetime.fromisoformat(self.expires_at)
        )


class SharedBody(LateModel):
    """What a link shows, for whoever has it."""

    model_config = ConfigDict(title="Shared", json_schema_extra={"examples": [SHARED_EXAMPLE]})

    tree: str
    title: str | None = Field(description="Null: the name of the tree.")
    note: str | None
    view: str | None = Field(description="Where its page opens, as a query.")
    edition: str | None = Field(description="Requests for the tree name it as `edition`.")
    names: str | None = Field(description="Requests for the tree name it as `names`.")
    map: str | None
    rows: bool
    embed: bool
    expires_at: str

    @classmethod
    def of(cls, share: Share) -> SharedBody:
        return cls(**_fields(share))


class ShareBody(SharedBody):
    """A link, without its token."""

    model_config = ConfigDict(title="Share", json_schema_extra={"examples": [EXAMPLE]})

    id: str
    name: str | None
    by: str | None = Field(
        description="What the key is called that made it, or its id; null for keys of the settings "
        "and without keys."
    )
    created_at: str

    @classmethod
    def of(cls, share: Share) -> ShareBody:
        return cls(**_fields(share), **_own_fields(share))


class NewShareBody(ShareBody):
    """A link as it was made."""

    model_config = ConfigDict(title="NewShare", json_schema_extra={"examples": [MADE_EXAMPLE]})

    token: str = Field(description="A secret, shown this once: whoever has it sees the tree.")
    page: str = Field(
        description="The address of the page that shows it, below that of the service. The token "
        "is in the fragment, which browsers send nowhere."
    )

    @classmethod
    def made(cls, share: Share, token: str) -> NewShareBody:
        page = f"/{'embed' if share.embed else 'shared'}#{token}"
        return cls(**_fields(share), **_own_fields(share), token=token, page=page)


def _fields(share: Share) -> dict[str, Any]:
    return {
        "tree": share.tree,
        "title": share.title,
        "note": share.note,
        "view": share.view,
        "edition": share.edition,
        "names": share.naming,
        "map": share.map,
        "rows": share.rows,
        "embed": share.embed,
        "expires_at": _rfc3339(share.expires_at),
    }


def _own_fields(share: Share) -> dict[str, Any]:
    return {
        "id": share.id,
        "name": share.name,
        "by": share.by,
        "created_at": _rfc3339(share.created_at),
    }


def _in_days(days: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
