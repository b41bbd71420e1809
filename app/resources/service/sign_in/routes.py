"""People sign in and out; for browsers, so they are not in the document. Without an issuer there is
nothing at these paths.

A problem is shown to a browser as a small page, since a person reads it.
"""

from __future__ import annotations

from html import escape
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from app.http.auditing import sign_in_event
from app.http.dependencies import Service, ServiceDep
from app.http.keyring import Access
from app.http.late import LateRoute
from app.http.problems import Refused, respond
from app.http.sign_in.people import CALLBACK, SIGN_IN_S, People
from workers.errors import TransientError

router = APIRouter(include_in_schema=False, route_class=LateRoute)

_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
}
_MARK = "umbel_signed_in"
"""A cookie that the page's script may read: that there is a session, and nothing more."""


@router.get("/sign-in")
async def sign_in(request: Request, service: ServiceDep) -> Response:
    """Send the browser to the issuer."""
    people = _people(service)
    try:
        place, brought = await people.begin()
    except Refused as refused:
        return _refusal(request, people, refused)
    response = Response(status_code=303, headers={**_HEADERS, "Location": place})
    _set(response, people, f"{people.cookie}_sign_in", brought, SIGN_IN_S)
    return response


@router.get(CALLBACK)
async def come_back(request: Request, service: ServiceDep) -> Response:
    """Make a session of what the issuer says, and send the browser to the page."""
    people = _people(service)
    name = f"{people.cookie}_sign_in"
    query = {"state": "", **dict(request.query_params)}
    access: Access | None = None
    try:
        brought = people.cookie_in(request.headers, name) or ""
        cookie, access = await people.finish(query, brought)
    except Refused as refused:
        response = _refusal(request, people, refused)
    except TransientError:
        away = Refused("unavailable", "Redis does not answer; sign in again in a moment.")
        response = _refusal(request, people, away)
    else:
        response = Response(status_code=303, headers={**_HEADERS, "Location": people.path})
        most = max(1, service.settings.oidc_session_s)
        _set(response, people, people.cookie, cookie, most)
        _set(response, people, _MARK, "1", most, readable=True)
    _set(response, people, name, "", 0)
    service.audit.note(
        sign_in_event(request.scope, access, response.status_code), counted=access is None
    )
    return response


@router.get("/sign-in/session")
async def session(request: Request, service: ServiceDep) -> dict[str, Any]:
    """Whether one can sign in here, and who has."""
    people = service.people
    if people is None:
        return {"available": False, "name": None, "tenant": None, "role": None}
    try:
        access = await people.admit(request.headers)
    except Refused:
        access = None
    key = None if access is None else access.key
    return {
        "available": True,
        "name": None if key is None else key.name,
        "tenant": None if key is None else key.tenant,
        "role": None if key is None else key.role,
    }


@router.post("/sign-out")
async def sign_out(request: Request, service: ServiceDep) -> Response:
    """End the session of this browser; the address at which it ends that of the issuer."""
    people = _people(service)
    people.require_origin(request.headers)
    place = await people.sign_out(request.headers)
    service.feeds.wake()
    response = Response(status_code=204, headers=_HEADERS)
    if place is not None:
        response = JSONResponse({"address": place}, headers=_HEADERS)
    _set(response, people, people.cookie, "", 0)
    _set(response, people, _MARK, "", 0, readable=True)
    return response


def _people(service: Service) -> People:
    if service.people is None:
        raise Refused("not-found", "Nobody signs in here: UMBEL_OIDC_ISSUER is not set.")
    return service.people


def _set(
    response: Response,
    people: People,
    name: str,
    value: str,
    seconds: int,
    *,
    readable: bool = False,
) -> None:
    """Set a cookie, or with 0 seconds remove it."""
    lax: Literal["lax"] = "lax"
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path="/",
        secure=people.secure,
        httponly=not readable,
        samesite=lax,
    )


def _refusal(request: Request, people: People, refused: Refused) -> Response:
    problem, headers = refused.problem, {**_HEADERS, **(refused.headers or {})}
    if "text/html" not in request.headers.get("accept", ""):
        return respond(request.scope["state"].get("request_id"), problem, headers)
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not signed in</title>'
        f"<h1>Not signed in</h1><p>{escape(problem['detail'])}</p>"
        f'<p><a href="{escape(people.path)}sign-in">Sign in again</a> or '
        f'<a href="{escape(people.path)}">go to the page</a></p></html>'
    )
    return Response(page, refused.status_code, headers, "text/html; charset=utf-8")
