"""Paths of requests and addresses of our own resources, behind a proxy that removes a prefix."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from fastapi import Request


def path_of(scope: MutableMapping[str, Any]) -> str:
    """The path of a request below the proxy's prefix (`root_path`), as used for routing."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    below = path.removeprefix(prefix)
    return below if below == "" or below.startswith("/") else path


def address(request: Request, path: str) -> str:
    """The address of one of our resources for `Location`: its path behind the proxy's prefix."""
    return f"{request.scope.get('root_path', '')}{path}"
