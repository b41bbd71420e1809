"""Who sent a request, by the cookie of a session or a token of the issuer.

A cookie goes with requests by itself, so what other pages make a browser send must not count: it is
`SameSite=Lax`, a request with it that the browser calls cross-site or same-site is one without it,
and a change needs an `Origin` that is ours.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http.cookies import CookieError, SimpleCookie
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from redis import Redis

from app.http.keyring import Access, unauthenticated
from app.http.problems import Refused
from app.http.sign_in.groups import Group, first_of, groups
from app.http.sign_in.issuer import Issuer, away
from app.http.sign_in.sessions import Person, Sessions
from app.settings import Settings
from models.errors import listed
from workers.artifacts.keys import LONGEST_NAME, Key, digest_of

SIGN_IN_S = 600
"""How long a sign-in may take."""
CALLBACK = "/sign-in/callback"
_LONGEST_HINT = 6_000
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_MOST_GROUPS = 10_000
_SHOWN = 5
_ELSEWHERE = frozenset({"cross-site", "same-site"})
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class People:
    """The people of one issuer. Use it on one event loop; `connect` it before the first request.

    Raises ValueError for settings that do not go together, and where the extra `oidc` is missing.
    """

    def __init__(self, settings: Settings) -> None:
        _check(settings)
        self._settings = settings
        self.groups: tuple[Group, ...] = groups(settings)
        if not self.groups:
            raise ValueError("UMBEL_OIDC_GROUPS is needed: without it nobody could sign in.")
        self.issuer = Issuer(settings, _secret(settings))
        self.url = settings.oidc_url.rstrip("/")
        parts = urlsplit(self.url)
        self.origin = f"{parts.scheme}://{parts.netloc}".lower()
        self.path = f"{parts.path}/"
        self.secure = parts.scheme == "https"
        # A cookie of this prefix is only taken from this host over TLS, and for all its paths.
        self.cookie = "__Host-umbel" if self.secure else "umbel"
        self.sessions: Sessions | None = None

    def connect(self, redis: Redis) -> None:
        self.sessions = Sessions(redis, self._settings.key_prefix)

    @property
    def redirect(self) -> str:
        return f"{self.url}{CALLBACK}"

    async def begin(self) -> tuple[str, str]:
        """Where a person signs in, and the value of the cookie that the browser brings back: what
        ties the sign-in to this browser. Raises Refused `unavailable`."""
        parts = [secrets.token_urlsafe(32) for _ in range(3)]
        state, nonce, verifier = parts
        return await self.issuer.address(self.redirect, state, nonce, verifier), ".".join(parts)

    async def finish(self, query: Mapping[str, str], brought: str) -> tuple[str, Access]:
        """The value of a session's cookie, and whose it is. Raises Refused with what is wrong."""
        state, nonce, verifier = parts if len(parts := brought.split(".")) == 3 else ("", "", "")
        if not state or not secrets.compare_digest(state.encode(), query["state"].encode()):
            raise Refused(
                "forbidden",
                "This sign-in was not begun in this browser in the last ten minutes; sign in "
                "again.",
            )
        if "code" not in query:
            raise Refused("forbidden", "The issuer did not let you sign in.")
        claims, token, refresh = await self.issuer.claims_of_code(
            query["code"], self.redirect, nonce, verifier
        )
        person = self._person(claims, time.time() + self._settings.oidc_session_s)
        person = _with_tokens(person, token, refresh if self._settings.oidc_check_s else "")
        assert self.sessions is not None
        access = self._access(person)
        cookie = await self.sessions.begin(person)
        return cookie, access

    async def sign_out(self, headers: Mapping[str, str]) -> str | None:
        """End the session of the cookie, if there is one; where the browser ends that of the
        issuer, if the issuer has such a place. Raises what Redis does."""
        cookie = self.cookie_in(headers, self.cookie)
        if cookie is None or self.sessions is None:
            return None
        person = await self.sessions.find(cookie)
        await self.sessions.end(cookie)
        if person is None:
            return None
        return await self.issuer.end_address(person.token, f"{self.url}/")

    async def admit(self, headers: Mapping[str, str]) -> Access | None:
        """Who sent a request with these headers; None for one that has neither a session nor a
        token of an issuer. Raises Refused for those that are not good."""
        if "authorization" in headers:
            kind, _, token = headers["authorization"].partition(" ")
            token = token.strip()
            # A token begins with a JSON object in base64, which no key does.
            is_token = token.startswith("eyJ") and token.count(".") == 2
            if not self._settings.oidc_audience or kind.lower() != "bearer" or not is_token:
                return None
            return await self._of_token(token)
        cookie = self.cookie_in(headers, self.cookie)
        if cookie is None or headers.get("sec-fetch-site") in _ELSEWHERE:
            return None
        assert self.sessions is not None
        person = await self.sessions.find(cookie)
        if person is None:
            raise unauthenticated("You are not signed in any more; sign in again.")
        return self._access(await self._checked(cookie, person), digest_of(cookie))

    async def _checked(self, cookie: str, person: Person) -> Person:
        """The person as the issuer says at most `UMBEL_OIDC_CHECK_S` ago; that once more while the
        issuer does not answer.

        Raises Refused: `unauthenticated`, with the session ended, for one that the issuer does not
        go on with or who is in no group any more; `unavailable` where it has not answered longer.
        """
        every = self._settings.oidc_check_s
        overdue_s = time.time() - person.checked - every
        assert self.sessions is not None
        if not every or not person.refresh or overdue_s < 0:
            return person
        may = await self.sessions.may_check(cookie)
        if may == "failed" and overdue_s >= every:
            raise away()
        if may != "yes":
            return person
        try:
            claims, token, refresh = await self.issuer.refreshed(person.refresh)
            now = self._person(claims, person.until)
            if now.id != person.id:
                raise Refused("forbidden", "The issuer's token is somebody else's.")
        except Refused as refused:
            if refused.status_code != 403:
                await self.sessions.check_failed(cookie)
                if overdue_s < every:
                    return person
                raise
            await self.sessions.end(cookie)
            raise unauthenticated(f"{refused.detail} Sign in again.") from None
        now = _with_tokens(replace(now, since=person.since), token, refresh or person.refresh)
        await self.sessions.change(cookie, now)
        return now

    def require_origin(self, headers: Mapping[str, str]) -> None:
        """Raise Refused for a change by a session that does not come from our page."""
        if headers.get("origin", "").lower() != self.origin:
            raise Refused(
                "forbidden",
                "A session changes things from the service's page only (Origin); programs send a "
                "key.",
            )

    def cookie_in(self, headers: Mapping[str, str], name: str) -> str | None:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(name)
        except CookieError:
            return None
        return None if found is None else found.value

    def ended(self, access: Access) -> bool:
        """Whether this process knows that the session of a caller has ended."""
        return bool(access.session) and (
            self.sessions is not None and self.sessions.ended(access.session)
        )

    async def _of_token(self, token: str) -> Access:
        try:
            claims = await self.issuer.checked(token, self._settings.oidc_audience)
        except Refused as refused:
            if refused.status_code != 403:
                raise
            raise unauthenticated(str(refused.detail)) from None
        return self._access(self._person(claims, float(claims["exp"])))

    def _person(self, claims: Mapping[str, Any], until: float) -> Person:
        """Raises Refused `forbidden` for somebody who is in no group of the settings."""
        named = claims.get(self._settings.oidc_groups_claim)
        named = [named] if isinstance(named, str) else named
        named = named[:_MOST_GROUPS] if isinstance(named, list) else []
        theirs = [each for each in named if isinstance(each, str)]
        known = tuple(dict.fromkeys(group.name for group in self.groups if group.name in theirs))
        if not known:
            whose = f"they are {listed(theirs[:_SHOWN])}" if theirs else "there are none"
            more = f" and {len(theirs) - _SHOWN} more" if len(theirs) > _SHOWN else ""
            raise Refused(
                "forbidden",
                "You have signed in, but none of your groups may do anything here: "
                f"{whose}{more}. Whoever runs the service sets which may (UMBEL_OIDC_GROUPS).",
            )
        subject = str(claims["sub"])
        name = next(
            (
                text
                for claim in ("preferred_username", "email", "name")
                if isinstance(text := claims.get(claim), str) and text
            ),
            subject,
        )
        own_id = _id_of(self._settings.oidc_issuer, subject)
        return Person(own_id, name[:LONGEST_NAME], known, time.time(), until)

    def _access(self, person: Person, session: str = "") -> Access:
        """What the person's first group may do, by the settings as they are now."""
        group = first_of(self.groups, person.groups)
        if group is None:
            raise unauthenticated("None of your groups may do anything here any more.")
        key = Key(
            id=person.id,
            tenant=group.tenant,
            role=group.role,
            name=person.name,
            digest="",
            created_at=datetime.fromtimestamp(person.since, UTC),
            expires_at=person.expires_at,
            tags=group.tags,
        )
        return Access(group.tenant, group.role, key, issued=True, session=session)


def people(settings: Settings) -> People | None:
    """None where no issuer is set. Raises ValueError."""
    if settings.oidc_issuer:
        return People(settings)
    others = (settings.oidc_client_id, settings.oidc_url, settings.oidc_groups)
    if any((*others, settings.oidc_groups_file, settings.oidc_audience)):
        raise ValueError("UMBEL_OIDC_ISSUER is not set, but others of its settings are.")
    return None


def _with_tokens(person: Person, token: str, refresh: str) -> Person:
    # A longer one would not fit into the address of a sign-out.
    hint = token if len(token) <= _LONGEST_HINT else ""
    return replace(person, token=hint, refresh=refresh, checked=time.time())


def _check(settings: Settings) -> None:
    for name in ("oidc_issuer", "oidc_url"):
        value = getattr(settings, name)
        parts = urlsplit(value)
        local = parts.scheme == "http" and parts.hostname in _LOOPBACK
        plain = parts.netloc and not (parts.query or parts.fragment or "@" in parts.netloc)
        if not plain or not (parts.scheme == "https" or local):
            raise ValueError(
                f"UMBEL_{name.upper()} is {value!r}: write `https://host[:port][/path]`, or http "
                "on this machine."
            )
    if not settings.oidc_client_id:
        raise ValueError("UMBEL_OIDC_CLIENT_ID is needed with UMBEL_OIDC_ISSUER.")
    if "openid" not in settings.oidc_scopes:
        raise ValueError("UMBEL_OIDC_SCOPES needs `openid` among them.")
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise ValueError("UMBEL_OIDC_ISSUER needs the extra `oidc` (`pip install 'umbel[oidc]'`).")


def _secret(settings: Settings) -> str:
    secret = settings.oidc_client_secret.get_secret_value()
    if settings.oidc_client_secret_file is None:
        return secret
    if secret:
        raise ValueError("UMBEL_OIDC_CLIENT_SECRET and UMBEL_OIDC_CLIENT_SECRET_FILE are both set.")
    try:
        return settings.oidc_client_secret_file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"UMBEL_OIDC_CLIENT_SECRET_FILE cannot be read: {error}.") from None


def _id_of(issuer: str, subject: str) -> str:
    digest = hashlib.sha256(json.dumps([issuer, subject]).encode()).digest()
    return "usr_" + "".join(_ALPHABET[byte & 31] for byte in digest[:26])
