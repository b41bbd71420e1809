"""A tree: what is known of it, its editions, its links, and its model.

For asyncio. Written by `make client` from `umbel_client.tree`.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from umbel_client import display
from umbel_client._written.aio.core.connection import AsyncConnection
from umbel_client._written.aio.core.waiting import job_of
from umbel_client._written.aio.edition import AsyncEdition
from umbel_client._written.aio.map import AsyncMap
from umbel_client._written.aio.model import AsyncModel
from umbel_client._written.aio.naming import AsyncNaming
from umbel_client._written.aio.tree_forms import AsyncTreeForms
from umbel_client._written.aio.tree_work import AsyncTreeWork
from umbel_client.core.facts import EditionState, TreeFacts, tree_of
from umbel_client.core.fields import KEPT, Change, TagsChange, changes, expiry
from umbel_client.core.messages import CONTENT_TIMEOUT_S, given, json_of, post
from umbel_client.errors import InputError, UmbelError, UmbelWarning
from umbel_client.share import Share


class AsyncTree(AsyncTreeForms, AsyncTreeWork):
    """A hierarchy, or a partition as a tree of depth one, that the service keeps.

    In a notebook it is its picture. Every call that reads from the service raises ProblemError for
    a refusal, ConnectionFailed, and UnexpectedResponse; further exceptions are named at the call.

    facts : what is known of it without its nodes.
    """

    @classmethod
    async def _read(
        cls, connection: AsyncConnection, tree_id: str, job: Mapping[str, Any] | None = None
    ) -> Self:
        """job : the one that made it, if the caller has it."""
        path = f"/v1/trees/{tree_id}"
        root = await connection.described(
            f"{path}.json", "id", "method", query={"depth": 0}, timeout_s=CONTENT_TIMEOUT_S
        )
        view = await connection.described(
            f"{path}/view", "nodes", query={"max_nodes": 1}, timeout_s=CONTENT_TIMEOUT_S
        )
        if job is None and root["job"] is not None:
            try:
                job = await job_of(connection, str(root["job"]))
            except UmbelError:
                job = None  # The job was removed, the tree was not.
        return cls(connection, TreeFacts.of(root, view["nodes"][0], job or {}))

    @classmethod
    async def _of(cls, connection: AsyncConnection, job: Mapping[str, Any]) -> Self:
        """The tree that a job has made; UmbelWarning for each of the job's warnings."""
        return await cls._made(connection, tree_of(job), job)

    @classmethod
    async def _made(
        cls, connection: AsyncConnection, tree_id: str, job: Mapping[str, Any] | None = None
    ) -> Self:
        """A tree that was made just now; UmbelWarning for each of its warnings."""
        tree = await cls._read(connection, tree_id, job)
        for sentence in tree.warnings:
            warnings.warn(sentence, UmbelWarning, stacklevel=3)
        return tree

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return self.facts.n_leaves

    @property
    def n_points(self) -> int:
        """The number of rows under the root."""
        return self.facts.n_points

    @property
    def job(self) -> str | None:
        """The id of the job that made it; None for an imported tree."""
        return self.facts.job

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the job approximated or found unusual, or the reader of an imported tree left out or
        decided."""
        return self.facts.warnings

    @property
    def metrics(self) -> Mapping[str, float]:
        """What the method measured itself."""
        return self.facts.metrics or {}

    @property
    def url(self) -> str:
        """The address of the tree's page."""
        return f"{self._connection.settings.url}/#/trees/{self.id}"

    async def edit(
        self, name: str | None = None, *, source: AsyncEdition | str | None = None
    ) -> AsyncEdition:
        """A new edition of the tree, in which nodes are renamed, noted, coloured, reordered,
        collapsed, merged and dissolved; the tree stays unchanged. source : another edition of the
        tree to start from.
        """
        fields = given({"name": name, "from": source})
        reply = await self._connection.send(post(f"{self._path}/editions", fields))
        return AsyncEdition(self._connection, EditionState.of(reply))

    async def edition(self, edition_id: str) -> AsyncEdition:
        """An edition by its id."""
        return await AsyncEdition._read(self._connection, edition_id)

    async def editions(self) -> list[dict[str, Any]]:
        """The editions of the tree, the newest first, as the service describes them."""
        return await self._connection.listed(f"{self._path}/editions")

    async def share(
        self,
        *,
        days: float = 7,
        edition: AsyncEdition | str | None = None,
        names: AsyncNaming | str | None = None,
        map: AsyncMap | str | None = None,
        rows: bool = False,
        embed: bool = False,
        name: str | None = None,
        title: str | None = None,
        note: str | None = None,
        view: str | None = None,
    ) -> Share:
        """A link that shows the tree, and nothing else, to whoever has it; `url` is its address.

        days : until it ends, 366 at most. edition, names, map : what it shows the tree with. rows :
        whether it tells which rows lie under a node. embed : whether other pages may frame it.
        name : whom it is for; only its owner sees that. title, note : the heading of its page and
        a text below. view : where the page opens, as its address has it after the `?`:
        "cut=k:12&node=3".
        """
        fields = {
            "expires_at": expiry(datetime.now(UTC) + timedelta(days=days)),
            "edition": edition,
            "names": names,
            "map": map,
            "rows": rows,
            "embed": embed,
            "name": name,
            "title": title,
            "note": note,
            "view": view,
        }
        body = await self._connection.posted(f"{self._path}/shares", fields, "id", "token")
        return Share(body, self._connection.settings.url)

    async def shares(self) -> list[Share]:
        """The links that show the tree, the newest first, without their addresses."""
        bodies = await self._connection.listed(f"{self._path}/shares")
        return [Share(body, self._connection.settings.url) for body in bodies]

    async def revoke(self, share: Share | str) -> None:
        """End a link: its address shows nothing any more."""
        await self._connection.remove(f"/v1/shares/{getattr(share, 'id', share)}")

    async def model(self) -> AsyncModel:
        """The model that was fitted with the tree. Raises InputError where there is none."""
        if self.facts.model is None:
            raise InputError("model", f"the tree {self.id} has no model.")
        return await AsyncModel._read(self._connection, self.facts.model)

    async def update(
        self, *, name: Change = KEPT, description: Change = KEPT, tags: TagsChange = KEPT
    ) -> None:
        """Change name, description or tags of the tree; what is left out stays, None removes.

        tags : all of them, in place of the earlier ones.
        """
        reply = await self._connection.changed(self._path, changes(name, description, tags))
        body = json_of(reply, "id", "tags")
        self.facts = dataclasses.replace(
            self.facts,
            name=body["name"],
            description=body["description"],
            tags=tuple(body["tags"]),
        )

    async def delete(self) -> None:
        """Remove the tree and its model from the service; the job's record stays."""
        await self._connection.remove(self._path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {display.title(self.facts)}>"

    def _repr_svg_(self) -> str | None:
        try:
            return display.drawn(self._connection.settings, self.id)
        except UmbelError:
            return None

    def _repr_html_(self) -> str:
        svg, why = None, ""
        try:
            svg = display.drawn(self._connection.settings, self.id)
        except UmbelError as error:
            why = str(error)
        return display.tree_html(self.facts, self.url, svg, why)
