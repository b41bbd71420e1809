"""Paths and hosts of requests, and our addresses behind a proxy that removes a prefix."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

from fastapi import Request

_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{0,5}))?")
_LONGEST = 255
_LAST_PORT = 65_535


def host_of(value: str) -> str | None:
    """The name or address in a Host header, in small letters: `[::1]:80` gives `[::1]`; None where
    it is not a name or an address, with or without a port."""
    match = _HOST.fullmatch(value)
    if match is None or len(match[1]) > _LONGEST or int(match[2] or 0) > _LAST_PORT:
        return None
    return match[1].lower()


def path_of(scope: MutableMapping[str, Any]) -> str:
    """The path of a request below the proxy's prefix (`root_path`), as used for routing."""
    path: str = scope["path"]
    prefix: str = scope.get("root_path", "")
    below = path.removeprefix(prefix)
    return below if below == "" or below.startswith("/") else path


def address(request: Request, path: str) -> str:
    """The address of one of our resources for `Location`: its path behind the proxy's prefix."""
    return f"{request.scope.get('root_path', '')}{path}"
