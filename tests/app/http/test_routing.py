"""A path finds its route among few, and the same one as among all."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Match

from app.http.routing import Routing
from app.main import documented_app

MOST_TRIED = 45


def test_each_path_finds_its_route_among_few() -> None:
    app = documented_app()
    routing = app.router.middleware_stack
    assert isinstance(routing, Routing)
    formats = [route.path_format for route in app.routes if isinstance(route, APIRoute)]
    paths = [text.replace("{", "").replace("}", "") for text in formats]
    further = [path + end for path in paths for end in ("/", "/a", "/a/b", ".json")]
    others = [
        "",
        "/",
        "//",
        "/v1",
        "/v1/",
        "/v1//trees",
        "/nothing",
        "/v1/nothing",
        "/dashboard/a/b",
    ]
    for path in (*paths, *further, *others):
        few = routing.of(path)
        assert len(few.routes) <= MOST_TRIED
        for method in ("GET", "DELETE"):
            assert endpoint(few, path, method) == endpoint(app.router, path, method), path


def endpoint(router: APIRouter, path: str, method: str) -> Any:
    """What a router answers with."""
    scope = {"type": "http", "path": path, "method": method, "headers": []}
    partial = None
    for route in router.routes:
        match, child = route.matches(dict(scope))
        if match == Match.FULL:
            return child["endpoint"]
        if match == Match.PARTIAL and partial is None:
            partial = child["endpoint"]
    return partial
