"""What the audit log has of requests: every change, every sign-in at the issuer, every
refused sign-in, every use of a link.

A line is written when the response begins, so that no change is answered without one.
"""

from __future__ import annotations

import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.keyring import Access
from app.http.security import READING
from workers.artifacts.audit import AuditWriter, Event
from workers.model import now

_LONGEST = 300
_REFUSED = frozenset({401, 403})
_REFUSALS_PER_S = 100
"""Refused sign-ins and uses of links that one process writes in a second: anybody can cause them.
More are counted with the next line."""


class Audit:
    """The log of one process; `writer` is set once the store is connected."""

    def __init__(self) -> None:
        self.writer: AuditWriter | None = None
        self._second = 0
        self._n_open = 0
        self._skipped = 0

    def note(self, event: Event, *, counted: bool) -> None:
        """counted : whether it is bounded."""
        if self.writer is None:
            return
        if counted:
            second = int(time.monotonic())
            self._second, self._n_open = second, 0 if second != self._second else self._n_open
            self._n_open += 1
            if self._n_open > _REFUSALS_PER_S:
                self._skipped += 1
                return
        if self._skipped:
            event = event.model_copy(update={"skipped": self._skipped})
            self._skipped = 0
        self.writer.write(event)


class Audited:
    """ASGI middleware, outside `Gate`."""

    def __init__(self, app: ASGIApp, audit: Audit) -> None:
        self.app = app
        self._audit = audit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope, message)
            await send(message)

        await self.app(scope, receive, send_on)

    def _note(self, scope: Scope, start: Message) -> None:
        state: dict[str, Any] = scope.get("state", {})
        access: Access | None = state.get("access")
        # `Gate` names the caller of what it lets through, None on an open path.
        refused = "access" not in state and start["status"] in _REFUSED
        shared = access is not None and access.share is not None
        changes = access is not None and scope["method"] not in READING
        if not (changes or refused or shared):
            return
        made = {bytes(name).lower(): bytes(value) for name, value in start["headers"]}
        event = _event(
            scope,
            access,
            _action(scope, refused=refused),
            start["status"],
            _text(made.get(b"location")),
        )
        self._audit.note(event, counted=not changes)


def sign_in_event(scope: Scope, access: Access | None, status: int) -> Event:
    """A line about a sign-in at the issuer; access : None where it was refused."""
    return _event(scope, access, "sign-in", status, None)


def _event(
    scope: Scope, access: Access | None, action: str, status: int, made: str | None
) -> Event:
    headers = {bytes(name).lower(): bytes(value) for name, value in scope["headers"]}
    return Event(
        at=now(),
        tenant=None if access is None else access.tenant,
        actor=_actor(access),
        name=None if access is None or access.key is None else access.key.name,
        role=None if access is None else access.role,
        action=action,
        path=_short(scope["path"]),
        status=status,
        made=made,
        origin=scope["client"][0] if scope.get("client") else None,
        forwarded=_text(headers.get(b"x-forwarded-for")),
        request=str(scope.get("state", {}).get("request_id", "")),
    )


def _actor(access: Access | None) -> str:
    if access is None:
        return "unknown"
    if access.share is not None:
        return access.share.id
    if access.key is not None:
        return access.key.id
    return "local" if access.local else "environment"


def _action(scope: Scope, *, refused: bool) -> str:
    if refused:
        return "sign-in"
    template = getattr(scope.get("route"), "path_format", None)
    return f"{scope['method'][:20]} {template or 'none'}"


def _text(value: bytes | None) -> str | None:
    return None if value is None else _short(value.decode("latin-1"))


def _short(text: str) -> str:
    return text[:_LONGEST]
