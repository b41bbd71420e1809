"""What the service keeps: read in its forms, described and removed.

For asyncio. Written by `make client` from `umbel_client.held`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client.core.fields import KEPT, Change, TagsChange, changes
from umbel_client.core.messages import json_of


class AsyncHeld:
    """The base of datasets, jobs, models, and of what is made of trees.

    Every call raises ProblemError for a refusal, ConnectionFailed, and UnexpectedResponse.

    body : as the service last described it.
    """

    _collection: ClassVar[str]
    """Its kind in addresses."""
    _needed: ClassVar[tuple[str, ...]] = ("id", "status")
    """What the service says of each."""
    _form: ClassVar[str] = ".json"
    """What `content` gives unless another form is named."""

    def __init__(self, connection: AsyncConnection, body: Mapping[str, Any]) -> None:
        self._connection = connection
        self.body = dict(body)

    @classmethod
    async def _read(cls, connection: AsyncConnection, held_id: str) -> Self:
        path = f"/v1/{cls._collection}/{held_id}"
        return cls(connection, await connection.described(path, *cls._needed))

    @property
    def id(self) -> str:
        """Its id, whose first letters say what it is; an input wherever such a thing is one."""
        return str(self.body["id"])

    @property
    def name(self) -> str | None:
        """Its name."""
        name: str | None = self.body.get("name")
        return name

    @property
    def description(self) -> str | None:
        """Its description."""
        description: str | None = self.body.get("description")
        return description

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags."""
        return tuple(self.body.get("tags") or ())

    @property
    def _path(self) -> str:
        return f"/v1/{self._collection}/{self.id}"

    @property
    def _described_at(self) -> str:
        """The address under which its name, description and tags are changed."""
        return self._path

    async def content(self, form: str | None = None, **query: Any) -> bytes:
        """Any form as the service gives it, by the ending of its address:
        `content(".svg", px=800)`, `content("/nodes.csv")`; by default all that there is.
        """
        return await self._connection.raw(f"{self._path}{form or self._form}", query)

    async def update(
        self, *, name: Change = KEPT, description: Change = KEPT, tags: TagsChange = KEPT
    ) -> None:
        """Change name, description or tags; what is left out stays, None removes.

        tags : all of them, in place of the earlier ones.
        """
        fields = changes(name, description, tags)
        body = json_of(await self._connection.changed(self._described_at, fields), "id", "tags")
        if body["id"] == self.id:
            self.body = body
        self.body |= {field: body[field] for field in ("name", "description", "tags")}

    async def delete(self) -> None:
        """Remove it from the service; a tree that it is of stays."""
        await self._connection.remove(self._path)
