"""What a key of the object store may be."""

from __future__ import annotations


def checked(key: str) -> str:
    """`key` itself; ValueError where a part is empty, `.`, `..`, or holds a NUL or a backslash."""
    parts = key.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in key or "\\" in key:
        raise ValueError(f"not a key of the object store: {key!r}")
    return key


def checked_prefix(prefix: str) -> str:
    """`prefix` without its last `/`, checked like a key."""
    return checked(prefix.removesuffix("/"))
