"""Seals: the digest that a small JSON object carries of itself, checked whenever it is read.

A seal is the last member of the object (of the last object, in a list): the SHA-256 of its key and
of the rest of its bytes. So a changed or shortened object is noticed, and one that lies where
another was. Readers that know no seals ignore the member. What an earlier version wrote has none,
and is compared with nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from workers.errors import Damaged
from workers.stores.objects.blobs import Blobs

_SEAL = re.compile(rb',?"seal":"([0-9a-f]{64})"(\}\]?)\Z')
_FRAME = b',"seal":"%s"}'
_LONGEST = 4 + len(_FRAME) + 64
_ALIKE = 8
"""So many of a frame's eleven characters at their place are a seal, though a damaged one."""

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


def sealed(key: str, content: bytes) -> bytes:
    """JSON with its seal, for storing under `key`. ValueError where it ends with no object."""
    at = len(content) - (2 if content.endswith(b"}]") else 1)
    if content[at : at + 1] != b"}":
        raise ValueError("only JSON that ends with an object has a place for a seal")
    comma = b"" if content[:at].endswith(b"{") else b","
    seal = _seal(key, content).encode()
    return b"".join([content[:at], comma, b'"seal":"', seal, b'"', content[at:]])


def unsealed(key: str, stored: bytes) -> tuple[bytes, bool]:
    """The JSON without its seal, and whether it had one. Damaged where it has another one."""
    match = _SEAL.search(stored, max(0, len(stored) - _LONGEST))
    if match is None:
        if _resembles(stored):
            raise Damaged(key, "its seal is damaged")
        return stored, False
    content = stored[: match.start()] + match[2]
    if _seal(key, content).encode() != match[1]:
        raise Damaged(key, "it is not what was stored there: its seal is another one")
    return content, True


def read_sealed(blobs: Blobs, key: str) -> bytes:
    """The JSON under a key, without its seal. Missing, and Damaged."""
    return unsealed(key, blobs.get(key))[0]


def read_model(blobs: Blobs, key: str, model: type[M]) -> M:
    """The object under a key. Missing, and Damaged where it is not what was stored or not of this
    form."""
    return parsed(key, read_sealed(blobs, key), TypeAdapter(model))


def parsed(key: str, content: bytes, form: TypeAdapter[T]) -> T:
    """JSON in this form; Damaged where it cannot be read in it."""
    try:
        return form.validate_json(content)
    except ValidationError as error:
        raise Damaged(key, "it cannot be read") from error


def require_json(key: str, content: bytes) -> None:
    """Raises Damaged where it is no JSON."""
    try:
        json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Damaged(key, "it cannot be read") from error


def _seal(key: str, content: bytes) -> str:
    return hashlib.sha256(key.encode() + b"\0" + content).hexdigest()


def _resembles(stored: bytes) -> bool:
    """Whether the end of what has no seal was one before some of its bytes changed."""
    start, end = _FRAME.split(b"%s")
    for after in (0, 1):
        at = len(stored) - after - len(_FRAME) + 2 - 64
        if at >= 0:
            frame = stored[at : at + len(start)] + stored[at + len(start) + 64 :][: len(end)]
            alike = sum(one == other for one, other in zip(frame, start + end, strict=True))
            if alike >= _ALIKE:
                return True
    return False
