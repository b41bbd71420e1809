"""Which route answers a path: few are tried.

The framework's router compares a path with each of all routes in turn, in Python: half of what a
short request takes of the event loop. Here a path is compared with the routes alone that begin with
the same two parts and have as many; their order, and what is answered where none fits, are the
framework's.
"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope, Send

from app.http.addresses import path_of


class Routing:
    """An ASGI application that answers as `router` does. O(routes with the path's beginning)."""

    def __init__(self, router: APIRouter) -> None:
        self._router = router
        self._keys = [_key_of(route) for route in router.routes]
        self._known = frozenset(self._keys)
        self._by_key: dict[str | None, APIRouter] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        router = self.of(path_of(scope)) if scope["type"] == "http" else self._router
        await router.app(scope, receive, send)

    def of(self, path: str) -> APIRouter:
        """The router with the routes that may match this path."""
        own = _key(path)
        key = own if own in self._known else None
        if key not in self._by_key:
            self._by_key[key] = self._with(key)
        return self._by_key[key]

    def _with(self, key: str | None) -> APIRouter:
        """The routes with a key and those without, in their order."""
        pairs = zip(self._router.routes, self._keys, strict=True)
        routes = [route for route, own in pairs if own is None or own == key]
        return APIRouter(routes=routes, redirect_slashes=False)


def _key(path: str) -> str:
    """The first two parts of a path and their number: `4/v1/trees` of `/v1/trees/tr_0/nodes`."""
    return f"{path.count('/')}{'/'.join(path.split('/', 3)[:3])}"


def _key_of(route: BaseRoute) -> str | None:
    """The key of all paths that a route may match; None where they have several."""
    path: str = getattr(route, "path", "{")
    key = _key(path)
    return None if "{" in key or ":path}" in path else key
