"""A small issuer of sign-ins: discovery, keys, codes with PKCE, tokens signed by RS256."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "umbel", "s3cret and: more"


@cache
def key_of(kid: str) -> rsa.RSAPrivateKey:
    """One key for each name, made once: to make one takes a tenth of a second of a core."""
    return rsa.generate_private_key(65537, 2048)


@dataclass
class Issuer:
    """claims : what replaces or joins the usual ones. ends : where its sessions end. refresh : the
    refresh token that is good now, each for one use; None where it gives none. sign : what makes a
    token of claims."""

    url: str = ""
    kid: str = "first"
    keys: dict[str, rsa.RSAPrivateKey] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)
    down: bool = False
    ends: str | None = None
    refresh: str | None = None
    n_refreshed: int = 0
    sign: Any = None

    def rotate(self, kid: str) -> None:
        self.keys = {kid: key_of(kid)}
        self.kid = kid

    def token(self, **changes: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "u-1",
            "iat": now,
            "exp": now + 300,
            "preferred_username": "ada",
            "groups": ["staff", "lab"],
            **self.claims,
            **changes,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.sign is not None:
            return str(self.sign(claims))
        return jwt.encode(claims, self.keys[self.kid], "RS256", {"kid": self.kid})

    def jwks(self) -> dict[str, Any]:
        listed = []
        for kid, key in self.keys.items():
            public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
            listed.append({**public, "kid": kid, "use": "sig"})
        listed.append({"kty": "oct", "kid": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"})
        return {"keys": listed}

    def signed_in(self, address: str) -> dict[str, str]:
        """What a person's browser brings back from `address`: state and code."""
        query = dict(parse_qsl(urlsplit(address).query))
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return {"state": query["state"], "code": code}

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        if form["grant_type"] == "refresh_token":
            if self.refresh is None or form["refresh_token"] != self.refresh:
                return 400, {"error": "invalid_grant"}
            self.n_refreshed += 1
            self.refresh = f"refresh-{self.n_refreshed}"
            return 200, {"id_token": self.token(), "refresh_token": self.refresh}
        begun = self.codes.pop(form.get("code", ""), None)
        pair = base64.b64encode(b"umbel:s3cret%20and%3A%20more").decode()
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        good = (
            begun is not None
            and authorization == f"Basic {pair}"
            and challenge == begun["code_challenge"]
            and form["redirect_uri"] == begun["redirect_uri"]
        )
        if not good or begun is None:
            return 400, {"error": "invalid_grant"}
        more = {} if self.refresh is None else {"refresh_token": self.refresh}
        return 200, {"access_token": "x", "id_token": self.token(**self._nonce(begun)), **more}

    def _nonce(self, begun: dict[str, str]) -> dict[str, str]:
        return {} if "nonce" in self.claims else {"nonce": begun["nonce"]}


@contextmanager
def serving() -> Iterator[Issuer]:
    issuer = Issuer()
    issuer.rotate("first")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.requested.append(self.path)
            if self.path.endswith("/openid-configuration"):
                content = {
                    "issuer": issuer.url,
                    "authorization_endpoint": f"{issuer.url}/authorize",
                    "token_endpoint": f"{issuer.url}/token",
                    "jwks_uri": f"{issuer.url}/keys",
                }
                if issuer.ends is not None:
                    content["end_session_endpoint"] = issuer.ends
                self.answer(200, content)
            elif self.path.startswith("/authorize?"):
                # The person is signed in there and agrees at once.
                begun = dict(parse_qsl(urlsplit(self.path).query))
                brought = urlencode(issuer.signed_in(self.path))
                self.send_response(302)
                self.send_header("Location", f"{begun['redirect_uri']}?{brought}")
                self.end_headers()
            else:
                self.answer(200, issuer.jwks())

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            form = {n: v[0] for n, v in parse_qs(self.rfile.read(length).decode()).items()}
            authorization = self.headers.get("Authorization", "")
            self.answer(*((500, {}) if issuer.down else issuer.exchange(form, authorization)))

        def answer(self, status: int, content: Any) -> None:
            body = json.dumps(content).encode()
            self.send_response(500 if issuer.down else status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
