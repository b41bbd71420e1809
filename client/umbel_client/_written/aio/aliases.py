"""Aliases: names such as `@champion` that are moved from one tree to the next.

For asyncio. Written by `make client` from `umbel_client.aliases`.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from umbel_client._written.aio.lists import AsyncLists
from umbel_client._written.aio.tree import AsyncTree
from umbel_client.core.messages import Request, json_of
from umbel_client.errors import InputError


class AsyncAliases(AsyncLists):
    """The part of `Umbel` that gives trees names."""

    async def aliases(self) -> list[dict[str, Any]]:
        """The aliases, by name, as the service describes them: `name`, `tree`, `moved_at`, `by`,
        `note`, `before`, `webhook`, `warnings`."""
        return await self._connection.listed("/v1/aliases")

    async def alias(self, name: str) -> dict[str, Any]:
        """An alias, with the `history` of its moves, newest first. Raises NotFound."""
        place = _alias(name)
        history = await self._connection.listed(f"{place}/history")
        return {**await self._connection.described(place, "name", "tree"), "history": history}

    async def set_alias(
        self,
        name: str,
        tree: AsyncTree | str,
        note: str | None = None,
        *,
        expected: str | None = None,
        webhook: str | None = None,
    ) -> dict[str, Any]:
        """Point an alias at a tree, or at that of another alias (`"@challenger"`). From then on
        `tree("@champion")`, `model("@champion")` and `job("@champion")` are this tree, its model
        and its job.

        note : why, kept with the move. expected : the tree that it must name now; raises InputError
        where it names another one. webhook : an address that hears of this move and of later ones
        (`history` of `alias` says where each stands); "" for none; None: as before.
        """
        headers = {"Content-Type": "application/json"}
        if expected is not None:
            reply = await self._connection.send(Request("GET", _alias(name)))
            named = json_of(reply, "tree")["tree"]
            if named != expected:
                raise InputError("expected", f"{name} names {named}, not {expected}.")
            headers["If-Match"] = reply.headers["etag"]
        body = {"tree": getattr(tree, "id", tree), "note": note}
        if webhook is not None:
            body["webhook"] = webhook or None
        request = Request("PUT", _alias(name), {}, headers, json.dumps(body).encode())
        return json_of(await self._connection.send(request), "name", "tree")

    async def roll_back(self, name: str, note: str | None = None) -> dict[str, Any]:
        """Point an alias at the tree that it named before. Raises Conflict where there is none."""
        return await self._connection.posted(f"{_alias(name)}/rollback", {"note": note}, "tree")

    async def remove_alias(self, name: str) -> None:
        """The alias names nothing any more; its tree stays."""
        await self._connection.remove(_alias(name))


def _alias(name: str) -> str:
    """The path of an alias, which may be written with its `@`."""
    return f"/v1/aliases/{quote(name.removeprefix('@'), safe='')}"
