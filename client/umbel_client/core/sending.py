"""One request until it is answered: repetitions, pauses, and errors by the problem's type."""

from __future__ import annotations

import email.utils
import json
import random
import time
import uuid
import warnings
from collections.abc import Mapping
from typing import Any

import httpx

from umbel_client.core.steps import AskSettings, Operation, Reply, Request, Send, Settings, Sleep
from umbel_client.errors import ConnectionFailed, ProblemError, UmbelWarning, UnexpectedResponse
from umbel_client.problems import BY_TYPE

PASSING = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""

_PROBLEM = "application/problem+json"
_BEGINNING = 200
_NOTHING_AT_PATH = "There is nothing at this path."


def new_key() -> dict[str, str]:
    """A header that makes a POST repeatable; the same for all repetitions of one request."""
    return {"Idempotency-Key": uuid.uuid4().hex}


def post(
    path: str,
    body: Any,
    *,
    query: Mapping[str, str | int | float] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
) -> Request:
    """A POST of JSON with a key. Raises ValueError for a number that is not finite."""
    content = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    return Request(
        "POST",
        path,
        query or {},
        {"Content-Type": "application/json", **new_key(), **(headers or {})},
        content,
        timeout_s,
    )


def sent(request: Request) -> Operation[Reply]:
    """The response to a request, which is repeated after refusals that pass (429, 503, a request
    with the same key in progress) and cut connections; not where a quota of what is kept is used
    up.

    Every request may be repeated: a POST carries an idempotency key. Pauses double and are drawn
    between half and all of that, unless the service names one (`Retry-After`).

    Raises ProblemError for a refusal, ConnectionFailed, UnexpectedResponse.
    """
    settings: Settings
    settings, answered = yield AskSettings()
    attempt = 0
    while True:
        stated: float | None = None
        try:
            reply: Reply = yield Send(request)
        except httpx.TransportError as cut:
            hopeless = _hopeless(cut, answered)
            failure: Exception = _unreachable(settings, request, cut, hopeless)
            if attempt >= settings.retries or hopeless:
                raise failure from cut
        else:
            answered = True
            if reply.status < 300:
                _show_warning(reply)
                return reply
            if request.method == "DELETE" and reply.status == 404 and attempt:
                return reply  # An earlier repetition has removed it.
            failure = refusal(reply, request)
            stated = retry_after(reply)
            passes = reply.status in PASSING or (reply.status == 409 and stated is not None)
            passes = passes and not _used_up(failure)
            if not passes or attempt >= settings.retries:
                if isinstance(failure, UnexpectedResponse):
                    failure.service = yield from _service_version()
                raise failure
        yield Sleep(pause(settings, attempt, stated))
        attempt += 1


def pause(settings: Settings, attempt: int, stated: float | None) -> float:
    """Seconds before the repetition after attempt number `attempt`, counted from 0.

    stated : what the service asked for; a little is added, so that clients do not come together.
    """
    if stated is not None:
        return min(stated * random.uniform(1.0, 1.1), settings.longest_pause_s)
    doubled = settings.pause_s * 2.0 ** min(attempt, 30)
    return min(doubled, settings.longest_pause_s) * random.uniform(0.5, 1.0)


def _used_up(failure: Exception) -> bool:
    """Whether a quota is used up that waiting does not free: of what is kept."""
    quota = failure.problem.get("quota") if isinstance(failure, ProblemError) else None
    return isinstance(quota, dict) and quota.get("what") in ("bytes", "datasets")


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


def refusal(reply: Reply, request: Request) -> ProblemError | UnexpectedResponse:
    """The exception for a response with an error's status (or a redirection)."""
    asked = f"{request.method} {request.path}"
    if reply.media_type != _PROBLEM:
        what = f"The response to {asked} is {reply.media_type or 'nothing'}, no problem"
        if location := reply.headers.get("location"):
            what += f"; it leads to {location}"
        return UnexpectedResponse(what, reply.status, _beginning(reply))
    problem = json_of(reply, "type")
    if problem.get("detail") == _NOTHING_AT_PATH or reply.status == 405:
        return UnexpectedResponse(f"The service has no {asked}", reply.status)
    error = error_of(problem)
    if reply.status == 401:
        error.add_note("The key is given as Umbel(url, key), or as UMBEL_KEY in the environment.")
    return error


def error_of(problem: Mapping[str, Any], job: str | None = None) -> ProblemError:
    """The exception for a problem, by its type."""
    return BY_TYPE.get(str(problem.get("type")), ProblemError)(problem, job)


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


def _service_version() -> Operation[str | None]:
    """What answers, for the message about a path that it does not have; None if it does not say."""
    try:
        reply: Reply = yield Send(Request("GET", "/v1/version"))
        body = json_of(reply, "service", "api")
    except (httpx.TransportError, UnexpectedResponse):
        return None
    return f"Umbel {body['service']}, API {body['api']}" if reply.status == 200 else None


def _show_warning(reply: Reply) -> None:
    """Pass on the header `Warning`: what this form of a tree cannot represent, or why a cut
    has fewer clusters."""
    text = reply.headers.get("warning")
    if text:
        quoted = text.partition('"')[2].rpartition('"')[0] or text
        warnings.warn(quoted, UmbelWarning, stacklevel=2)


def _hopeless(cut: httpx.TransportError, answered: bool) -> bool:
    """Whether repeating cannot help: a wrong scheme, or nobody has ever listened there."""
    never_there = isinstance(cut, httpx.ConnectError) and not answered
    return never_there or isinstance(cut, httpx.UnsupportedProtocol)


def _unreachable(
    settings: Settings, request: Request, cut: httpx.TransportError, hopeless: bool
) -> ConnectionFailed:
    why = str(cut) or type(cut).__name__
    if hopeless:
        return ConnectionFailed(
            f"No Umbel service answers at {settings.url} ({why}). Start one with `umbel serve`, or "
            "with Umbel.local(); or give the address of another: Umbel(url), or UMBEL_URL."
        )
    return ConnectionFailed(
        f"The connection to {settings.url} was lost during {request.method} {request.path}: {why}."
    )


def _beginning(reply: Reply) -> str:
    return reply.content[:_BEGINNING].decode("utf-8", "replace").strip()
