"""What the service keeps: read in its forms, described and removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from umbel_client.core.connection import Connection
from umbel_client.core.fields import KEPT, Change, TagsChange, changes
from umbel_client.core.messages import json_of


class Held:
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

    def __init__(self, connection: Connection, body: Mapping[str, Any]) -> None:
        self._connection = connection
        self.body = dict(body)

    @classmethod
    def _read(cls, connection: Connection, held_id: str) -> Self:
        path = f"/v1/{cls._collection}/{held_id}"
        return cls(connection, connection.described(path, *cls._needed))

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

    def content(self, form: str | None = None, **query: Any) -> bytes:
        """Any form as the service gives it, by the ending of its address:
        `content(".svg", px=800)`, `content("/nodes.csv")`; by default all that there is.
        """
        return self._connection.raw(f"{self._path}{form or self._form}", query)

    def update(
        self, *, name: Change = KEPT, description: Change = KEPT, tags: TagsChange = KEPT
    ) -> None:
        """Change name, description or tags; what is left out stays, None removes.

        tags : all of them, in place of the earlier ones.
        """
        fields = changes(name, description, tags)
        body = json_of(self._connection.changed(self._described_at, fields), "id", "tags")
        if body["id"] == self.id:
            self.body = body
        self.body |= {field: body[field] for field in ("name", "description", "tags")}

    def delete(self) -> None:
        """Remove it from the service; a tree that it is of stays."""
        self._connection.remove(self._path)
