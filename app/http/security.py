"""Access control: keys and their tenants, and for the keyless service Host and Origin.

With keys, in the settings or in the store, everything under `/v1` needs `Authorization: Bearer
<key>`; the key's tenant owns what it creates, and its role says which methods it may use. Without
keys, there is one tenant, `local`, and only this machine may call: the peer and the Host header
must be loopback names, and a page (Origin) must be one of ours, so that a page of another site, or
one that rebinds its name to 127.0.0.1, cannot reach the service.

Where an issuer is set, people's sessions and the issuer's tokens are admitted beside keys
(`app.http.sign_in`), and the service is not keyless.

A link's token in the place of a key opens what the link shows (`app.http.sharing`), for all methods
and paths that require keys; without keys it is held to the same machine as everything.

`/metrics` names tenants, so no tenant's key opens it: it needs the token of the operator, where one
is set, or a key of the store with the role `admin`; it is closed otherwise where there are keys.
`/livez`, `/readyz`, the document and the pages are open: they reveal nothing about a tenant.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.addresses import host_of, path_of
from app.http.aliased import aliased_path, at_its_place, may_have_alias
from app.http.door import door, site_of
from app.http.keyring import Access, Keyring, unauthenticated
from app.http.pacing import in_pieces, metered, pace
from app.http.problems import Refused, respond, respond_failure
from app.http.sharing import SharedLinks, opens
from app.http.sign_in.people import People
from app.http.turns import Place, Taker, taker
from app.settings import Settings
from workers.artifacts.shares import share_id_in
from workers.errors import Damaged, TransientError

LOCAL = "local"
OPEN = frozenset({"/livez", "/readyz"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods of a key that may only read."""
KEEPS_NOTHING = frozenset({"/v1/figures"})
"""Paths where such a key may use any method."""
OF_TENANT = frozenset({"/v1/webhook-secret", "/v1/audit", "/v1/audit.jsonl"})
"""Paths that no key opens that is limited to some objects."""


class Gate:
    """ASGI middleware: admits a request, its caller in `scope["state"]`, or refuses it.

    `tenant` is the caller's tenant, `access` the caller with role and key; both are None on a path
    that is open to all.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        keyring: Keyring,
        links: SharedLinks,
        people: People | None = None,
    ) -> None:
        self.app = app
        self._people = people
        self._keyring = keyring
        self._links = links
        self._metrics_token = settings.metrics_token.get_secret_value()
        self._origins = frozenset(origin.rstrip("/") for origin in settings.cors_origins)
        self._hosts = frozenset(host.lower() for host in settings.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        place = Place()
        try:
            await self._serve(scope, receive, send, place)
        finally:
            place.leave()

    async def _serve(self, scope: Scope, receive: Receive, send: Send, place: Place) -> None:
        state: dict[str, Any] = scope.setdefault("state", {})
        try:
            access = (
                await self._admit_link(scope)
                or await self._admit_person(scope)
                or self._admit(scope, path_of(scope))
            )
            state["access"] = access
            state["tenant"] = None if access is None else access.tenant
            if access is not None:
                await place.take(_caller_of(access))
            if access is not None and access.share is None:
                await pace().admit(_caller_of(access))
            if access is not None and access.share is None and may_have_alias(scope):
                aliases = scope["app"].state.service.aliases
                path = await aliased_path(scope, access.tenant, aliases)
                if path is not None:
                    send = at_its_place(send, path, scope.get("root_path", ""))
            if access is not None and access.reach is not None:
                await _require_reached(scope, access)
        except Refused as refused:
            answer = respond(state.get("request_id"), refused.problem, refused.headers)
            await answer(scope, receive, send if "access" in state else _paced(scope, send))
            return
        except (Damaged, TransientError) as error:
            answer = respond_failure(state.get("request_id"), error)
            await answer(scope, receive, send)
            return
        if access is not None and access.share is not None:
            send = _for_one_reader(send)
        if access is not None:
            who = _caller_of(access)
            taker.set(who)
            await metered(self.app(scope, in_pieces(receive, who), send), who)
            return
        probe = path if (path := path_of(scope)) in OPEN else ""
        if not probe:
            send = _paced(scope, send)
        await door().serve(lambda: self.app(scope, receive, send), _peer_of(scope), probe=probe)

    async def _admit_link(self, scope: Scope) -> Access | None:
        """The holder of a link; None for whoever sends no token of one. Raises Refused."""
        path = path_of(scope)
        if path in OPEN or not path.startswith("/v1"):
            return None
        headers = Headers(scope=scope)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        share_id = share_id_in(token.strip()) if scheme.lower() == "bearer" else None
        if share_id is None:
            return None
        if self._keyring.keyless:
            self._check_local(scope, headers)
        share = await self._links.admit(share_id, token.strip())
        await pace().admit(Taker(share.tenant, share.id, link=True))
        query = QueryParams(scope["query_string"])
        once = len(query.multi_items()) == len(query)
        if scope["method"] not in READING or not once or not opens(share, path, query):
            raise Refused(
                "forbidden",
                "This link shows one tree and nothing else; `GET /v1/shared` says which, and with "
                "which edition and names it is read.",
            )
        return Access(share.tenant, "read", share=share)

    async def _admit_person(self, scope: Scope) -> Access | None:
        """Who has signed in, or sends a token of the issuer; None for others. Raises Refused."""
        path = path_of(scope)
        if self._people is None or not (path.startswith("/v1/") or path == "/v1"):
            return None
        headers = Headers(scope=scope)
        access = await self._people.admit(headers)
        if access is None:
            return None
        if access.session and scope["method"] not in READING:
            self._people.require_origin(headers)
        _require_role(access, scope["method"], path)
        return access

    def _admit(self, scope: Scope, path: str) -> Access | None:
        """The caller, None on an open path. Raises Refused."""
        if path in OPEN:
            return None
        headers = Headers(scope=scope)
        if path == "/metrics" and (self._metrics_token or not self._keyring.keyless):
            self._check_operator(headers)
            return None
        if self._keyring.keyless:
            self._check_local(scope, headers)
            return Access(LOCAL, "admin", local=True)
        if path.startswith("/v1/") or path == "/v1":
            access = self._caller(headers)
            _require_role(access, scope["method"], path)
            return access
        return None

    def _check_operator(self, headers: Mapping[str, str]) -> None:
        """Admit the operator's token and keys of the store that are made for administrators."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        sent = token.strip().encode() if scheme.lower() == "bearer" else b""
        if self._metrics_token and hmac.compare_digest(sent, self._metrics_token.encode()):
            return
        if sent and not self._keyring.keyless:
            access = self._caller(headers)
            if access.role == "admin" and access.key is not None:
                return
            raise Refused(
                "forbidden",
                "Metrics name tenants: they are read with UMBEL_METRICS_TOKEN, or with a key of "
                "the role `admin` (`umbel keys new --role admin`).",
            )
        raise unauthenticated(
            "Metrics are read with `Authorization: Bearer <UMBEL_METRICS_TOKEN>`, or a key of the "
            "role `admin`."
        )

    def _caller(self, headers: Mapping[str, str]) -> Access:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise unauthenticated(
                "No key was sent; send `Authorization: Bearer <key>` with a key of this service."
            )
        return self._keyring.admit(key.strip())

    def _check_local(self, scope: Scope, headers: Mapping[str, str]) -> None:
        if not is_loopback(scope):
            raise Refused(
                "forbidden",
                "Without keys this service answers requests from its own machine only; "
                "set UMBEL_API_KEYS to let others in.",
            )
        host = headers.get("host", "")
        if host_of(host) not in self._hosts:
            raise Refused(
                "forbidden",
                "Without keys this service is called by a loopback name (127.0.0.1, localhost, "
                "[::1]); the Host header names another host.",
            )
        origin = headers.get("origin")
        if origin is None or origin.rstrip("/") in self._origins:
            return
        if origin.lower() != f"{scope['scheme']}://{host}".lower():
            raise Refused(
                "forbidden",
                "Pages of other origins may not call this service, unless UMBEL_CORS_ORIGINS lists "
                "them.",
            )


def _require_role(access: Access, method: str, path: str) -> None:
    """Raise Refused for a change by whoever may only read."""
    if access.role != "read" or method in READING or path in KEEPS_NOTHING:
        return
    if access.issued:
        raise Refused(
            "forbidden",
            f"Your group may only read: GET and HEAD, not {method}. UMBEL_OIDC_GROUPS says what "
            "groups may do.",
        )
    raise Refused(
        "forbidden",
        f"This key may only read: GET and HEAD, not {method}. Use a key with the role `write`.",
    )


async def _require_reached(scope: Scope, access: Access) -> None:
    """Raise Refused for a limited key that names something else in the path or query; bodies are
    looked at where they are read (`app.http.bodies`)."""
    path = path_of(scope)
    if path in OF_TENANT or path.startswith("/v1/aliases"):
        raise Refused(
            "forbidden",
            "This belongs to the whole tenant, and this key is limited to some of its objects.",
        )
    query = QueryParams(scope["query_string"]).multi_items()
    named = [path, *(text for pair in query for text in pair)]
    await scope["app"].state.service.reached.require(access, named)


def _caller_of(access: Access) -> Taker:
    """Who takes turns with others."""
    if access.share is not None:
        return Taker(access.tenant, access.share.id, link=True)
    return Taker(access.tenant, access.key_id or "")


def _for_one_reader(send: Send) -> Send:
    """As `send`, for responses that no cache between may keep."""

    async def send_on(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).setdefault("Cache-Control", "private, no-store")
        await send(message)

    return send_on


def _paced(scope: Scope, send: Send) -> Send:
    """As `send`, for whoever has no key: refusals of an address wait until they are due."""

    async def send_on(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            with suppress(Refused):
                await pace().admit(site_of(_peer_of(scope)))
        await send(message)

    return send_on


def _peer_of(scope: Scope) -> str:
    """The address of the connection; empty for a Unix socket."""
    return scope["client"][0] if scope.get("client") else ""


def is_loopback(scope: Scope) -> bool:
    """Whether the peer is this machine: a loopback address, or a Unix socket (no address)."""
    client = scope.get("client")
    if client is None:
        return True
    try:
        address = ipaddress.ip_address(client[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
