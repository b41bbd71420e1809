"""The issuer of sign-ins: its addresses and public keys; codes exchanged, tokens checked.

OpenID Connect Core 1.0 with the authorization code flow, PKCE (RFC 7636, S256), `state` and
`nonce`. Only signatures by public keys are accepted: no `none`, and no HS256, whose secret could be
a public key. The issuer's keys are kept; a token with an unknown key id has them read again, at
most once in ten seconds, so that a rotation is followed and nobody can make this process ask often.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from app.http.problems import Refused
from app.settings import Settings

if TYPE_CHECKING:
    import ssl

    import httpx

_OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS = (*_OF_RSA, "ES256", "ES384", "ES512", "EdDSA")
KEPT_S = 3600.0
"""How long addresses and keys of the issuer are used before they are read again."""
AGAIN_S = 10.0
"""The least time between two readings of the keys because of an unknown one."""
ANSWER_S = 5.0
LEEWAY_S = 60
"""By how much the clocks of issuer and service may differ."""
MOST_BYTES = 1 << 20
"""The most that is read of an answer."""
LONGEST_TOKEN = 32 << 10


class Issuer:
    """One issuer. Use it on one event loop."""

    def __init__(self, settings: Settings, secret: str) -> None:
        self._url = settings.oidc_issuer
        self._client_id = settings.oidc_client_id
        self._secret = secret
        self._scopes = " ".join(settings.oidc_scopes)
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, dict[str, tuple[Any, Sequence[str]]]] | None = None
        self._lock = asyncio.Lock()

    async def address(self, redirect: str, state: str, nonce: str, verifier: str) -> str:
        """Where a person signs in. Raises Refused `unavailable`."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect,
            "scope": self._scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge.rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        place = (await self._known())["authorization_endpoint"]
        return f"{place}{'&' if urlsplit(place).query else '?'}{urlencode(query)}"

    async def end_address(self, token: str, back: str) -> str | None:
        """Where a browser ends the session at the issuer (OpenID Connect RP-Initiated Logout 1.0),
        to come back to `back`; None where the issuer names no such place or does not answer.

        token : the ID token of the sign-in, or ''; the issuer may then ask the person.
        """
        try:
            place = (await self._known()).get("end_session_endpoint")
        except Refused:
            return None
        if not isinstance(place, str) or not _safe(place, self._url):
            return None
        query = {"client_id": self._client_id, "post_logout_redirect_uri": back}
        if token:
            query["id_token_hint"] = token
        return f"{place}{'&' if urlsplit(place).query else '?'}{urlencode(query)}"

    async def claims_of_code(
        self, code: str, redirect: str, nonce: str, verifier: str
    ) -> tuple[dict[str, Any], str, str]:
        """What the issuer says of the person who has this code, its ID token, and its refresh token
        or ''. Raises Refused `forbidden` for a code or token that is not good, `unavailable` where
        the issuer does not answer."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "client_id": self._client_id,
            "code_verifier": verifier,
        }
        found = await self._tokens(form)
        if found is None:
            raise Refused(
                "forbidden",
                "The issuer did not accept this sign-in, which may have been used before or taken "
                "too long; sign in again.",
            )
        claims = await self.checked(found[0], self._client_id)
        if claims.get("nonce") != nonce:
            raise Refused(
                "forbidden", "The issuer's token is that of another sign-in (nonce); sign in again."
            )
        return claims, *found

    async def refreshed(self, refresh: str) -> tuple[dict[str, Any], str, str]:
        """What the issuer says now of the person whose sign-in gave this refresh token, its ID
        token, and the refresh token to use next time or '' (OpenID Connect Core 1.0, 12). Raises as
        `claims_of_code`."""
        form = {
            "grant_type": "refresh_token",
            "refresh_token": refresh,
            "client_id": self._client_id,
            "scope": self._scopes,
        }
        found = await self._tokens(form)
        if found is None:
            raise Refused("forbidden", "The issuer does not go on with this sign-in.")
        return await self.checked(found[0], self._client_id), *found

    async def _tokens(self, form: dict[str, str]) -> tuple[str, str] | None:
        """The ID token and the refresh token, or '', for a grant; None where it is not accepted or
        there is no ID token."""
        import httpx

        metadata = await self._known()
        auth: httpx.BasicAuth | None = None
        if self._secret:
            ways = metadata.get("token_endpoint_auth_methods_supported")
            if isinstance(ways, list) and "client_secret_basic" not in ways:
                form = {**form, "client_secret": self._secret}
            else:
                # RFC 6749, 2.3.1: both are form-encoded first.
                auth = httpx.BasicAuth(quote(self._client_id, ""), quote(self._secret, ""))
        status, answer = await _answer("POST", metadata["token_endpoint"], form, auth)
        token, refresh = answer.get("id_token"), answer.get("refresh_token")
        if status != 200 or not isinstance(token, str):
            return None
        usable = isinstance(refresh, str) and len(refresh) <= LONGEST_TOKEN
        return token, str(refresh) if usable else ""

    async def checked(self, token: str, audience: str) -> dict[str, Any]:
        """The claims of a token of this issuer for this audience. Raises Refused `forbidden` with
        what is wrong, `unavailable` where the issuer's keys cannot be read."""
        import jwt

        if len(token) > LONGEST_TOKEN:
            raise Refused("forbidden", f"A token has at most {LONGEST_TOKEN} characters.")
        try:
            head = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            raise Refused("forbidden", "This is not a token of the issuer.") from None
        if head.get("alg") not in ALGORITHMS:
            raise Refused(
                "forbidden", "The token is not signed by a public key (RS256, ES256 or similar)."
            )
        key, algorithms = await self._key(head.get("kid"))
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(algorithms),
                audience=audience,
                issuer=self._url,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.ExpiredSignatureError:
            why = "it has expired"
        except jwt.InvalidAudienceError:
            why = "it is for another audience"
        except jwt.InvalidIssuerError:
            why = "it is of another issuer"
        except jwt.InvalidTokenError:
            why = "its signature or its times are wrong"
        else:
            # Where there are several audiences, `azp` names the client that it was made for.
            if claims.get("azp") in (None, self._client_id) or audience != self._client_id:
                return claims
            why = "it was made for another client"
        raise Refused("forbidden", f"The token of the issuer is not accepted: {why}.")

    async def _key(self, name: object) -> tuple[Any, Sequence[str]]:
        """A public key by its id, and what it may have signed by."""
        async with self._lock:
            keys = await self._read_keys(KEPT_S)
            if name not in keys and not (name is None and len(keys) == 1):
                keys = await self._read_keys(AGAIN_S)
        if name is None and len(keys) == 1:
            return next(iter(keys.values()))
        if not isinstance(name, str) or name not in keys:
            raise Refused("forbidden", "The token's key is one that the issuer does not have.")
        return keys[name]

    async def _read_keys(self, kept_s: float) -> dict[str, tuple[Any, Sequence[str]]]:
        """The public keys for signatures by their ids; read at most every `kept_s` seconds. Those
        known stay in use while the issuer is away."""
        import jwt

        now = time.monotonic()
        if self._keys is not None and now < self._keys[0] + kept_s:
            return self._keys[1]
        try:
            status, answer = await _answer("GET", (await self._known())["jwks_uri"])
        except Refused:
            if self._keys is None:
                raise
            return self._keys[1]
        listed = answer.get("keys")
        if status != 200 or not isinstance(listed, list):
            if self._keys is None:
                raise away()
            return self._keys[1]
        keys: dict[str, tuple[Any, Sequence[str]]] = {}
        for number, each in enumerate(listed[:100]):
            if not isinstance(each, dict) or each.get("use", "sig") != "sig":
                continue
            try:
                key = jwt.PyJWK(each)
            except (jwt.PyJWTError, ValueError, TypeError, KeyError):
                continue
            if key.algorithm_name not in ALGORITHMS:
                continue
            any_of_rsa = each.get("kty") == "RSA" and "alg" not in each
            own_id = str(each.get("kid", f"#{number}"))
            keys[own_id] = key.key, _OF_RSA if any_of_rsa else (key.algorithm_name,)
        self._keys = now, keys
        return keys

    async def _known(self) -> dict[str, Any]:
        """What the issuer says of itself. Raises Refused `unavailable`."""
        now = time.monotonic()
        if self._metadata is not None and now < self._metadata[0] + KEPT_S:
            return self._metadata[1]
        place = f"{self._url.rstrip('/')}/.well-known/openid-configuration"
        try:
            status, answer = await _answer("GET", place)
            if status != 200 or answer.get("issuer") != self._url:
                raise away()
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if not _safe(answer.get(name), self._url):
                    raise away()
        except Refused:
            if self._metadata is None:
                raise
            return self._metadata[1]
        self._metadata = now, answer
        return answer


def _safe(address: object, issuer: str) -> bool:
    """Whether an address that the issuer names may be used: https, or http where it has itself."""
    if not isinstance(address, str):
        return False
    scheme = urlsplit(address).scheme
    return scheme == "https" or (scheme == "http" and urlsplit(issuer).scheme == "http")


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that are trusted, read once: each time would hold up the event loop for 50
    ms."""
    import httpx

    return httpx.create_ssl_context()


async def _answer(
    method: str,
    address: str,
    form: dict[str, str] | None = None,
    auth: httpx.BasicAuth | None = None,
) -> tuple[int, dict[str, Any]]:
    """The status and the JSON object of an answer, {} for another one. No redirects. Raises Refused
    `unavailable` where there is none in time, or one of the server's failures."""
    import httpx

    content = bytearray()
    client = httpx.AsyncClient(timeout=ANSWER_S, verify=_trusted())
    try:
        async with asyncio.timeout(2 * ANSWER_S), client:
            request = client.build_request(
                method, address, data=form, headers={"Accept": "application/json"}
            )
            response = await client.send(request, stream=True, auth=auth, follow_redirects=False)
            try:
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > MOST_BYTES:
                        raise away()
            finally:
                await response.aclose()
    except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError):
        raise away() from None
    if response.status_code >= 500 or response.status_code == 429:
        raise away()
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    return response.status_code, value if isinstance(value, dict) else {}


def away() -> Refused:
    return Refused(
        "unavailable",
        "The issuer of sign-ins (UMBEL_OIDC_ISSUER) does not answer as one does; try again. Keys "
        "go on to work.",
        headers={"Retry-After": "5"},
    )
