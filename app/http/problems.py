"""Problems of RFC 9457: their kinds, and how every error becomes one.

A route refuses by raising `Refused(code, detail)`; title and status come from `KINDS`. Errors of
the floors below (`UsageError`, `StoreUnavailable`, ...) need no catching: the handlers here do it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from app.http import near
from app.http.addresses import address, path_of
from app.http.pointers import HEADER, QUERY, located
from app.http.problem_schemas import ProblemBody
from models.errors import UsageError, shown
from models.registry import known
from workers.errors import (
    NO_DISK,
    NO_MEMORY,
    Damaged,
    OverLimit,
    Problem,
    Rebuilding,
    StoreFull,
    StoreUnavailable,
    TransientError,
    problem,
    problem_of,
)

MEDIA_TYPE = "application/problem+json"

ENDLESS = "/events"
"""The ending of paths that take GET but no HEAD, since the response lasts as long as a job."""

MOST_INTEGER = 10**15 - 1
"""The largest integer of a structured field (RFC 9651)."""

MOST_ERRORS = 100
"""Wrong fields that a problem lists."""

_log = logging.getLogger("umbel")

UNUSABLE = "The input cannot be used"
"""Title of every error in the user's data, as `workers.errors.problem_of` gives it for a job."""

KINDS: dict[str, tuple[int, str, str]] = {
    # code: (status, title, an example of the detail)
    "malformed": (400, "The request cannot be read", "The body is not JSON: line 1 column 8."),
    "unauthenticated": (401, "A key is needed", "Send `Authorization: Bearer <key>`."),
    "forbidden": (403, "Not allowed", "This service answers requests from this machine only."),
    "not-found": (404, "Not found", "There is no job 'job_x'."),
    "method-not-allowed": (405, "Method not allowed", "This path takes GET, POST, not PUT."),
    "not-acceptable": (406, "Form not available", "A job is available as application/json."),
    "not-binary": (406, "Form not available", "Node 3 has 4 children; a linkage is binary."),
    "timeout": (408, "The request took too long", "The header was not complete in 10 seconds."),
    "conflict": (409, "Conflict with the current state", "The same request is in progress."),
    "gone": (410, "It has ended", "The link ended at 2027-01-31T00:00:00Z."),
    "invalid-dataset": (409, "The dataset cannot be used", "Dataset 'ds_x' is invalid: truncated."),
    "precondition-failed": (
        412,
        "It has changed meanwhile",
        "It has changed since the ETag in If-Match was read; read it again.",
    ),
    "too-large": (413, "Too large", "The body may have 16777216 bytes at most."),
    "unsupported-format": (415, "Unsupported format", "Upload an array as .npy."),
    "precondition-required": (
        428,
        "An ETag is needed",
        "Send `If-Match` with the ETag of the edition that the change was made for.",
    ),
    "range-not-satisfiable": (416, "Range not satisfiable", "The content has 128 bytes."),
    "invalid-request": (422, "The request cannot be used", "params.linkage: Input should be ..."),
    "unusable-input": (422, UNUSABLE, "Row 3 has 4 values, row 0 has 5."),
    "unknown-method": (422, "Unknown method", "There is no method 'x'; there are l2h."),
    "method-unavailable": (
        422,
        "The method is not available here",
        "Method 'turtle' needs the package torch, which is not installed where the service runs.",
    ),
    "unknown-input": (422, "Unknown input", "Input 'logits': there is no dataset 'ds_x'."),
    "wrong-input": (422, UNUSABLE, "Method 'l2h' needs the input 'logits'."),
    "unknown-metric": (422, UNUSABLE, "There is no metric 'x'; there are nmi, ari."),
    "wrong-role": (422, UNUSABLE, "Dataset 'ds_x' holds labels, not logits."),
    "wrong-shape": (422, UNUSABLE, "Input 'logits' must be a matrix."),
    "contradiction": (
        422,
        "Statements contradict each other",
        "Statement 0 (node 1 is 'cats') contradicts statement 1 (nodes 1 and 2 are apart).",
    ),
    "empty": (422, UNUSABLE, "The body is empty; send the file's bytes."),
    "digest-mismatch": (
        422,
        "The content does not match its digest",
        "The part's sha256 is 9f86...; stated was 1b4f....",
    ),
    "idempotency-mismatch": (
        422,
        "The idempotency key was used for another request",
        "Idempotency-Key 'a' was used with another body; use a new key.",
    ),
    "quota-exceeded": (
        429,
        "A quota is used up",
        "Tenant 'acme' keeps 3 datasets, of 3 that it may; delete some.",
    ),
    "too-many-requests": (429, "Too many requests", "Tenant 'acme' may send 10 requests a second."),
    "headers-too-large": (431, "Headers too large", "A request may have at most 200 headers."),
    "internal": (500, "Internal error", "Quote the request id when you report this."),
    "damaged": (
        500,
        "What is stored is damaged",
        "The object datasets/acme/ds_x/content in the store is not what was stored.",
    ),
    "unavailable": (503, "A part of the service is unavailable", "The store does not answer."),
    "full": (507, "No room left", "The store has 1024 bytes left; the upload has 2048."),
}


_BODILESS = frozenset({"GET", "HEAD", "DELETE"})

ANYWHERE = ("unauthenticated", "forbidden", "unavailable", "invalid-request")
"""The problems of every request for something stored, for the document."""


class Refused(HTTPException):
    """A request that is refused. `code` is one of `KINDS`; `members` go into the problem."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        status, title, _ = KINDS[code]
        super().__init__(status, detail, dict(headers or {}))
        self.problem = problem(code, title, status, detail, **members)


def not_found(what: str, name: str) -> Refused:
    """404 for what does not exist and for what belongs to another tenant."""
    return Refused("not-found", f"There is no {what} {shown(name)}.")


def refused_at(code: str, detail: str, *pointer: str | int) -> Refused:
    """A refusal because of one part of the body; `pointer` leads to it."""
    return Refused(code, detail, errors=[{"detail": detail, "pointer": list(pointer)}])


def responses(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The possible problems of a route, for its `responses=`, each with an example."""
    documented: dict[int | str, dict[str, Any]] = {}
    # Whoever needs a key may have sent too much with it; a query may be too long.
    keyed = "unauthenticated" in codes
    further = {"too-many-requests", "headers-too-large"} if keyed else set()
    for code in sorted({*codes, *further}, key=lambda code: (KINDS[code][0], code)):
        status, title, detail = KINDS[code]
        entry = documented.setdefault(
            status,
            {
                "description": title,
                "content": {
                    MEDIA_TYPE: {
                        "schema": {"$ref": "#/components/schemas/Problem"},
                        "examples": {},
                    }
                },
            },
        )
        entry["content"][MEDIA_TYPE]["examples"][code] = {
            "summary": title,
            "value": {**problem(code, title, status, detail), "request_id": "req_1"},
        }
    return documented


def respond(
    request_id: str | None,
    body: Problem,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
) -> Response:
    """The response that carries a problem. method : of the request."""
    if request_id:
        body = {**body, "request_id": request_id}
    if body.get("errors"):
        body = {**body, "errors": located(body["errors"], bodiless=method in _BODILESS)}
    # A user's text may contain a lone surrogate, which UTF-8 cannot encode but ASCII escapes can.
    content = json.dumps(body, ensure_ascii=True, allow_nan=False, default=str).encode()
    return Response(content, status_code=body["status"], headers=headers, media_type=MEDIA_TYPE)


def respond_failure(request_id: str | None, error: Damaged | TransientError) -> Response:
    """The response where Redis or the store is away, full or damaged, which is logged."""
    if isinstance(error, Damaged):
        _log.error("%s", error)
        return respond(request_id, problem_of(error))
    body, headers = _problem_of_transient(error)
    _log.warning("%s: %s", type(error).__name__, error)
    return respond(request_id, body, headers)


def request_id_of(request: Request) -> str | None:
    request_id: str | None = request.scope.get("state", {}).get("request_id")
    return request_id


def install(app: FastAPI) -> None:
    """Make every error of `app` a problem; `app.http.observability` handles unexpected ones."""

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        request_id = request_id_of(request)
        return respond(request_id, error.problem, error.headers, method=request.method)

    @app.exception_handler(UsageError)
    async def unusable(request: Request, error: UsageError) -> Response:
        body = problem_of_usage(error)
        if error.code == "bad-cursor":
            body["errors"] = [{"detail": error.detail, "pointer": [QUERY, "cursor"]}]
        return respond(request_id_of(request), body, method=request.method)

    @app.exception_handler(OverLimit)
    async def over_limit(request: Request, error: OverLimit) -> Response:
        refused = _quota_exceeded(error)
        return respond(request_id_of(request), refused.problem, refused.headers)

    @app.exception_handler(Damaged)
    @app.exception_handler(TransientError)
    async def failed(request: Request, error: Damaged | TransientError) -> Response:
        return respond_failure(request_id_of(request), error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return respond(request_id_of(request), _problem_of_validation(request, error))

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == 404 and (place := _without_slash(request)) is not None:
            return Response(status_code=308, headers={"Location": place})
        if error.status_code == 405:
            headers["Allow"] = _allowed(request) or headers.get("Allow", "")
        body = _problem_of_http(request, error, headers)
        return respond(request_id_of(request), body, headers)


_LIMITED = {
    "bytes": ("keeps {used} bytes, of {limit}", "delete datasets, jobs or trees", 60),
    "datasets": ("keeps {used} datasets, of {limit}", "delete some", 60),
    "queued": ("has {used} jobs queued, of {limit}", "wait until some have begun", 5),
}
"""For each quota: the message, what the caller can do, and when to try again, in seconds."""


def _quota_exceeded(error: OverLimit) -> Refused:
    message, advice, again_s = _LIMITED[error.what]
    whose = "This key" if error.whose == "key" else "Your tenant"
    left = max(0, error.limit - error.used)
    return Refused(
        "quota-exceeded",
        f"{whose} {message.format(used=error.used, limit=error.limit)} that it may, and the "
        f"request needs more; {advice}. GET /v1/usage shows what is used.",
        headers={
            "Retry-After": str(again_s),
            "RateLimit-Policy": f'"{error.whose}-{error.what}";q={min(error.limit, MOST_INTEGER)}'
            + (';qu="content-bytes"' if error.what == "bytes" else f';qu="{error.what}"'),
            "RateLimit": f'"{error.whose}-{error.what}";r={min(left, MOST_INTEGER)}',
        },
        quota={"whose": error.whose, "what": error.what, "used": error.used, "limit": error.limit},
    )


def problem_of_usage(error: UsageError) -> Problem:
    """The problem of a user's error, raised while a request is read; 422 if its code is unknown."""
    status, title, _ = KINDS.get(error.code, (422, UNUSABLE, ""))
    members = {"where": error.where} if error.where else {}
    return problem(error.code, title, status, error.detail, **members)


_QUOTED = re.compile(r"'([^']*)'")


def field_errors(
    errors: list[Any],
    kind: object,
    place: Callable[[Any], tuple[str | int, ...]],
    prefix: tuple[str | int, ...] = (),
) -> tuple[str, list[dict[str, Any]]]:
    """A message and `errors[]` from pydantic's error list, one entry for each place. The message
    is the first with a field or word that was likely meant, else the first.

    kind : the type that was read, one of whose fields may have been meant. place : where an error
    is; `prefix` is prepended to it. Only the first `MOST_ERRORS` errors have entries: a refusal
    must not cost more than what it refuses.
    """
    details: dict[tuple[str | int, ...], list[str]] = {}
    n_unknown = 0
    for error in errors[:MOST_ERRORS]:
        n_unknown += error["type"] == "extra_forbidden"
        sentences = details.setdefault((*prefix, *place(error)), [])
        if (
            sentence := _sentence(error, kind if n_unknown <= near.MOST else None)
        ) not in sentences:
            sentences.append(sentence)
    entries = [
        {"detail": " Or: ".join(sentences), "pointer": list(pointer)}
        for pointer, sentences in details.items()
    ]
    # A field that is misspelt is also missing: which was meant says more.
    first = next((entry for entry in entries if near.MEANT in entry["detail"]), entries[0])
    where = ".".join(map(_part, first["pointer"])) or "the body"
    more = f" ({len(entries) - 1} more in `errors`)" if len(entries) > 1 else ""
    if len(errors) > MOST_ERRORS:
        more = f" ({len(errors) - 1} more, the first in `errors`)"
    return f"{where}: {first['detail']}{more}", entries


def _part(part: str | int) -> str:
    """A part of a pointer in a message: quoted where it holds what cannot be seen."""
    quoted = shown(part)
    return str(part) if quoted == f"'{part}'" else quoted


def _sentence(error: Any, kind: object) -> str:
    if error["type"] == "extra_forbidden":
        *above, name = error["loc"]
        other = error.get("hint", "")
        meant = "" if other else near.meant(name, near.fields_at(kind, above))
        return f"There is no such field{other}.{meant}"
    message, context = str(error["msg"]), error.get("ctx") or {}
    written, accepted = error.get("input"), context.get("expected", "")
    if error["type"] == "union_tag_invalid":
        written, accepted = context["tag"], context["expected_tags"]
        message = f"{shown(written)} is no {context['discriminator']}; accepted are {accepted}"
    sentence = message if message.endswith(".") else f"{message}."
    return f"{sentence}{near.meant(written, _QUOTED.findall(str(accepted)))}"


def _problem_of_validation(request: Request, error: RequestValidationError) -> Problem:
    errors = error.errors()
    if any(entry["loc"][:1] == ("path",) for entry in errors):
        detail = "There is nothing at this path: an id or a number in it is malformed."
        return Refused("not-found", detail).problem
    hinted = [{**entry, "hint": _of_method(entry, error.body)} for entry in errors[:MOST_ERRORS]]
    every = [*hinted, *errors[MOST_ERRORS:]]
    body = getattr(request.scope["route"], "body_field", None)
    kind = None if body is None else body.field_info.annotation
    detail, entries = field_errors(every, kind, lambda entry: _place_of(entry, error.body))
    status, title, _ = KINDS["invalid-request"]
    return problem("invalid-request", title, status, detail, errors=entries)


def _of_method(entry: Any, body: Any) -> str:
    """What is wrong with a field that is a parameter of the body's method."""
    name, method_id = str(entry["loc"][-1]), body.get("method") if isinstance(body, dict) else None
    if len(entry["loc"]) != 2 or not isinstance(method_id, str):
        return ""
    found = known(method_id)
    if found is None or name not in found.Params.model_fields:
        return ""
    return f": it is a parameter of {method_id!r}, give it in 'params'"


def _place_of(entry: Any, body: Any) -> tuple[str | int, ...]:
    """Where in a request pydantic found an error."""
    root, *rest = entry["loc"]
    if root == "body":
        return place_in(body, tuple(rest), entry["type"])
    return (HEADER if root == "header" else QUERY, *rest)


def place_in(value: Any, loc: tuple[str | int, ...], kind: str) -> tuple[str | int, ...]:
    """Where in `value` an error is, without the names of alternatives that pydantic puts in.

    loc, kind : the `loc` and `type` of pydantic's error.
    """
    place: list[str | int] = []
    here = value
    for number, part in enumerate(loc, start=1):
        if isinstance(here, dict) and part in here:
            place.append(part)
            here = here[part]
        elif isinstance(here, list) and part in range(len(here)):
            place.append(part)
            here = here[int(part)]
        elif kind == "missing" and number == len(loc):
            place.append(part)
    return tuple(place)


def _without_slash(request: Request) -> str | None:
    """The address of a path below `/v1` that ends in slashes without them, with its query."""
    path = path_of(request.scope)
    plain = path.rstrip("/")
    if plain == path or not plain.startswith("/v1/"):
        return None
    query = request.scope["query_string"].decode("latin-1")
    return address(request, quote(plain, safe="/@:")) + (f"?{query}" if query else "")


_ROOM = {
    NO_MEMORY: "delete what is not needed, which needs no room, or raise its `maxmemory`",
    NO_DISK: "make room on its disk; a DELETE needs none there",
}


def _problem_of_transient(error: TransientError) -> tuple[Problem, dict[str, str]]:
    if isinstance(error, StoreFull):
        status, title, _ = KINDS["full"]
        # Only sentences that are known: others may name places.
        what = str(error) if str(error) in _ROOM else "The store has no room left"
        remedy = _ROOM.get(what, "delete what is not needed, which needs no room, or enlarge it")
        detail = f"{what}; what is stored can be read. To go on, {remedy}."
        return problem("full", title, status, detail), {}
    status, title, _ = KINDS["unavailable"]
    if isinstance(error, Rebuilding):
        detail = (
            f"Redis has started, and the service is {error}; lists can be read after that. Nothing "
            "was changed. Try again."
        )
        return problem("unavailable", title, status, detail), {"Retry-After": "5"}
    what = (
        "Redis or the object store"
        if isinstance(error, StoreUnavailable)
        else "A part of the service"
    )
    detail = f"{what} does not answer; nothing was changed. Try again."
    return problem("unavailable", title, status, detail), {"Retry-After": "2"}


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """path : of a route."""
    return compile_path(path)[0]


def _allowed(request: Request) -> str:
    """The methods of all routes with the matching path; the router knows one route's methods.

    If several match, the one with the most fixed text: `{drift_id}.csv`, not `{drift_id}`.
    """
    path = path_of(request.scope)
    methods_of: dict[str, set[str]] = {}
    for route in iter_route_contexts(request.app.routes):
        form = route.path_format
        if form and route.methods and _pattern(route.path or form).match(path):
            methods_of.setdefault(form, set()).update(route.methods)
    fixed = {form: len(re.sub(r"{[^}]*}", "", form)) for form in methods_of}
    methods = methods_of[max(fixed, key=fixed.__getitem__)] if fixed else set()
    if "GET" in methods and not path.endswith(ENDLESS):
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def _problem_of_http(request: Request, error: HTTPException, headers: Mapping[str, str]) -> Problem:
    code = {
        400: "malformed",
        404: "not-found",
        405: "method-not-allowed",
        413: "too-large",
    }.get(error.status_code)
    if code is None:
        title = str(error.detail)
        return problem("http", title, error.status_code, title)
    status, title, _ = KINDS[code]
    detail = str(error.detail)
    if code == "not-found":
        detail = "There is nothing at this path."
    if code == "method-not-allowed":
        detail = f"This path takes {headers['Allow']}, not {request.method}."
    return problem(code, title, status, detail)


def add_schema(document: dict[str, Any]) -> None:
    """Put the schema that `responses` refers to into an OpenAPI document."""
    schema = ProblemBody.model_json_schema(ref_template="#/components/schemas/{model}")
    components = document.setdefault("components", {}).setdefault("schemas", {})
    components.update(schema.pop("$defs", {}))
    components["Problem"] = schema
