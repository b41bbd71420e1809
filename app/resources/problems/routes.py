"""The pages that the types of problems name: `/problems/` and `/problems/{code}`.

They need no key and are in no document: what they say holds for every service of this version.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from fastapi import APIRouter, Request, Response

from app.http.addresses import address
from app.http.etags import etag_of, matches
from app.http.forms import Form, by_accept
from app.http.late import LateRoute
from app.http.problems import Refused
from app.resources.problems.table import Explained, explained
from models.errors import shown
from workers.errors import problem

router = APIRouter(prefix="/problems", include_in_schema=False, route_class=LateRoute)

_FORMS: tuple[Form[Any], ...] = (
    Form("json", "application/json", lambda _: iter(())),
    Form("html", "text/html", lambda _: iter(())),
)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
    "Vary": "Accept",
}


@router.api_route("", methods=["GET", "HEAD"])
async def list_problems(request: Request) -> Response:
    """All types of problems."""
    found = explained().values()
    items = "".join(
        f'<li><a href="{address(request, _path(each))}">{each.code}</a>: {escape(each.title)}</li>'
        for each in found
    )
    body = {"items": [_body(each) for each in found]}
    return _answer(request, body, "Problems", f"<ul>{items}</ul>")


@router.api_route("/{code}", methods=["GET", "HEAD"])
async def get_problem(request: Request, code: str) -> Response:
    """What a type of problem means, an example, and what to do."""
    each = explained().get(code)
    if each is None:
        raise Refused("not-found", f"There is no type of problem {shown(code)}; see /problems.")
    body = _body(each)
    example = escape(json.dumps(body["example"], indent=2))
    text = (
        f"<p>Status {each.status}</p><p>{_prose(each.meaning)}</p>"
        f"<h2>What to do</h2><p>{_prose(each.remedy)}</p>"
        f"<h2>Example</h2><pre>{example}</pre>"
        f'<p><a href="{address(request, "/problems")}">All problems</a></p>'
    )
    return _answer(request, body, f"{each.code}: {each.title}", text)


def _path(each: Explained) -> str:
    return f"/problems/{each.code}"


def _body(each: Explained) -> dict[str, Any]:
    return {
        "type": _path(each),
        "status": each.status,
        "title": each.title,
        "meaning": each.meaning,
        "remedy": each.remedy,
        "example": problem(each.code, each.title, each.status, each.example),
    }


def _prose(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _answer(request: Request, body: dict[str, Any], title: str, text: str) -> Response:
    form = by_accept(request.headers.get("accept"), _FORMS)
    if form.suffix == "json":
        content = json.dumps(body)
    else:
        content = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title></head>'
            f"<body><main><h1>{escape(title)}</h1>{text}</main></body></html>"
        )
    etag = etag_of(content.encode())
    headers = {**_HEADERS, "ETag": etag}
    if matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=form.media)
