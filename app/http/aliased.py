"""Aliases in the place of ids: `@champion` in a path, a query or a body.

They become ids before a request is routed, so that no route need know of them, and whoever has a
limited key reaches through an alias what the key reaches by id. A request that reads sees one tree,
though the alias moves while it is read: `Content-Location` says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

from app.http import threads
from app.http.addresses import path_of
from app.http.pointers import QUERY
from app.http.problems import Refused, not_found, refused_at
from models.errors import shown
from models.roles import role_of
from workers.artifacts.aliases import NAME, Aliases
from workers.model import sibling

PREFIXES = {"trees": "tr", "models": "md", "jobs": "job"}
"""The prefix of an id, by the part of the path before it."""

_PATH = re.compile(rf"(/v1/({'|'.join(PREFIXES)})/)@([^/.]*)(.*)", re.DOTALL)
_ALIAS = re.compile(rf"@({NAME})")
_FIELDS = {"tree": "tr", "other": "tr", "reference": "tr", "trees": "tr", "against": "md"}
"""What names a tree or its model in queries and bodies, and the prefix of its id."""


def may_have_alias(scope: Scope) -> bool:
    """Whether there is an `@` in a request's path or query."""
    query: bytes = scope["query_string"]
    return "/@" in scope["path"] or b"@" in query or b"%40" in query


async def aliased_path(scope: Scope, tenant: str, aliases: Aliases) -> str | None:
    """Put ids for the aliases in a request's path and query; what the path is then, None if it had
    none. Raises Refused `not-found` for an alias that names no tree, `invalid-request` where an
    alias would say what is removed."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if any(name in _FIELDS and value.startswith("@") for name, value in query):
        pairs = []
        for name, value in query:
            found = None
            if name in _FIELDS and value.startswith("@"):
                found = await _tree(aliases, tenant, value)
                if found is None:
                    raise refused_at(
                        "invalid-request", f"There is no alias {shown(value)}.", QUERY, name
                    )
            pairs.append((name, value if found is None else sibling(found, _FIELDS[name])))
        scope["query_string"] = urlencode(pairs).encode("ascii")
    below = path_of(scope)
    match = _PATH.fullmatch(below)
    if match is None:
        return None
    start, noun, name, rest = match.groups()
    tree = await _tree(aliases, tenant, f"@{name}")
    if tree is None:
        raise not_found("alias", f"@{name}")
    if scope["method"] == "DELETE" and "/" not in rest:
        raise Refused(
            "invalid-request",
            f"An alias may move while it is sent: name what is to be removed by its id, "
            f"{sibling(tree, PREFIXES[noun])!r}.",
        )
    path = f"{start}{sibling(tree, PREFIXES[noun])}{rest}"
    scope["path"] = scope["path"].removesuffix(below) + path
    if "raw_path" in scope:
        scope["raw_path"] = scope["path"].encode()
    return path


async def aliased_body(value: Any, tenant: str, aliases: Aliases) -> Any:
    """A body with ids for its aliases: where it names trees, and in the inputs that are trees or
    jobs. Raises Refused `unknown-input`."""
    if not isinstance(value, dict):
        return value
    found: dict[str, str] = {}

    async def put(text: Any, prefix: str, *pointer: str | int) -> Any:
        if not isinstance(text, str) or not _ALIAS.fullmatch(text):
            return text
        if text not in found:
            tree = await _tree(aliases, tenant, text)
            if tree is None:
                raise refused_at("unknown-input", f"There is no alias {shown(text)}.", *pointer)
            found[text] = tree
        return sibling(found[text], prefix)

    changed = dict(value)
    for name, prefix in _FIELDS.items():
        own = value.get(name)
        if isinstance(own, list):
            changed[name] = [await put(each, prefix, name, at) for at, each in enumerate(own)]
        elif own is not None:
            changed[name] = await put(own, prefix, name)
    inputs = value.get("inputs")
    if isinstance(inputs, dict):
        changed["inputs"] = {
            role: await put(each, "tr" if role_of(role).tree else "job", "inputs", role)
            for role, each in inputs.items()
        }
    return changed


def at_its_place(send: Send, path: str, root_path: str) -> Send:
    """As `send`, for what was read by an alias: where it lies, and that it may be another soon."""

    async def send_on(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 400:
            headers = MutableHeaders(scope=message)
            headers["Content-Location"] = f"{root_path}{path}"
            headers["Cache-Control"] = "private, no-cache"
        await send(message)

    return send_on


async def _tree(aliases: Aliases, tenant: str, text: str) -> str | None:
    match = _ALIAS.fullmatch(text)
    if match is None:
        return None
    return await threads.run_sync(aliases.now, tenant, match[1])


def named_by(aliases: Aliases, tenant: str, own_id: str) -> list[str]:
    """The aliases of a tree, a job or a model, by name. Blocks; one listing."""
    tree = sibling(own_id, "tr")
    return [alias.name for alias in aliases.of_tenant(tenant) if alias.tree == tree]


def removed_unnamed(
    aliases: Aliases, tenant: str, own_id: str, remove: Callable[[str, str], bool]
) -> bool:
    """Remove a tree, a job or a model that no alias names; what `remove` of tenant and id returns.
    Blocks. Raises Refused `conflict` where an alias names it, or is being pointed at it."""
    with aliases.leaving(tenant, sibling(own_id, "tr")) as is_free:
        names = named_by(aliases, tenant, own_id)
        if names:
            raise Refused(
                "conflict",
                f"Alias {shown('@' + names[0])} names it; move or remove the alias first.",
            )
        if not is_free:
            raise Refused("conflict", "An alias is just being pointed at it; try again.")
        return remove(tenant, own_id)
