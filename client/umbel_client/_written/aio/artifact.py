"""What the service keeps of work on a tree: read in its forms, saved, described and removed.

For asyncio. Written by `make client` from `umbel_client.artifact`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from umbel_client import shapes
from umbel_client.core import trees, uploads
from umbel_client.core.changes import KEPT, Kept, changed
from umbel_client.core.drivers import AsyncDriver


class AsyncArtifact:
    """The base of calibrations, comparisons, drifts, heatmaps, maps, namings and attachments.

    Every call raises ProblemError for a refusal, ConnectionFailed, and UnexpectedResponse.

    body : as the service describes it.
    """

    _collection: ClassVar[str]
    """Its kind in addresses."""
    _part: ClassVar[str] = ""
    """What `save` writes unless another part is named; "": the thing itself."""

    def __init__(self, driver: AsyncDriver, body: Mapping[str, Any]) -> None:
        self._driver = driver
        self.body = dict(body)

    @property
    def id(self) -> str:
        """Its id, whose first letters say what it is."""
        return str(self.body["id"])

    @property
    def name(self) -> str | None:
        """Its name."""
        name: str | None = self.body.get("name")
        return name

    @property
    def description(self) -> str | None:
        """What users say of it."""
        description: str | None = self.body.get("description")
        return description

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags."""
        return tuple(self.body.get("tags") or ())

    @property
    def status(self) -> str:
        """When it was read: `queued`, `running`, `succeeded`, `failed`, ...."""
        return str(self.body["status"])

    async def content(self, form: str, **query: Any) -> bytes:
        """Any form as the service gives it, by the ending of its address:
        `content(".svg", px=800)`, `content("/nodes.csv")`.
        """
        path = f"/v1/{self._collection}/{self.id}{form}"
        return await self._driver.run(trees.raw(path, query))

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
        own = f"/v1/{self._collection}/{self.id}{form}"
        shapes.written(await self._driver.run(trees.raw(own, query)), Path(path))

    async def update(
        self,
        *,
        name: str | Literal[Kept.KEPT] | None = KEPT,
        description: str | Literal[Kept.KEPT] | None = KEPT,
        tags: Sequence[str] | Literal[Kept.KEPT] | None = KEPT,
    ) -> None:
        """Change name, description or tags, which are those of its job; what is left out stays,
        None removes.

        tags : all of them, in place of the earlier ones.
        """
        body = await self._driver.run(
            changed(f"/v1/jobs/{self.body['job']}", name, description, tags)
        )
        self.body |= {field: body[field] for field in ("name", "description", "tags")}

    async def delete(self) -> None:
        """Remove it from the service; the tree stays."""
        await self._driver.run(uploads.removed(f"/v1/{self._collection}/{self.id}"))
