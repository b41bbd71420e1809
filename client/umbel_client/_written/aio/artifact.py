"""What is made of a tree, and comparisons: work that is kept beside its job.

For asyncio. Written by `make client` from `umbel_client.artifact`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from umbel_client import shapes
from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client._written.aio.core.runs import done
from umbel_client._written.aio.held import AsyncHeld
from umbel_client.core.events import Waiting
from umbel_client.core.messages import Reply, json_of
from umbel_client.errors import UmbelWarning
from umbel_client.inputs import Inputs
from umbel_client.quoting import as_arguments


class AsyncArtifact(AsyncHeld):
    """The base of calibrations, comparisons, drifts, heatmaps, maps, namings and attachments.

    It shares its name, description and tags with its job.
    """

    _part: ClassVar[str] = ""
    """What `save` writes unless another part is named; "": the thing itself."""
    _lists: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Lists that are read with it once it has succeeded: by attribute the part of the address and
    the field that has them. They are empty until then, and where it was listed."""

    def __init__(self, connection: AsyncConnection, body: Mapping[str, Any]) -> None:
        super().__init__(connection, body)
        for name in self._lists:
            setattr(self, name, list(self.body.pop(name, ())))

    @classmethod
    async def _made(
        cls,
        connection: AsyncConnection,
        tree: str,
        inputs: Inputs,
        fields: Mapping[str, Any],
        waiting: Waiting,
    ) -> Self:
        """One of a tree; UmbelWarning for each of its warnings. Raises as
        `umbel_client.core.runs.done`.
        """
        path = f"/v1/trees/{tree}/{cls._collection}"
        answer = await done(connection, path, inputs, fields, waiting, warn=False)
        made = json_of(answer, "id") if isinstance(answer, Reply) else answer.accepted
        artifact = await cls._read(connection, str(made["id"]))
        for sentence in artifact.warnings:
            warnings.warn(sentence, UmbelWarning, stacklevel=2)
        return artifact

    @classmethod
    async def _read(cls, connection: AsyncConnection, held_id: str, *, whole: bool = True) -> Self:
        """whole : whether its lists and other parts are read, too."""
        path = f"/v1/{cls._collection}/{held_id}"
        body = await connection.described(path, *cls._needed)
        parts: Mapping[str, Any] = {}
        if whole and body["status"] == "succeeded":
            parts = await cls._parts(connection, path, body)
        return cls(connection, {**body, **parts})

    @classmethod
    async def _parts(
        cls, connection: AsyncConnection, path: str, body: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What is read with one that has succeeded. body : as the service describes it."""
        del body
        parts = {}
        for name, (part, field) in cls._lists.items():
            found = await connection.described(f"{path}/{part}", field)
            parts[name] = found[field]
        return parts

    @property
    def status(self) -> str:
        """When it was read: `queued`, `running`, `succeeded`, `failed`, ...."""
        return str(self.body["status"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing, approximated or not promised, and why."""
        return tuple(map(as_arguments, self.body.get("warnings") or ()))

    @property
    def _result(self) -> dict[str, Any]:
        """What is known of it; empty until it has succeeded."""
        return self.body.get("result") or {}

    @property
    def _described_at(self) -> str:
        return f"/v1/jobs/{self.body['job']}"

    async def save(
        self, path: str | os.PathLike[str], part: str | None = None, **query: Any
    ) -> None:
        """Write it to a file, in the form of its ending, such as .json, .csv, .svg, .png or .pdf.

        part : what of it, as the service's addresses name it (`save("nodes.csv", "nodes")`).
        query : how it is written: `save("figure.pdf", width_mm=85)`.

        Raises OSError; ProblemError or UnexpectedResponse for an ending that there is none of.
        """
        suffix = Path(path).suffix or ".json"
        form = f"/{part or self._part}{suffix}" if part or self._part else suffix
        content = await self._connection.raw(f"{self._path}{form}", query)
        shapes.written(content, Path(path))

    def __repr__(self) -> str:
        shown = self._in_words() if self._result else self.status
        return f"<{type(self).__name__} {self.id}: {shown}>"

    def _in_words(self) -> str:
        """What is shown of one that has succeeded."""
        return self.status
