"""Editions of a tree and links that show it: what is sent, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from umbel_client.core.sending import json_of, new_key, post, sent
from umbel_client.core.steps import Operation, Reply, Request


@dataclass(frozen=True, slots=True)
class EditionState:
    """An edition as the service last described it, with the ETag that its next change needs."""

    body: Mapping[str, Any]
    etag: str


def begun(tree_id: str, fields: Mapping[str, Any]) -> Operation[EditionState]:
    """A new edition. Raises ProblemError, ConnectionFailed, UnexpectedResponse, as all here do."""
    body = {name: value for name, value in fields.items() if value is not None}
    return _state((yield from sent(post(f"/v1/trees/{tree_id}/editions", body))))


def read(edition_id: str) -> Operation[EditionState]:
    """An edition as it is."""
    return _state((yield from sent(Request("GET", f"/v1/editions/{edition_id}"))))


def applied(
    state: EditionState, operations: Sequence[Mapping[str, Any]]
) -> Operation[EditionState]:
    """The edition after an edit. Raises PreconditionFailed if it has changed since it was read."""
    path = f"/v1/editions/{state.body['id']}/changes"
    headers = {"If-Match": state.etag}
    body = {"operations": list(operations)}
    return _state((yield from sent(post(path, body, headers=headers))))


def renamed(edition_id: str, name: str | None) -> Operation[EditionState]:
    """The edition under another name."""
    headers = {"Content-Type": "application/merge-patch+json"}
    content = json.dumps({"name": name}).encode()
    return _state(
        (yield from sent(Request("PATCH", f"/v1/editions/{edition_id}", {}, headers, content)))
    )


def listed(path: str) -> Operation[list[dict[str, Any]]]:
    """All items of a list, page by page."""
    items: list[dict[str, Any]] = []
    query: dict[str, str | int | float] = {}
    while True:
        page = json_of((yield from sent(Request("GET", path, query))), "items", "next_cursor")
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        query = {"cursor": page["next_cursor"]}


def shared(tree_id: str, fields: Mapping[str, Any]) -> Operation[dict[str, Any]]:
    """A new link, with its token. A request that is repeated may make a second one."""
    body = {name: value for name, value in fields.items() if value is not None}
    return json_of((yield from sent(post(f"/v1/trees/{tree_id}/shares", body))), "id", "token")


def removed(path: str) -> Operation[None]:
    """Remove what is at an address."""
    yield from sent(Request("DELETE", path, {}, new_key()))


def _state(reply: Reply) -> EditionState:
    return EditionState(json_of(reply, "id", "revision"), reply.headers.get("etag", ""))
