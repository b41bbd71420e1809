"""Requests and responses as plain data, and what becomes of a refusal."""

from __future__ import annotations

import email.utils
import json
import os
import random
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import httpx

from umbel_client.errors import ConnectionFailed, ProblemError, UmbelWarning, UnexpectedResponse
from umbel_client.problems import BY_TYPE
from umbel_client.quoting import as_arguments

T = TypeVar("T")

READ_TIMEOUT_S = 60.0
"""How long a response may take, besides the wait that a request prefers."""
CONTENT_TIMEOUT_S = 300.0
"""How long the service may take for the content of one request or response."""

_PROBLEM = "application/problem+json"
_BEGINNING = 200
_NOTHING_AT_PATH = "There is nothing at this path."
_PASSING = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The service that a client calls, and how hard it tries.

    url : address of the service without a slash at the end.
    key : sent as `Authorization: Bearer`; None: no key.
    retries : how often a request is repeated after a refusal that passes, or a cut connection.
    pause_s : the first pause before a repetition is at most this long; each next one at most
        twice as long as the one before.
    longest_pause_s : no pause is longer, whatever the service asks for.
    """

    url: str
    key: str | None = None
    retries: int = 5
    pause_s: float = 0.25
    longest_pause_s: float = 30.0

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, key={'None' if self.key is None else '***'})"


def connection_of(kind: Callable[[Settings], T], settings: Settings) -> T:
    """A connection from a pickle, which has no key, with that of UMBEL_KEY."""
    return kind(replace(settings, key=os.environ.get("UMBEL_KEY") or None))


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request.

    timeout_s : how long the response may take.
    """

    method: str
    path: str
    query: Mapping[str, str | int | float | list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    timeout_s: float = READ_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def media_type(self) -> str:
        """The media type without parameters, in lower case; "" if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:
        """The body as JSON. Raises ValueError if it is none."""
        return json.loads(self.content)


def new_key() -> dict[str, str]:
    """A header that makes a POST repeatable; the same for all repetitions of one request."""
    return {"Idempotency-Key": uuid.uuid4().hex}


def post(
    path: str,
    body: Any,
    *,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = READ_TIMEOUT_S,
) -> Request:
    """A POST of JSON with a key. Raises ValueError for a number that is not finite."""
    content = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    own = {"Content-Type": "application/json", **new_key(), **(headers or {})}
    return Request("POST", path, {}, own, content, timeout_s)


def given(query: Mapping[str, Any]) -> dict[str, Any]:
    """What is not None; of what has an id the id."""
    return {name: getattr(value, "id", value) for name, value in query.items() if value is not None}


def json_of(reply: Reply, *needed: str) -> dict[str, Any]:
    """The object in a response. Raises UnexpectedResponse unless it is one with the fields."""
    try:
        body = reply.json()
    except ValueError:
        body = None
    if not isinstance(body, dict) or any(name not in body for name in needed):
        wanted = f"an object with {', '.join(needed)}" if needed else "a JSON object"
        raise UnexpectedResponse(f"The response is not {wanted}", reply.status, _beginning(reply))
    return body


def pause(settings: Settings, attempt: int, stated: float | None) -> float:
    """Seconds before the repetition after attempt number `attempt`, counted from 0.

    stated : the seconds that the service names; a little is added, so that clients come apart.
    """
    if stated is not None:
        return min(stated * random.uniform(1.0, 1.1), settings.longest_pause_s)
    doubled = settings.pause_s * 2.0 ** min(attempt, 30)
    return min(doubled, settings.longest_pause_s) * random.uniform(0.5, 1.0)


def retry_after(reply: Reply) -> float | None:
    """The seconds that `Retry-After` asks for; None if it asks for none."""
    text = reply.headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        then = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, then.timestamp() - time.time())


def passes(reply: Reply, failure: Exception) -> bool:
    """Whether the same request may succeed later: not where a quota is used up that waiting does
    not free, of what is kept."""
    quota = failure.problem.get("quota") if isinstance(failure, ProblemError) else None
    if isinstance(quota, dict) and quota.get("what") in ("bytes", "datasets"):
        return False
    in_progress = reply.status == 409 and retry_after(reply) is not None
    return reply.status in _PASSING or in_progress


def refusal(reply: Reply, request: Request) -> ProblemError | UnexpectedResponse:
    """The exception for a response with an error's status (or a redirection)."""
    request_line = f"{request.method} {request.path}"
    if reply.media_type != _PROBLEM:
        what = f"The response to {request_line} is {reply.media_type or 'nothing'}, no problem"
        if location := reply.headers.get("location"):
            what += f"; it leads to {location}"
        return UnexpectedResponse(what, reply.status, _beginning(reply))
    problem = json_of(reply, "type")
    if problem.get("detail") == _NOTHING_AT_PATH or reply.status == 405:
        return UnexpectedResponse(f"The service has no {request_line}", reply.status)
    error = error_of(problem)
    if reply.status == 401:
        error.add_note("The key is given as Umbel(url, key), or as UMBEL_KEY in the environment.")
    return error


def error_of(problem: Mapping[str, Any], job: str | None = None) -> ProblemError:
    """The exception for a problem, by its type."""
    return BY_TYPE.get(str(problem.get("type")), ProblemError)(problem, job)


def show_warning(reply: Reply) -> None:
    """Pass on the header `Warning`: what this form of a tree cannot represent, or why a cut
    has fewer clusters."""
    text = reply.headers.get("warning")
    if text:
        quoted = text.partition('"')[2].rpartition('"')[0] or text
        warnings.warn(as_arguments(quoted), UmbelWarning, stacklevel=2)


def hopeless(cut: httpx.TransportError, answered: bool) -> bool:
    """Whether repeating cannot help: a wrong scheme, or nobody has ever listened there."""
    never_there = isinstance(cut, httpx.ConnectError) and not answered
    return never_there or isinstance(cut, httpx.UnsupportedProtocol)


def unreachable(
    settings: Settings, request: Request, cut: httpx.TransportError, answered: bool
) -> ConnectionFailed:
    """The exception for a cut connection. answered : whether the service has answered before."""
    why = str(cut) or type(cut).__name__
    if hopeless(cut, answered):
        return ConnectionFailed(
            f"No Umbel service answers at {settings.url} ({why}). Start one with `umbel serve`, or "
            "with Umbel.local(); or give the address of another: Umbel(url), or UMBEL_URL."
        )
    return ConnectionFailed(
        f"The connection to {settings.url} was lost during {request.method} {request.path}: {why}."
    )


def _beginning(reply: Reply) -> str:
    return reply.content[:_BEGINNING].decode("utf-8", "replace").strip()
