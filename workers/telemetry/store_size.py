"""How many bytes the object store holds, by tenant and kind, measured by one process at a time.

Everything is listed, so that the result is right whatever happened before. A store of many objects
is listed seldom: at most a fiftieth of the time goes into it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import redis

from workers.stores.objects.blobs import Blobs
from workers.stores.redis.client import translated

KINDS = {
    "datasets": "datasets",
    "uploads": "uploads",
    "attempts": "results",
    "jobs": "requests",
    "checkpoints": "checkpoints",
    "pieces": "pieces",
}
"""The kind of bytes by the first part of their keys."""

_SHARE = 50
"""The pause after a measurement is this many times what it took, or longer."""


class StoreSize:
    """Measures the store every `every_s` seconds, if no other process did. Used by one thread."""

    def __init__(self, blobs: Blobs, client: redis.Redis, prefix: str, every_s: float) -> None:
        self._blobs = blobs
        self._client = client
        self._key = f"{prefix}kept"
        self._turn = f"{prefix}only:store-size"
        self._every_s = every_s
        self._look_at = 0.0

    def measure(self) -> bool:
        """Whether it was measured now: it was due, and nobody else did. Raises TransientError."""
        if not self._every_s or time.monotonic() < self._look_at:
            return False
        self._look_at = time.monotonic() + min(self._every_s, 10.0)
        with translated():
            if not self._client.set(self._turn, 1, nx=True, px=max(1, int(self._every_s * 1000))):
                return False
        began = time.monotonic()
        kept: dict[Any, int] = dict(self._sizes())
        took_s = time.monotonic() - began
        with translated():
            seconds, micros = self._client.time()
            pipe = self._client.pipeline(transaction=True)
            pipe.delete(self._key)
            pipe.hset(self._key, mapping={**kept, "at": seconds * 1000 + micros // 1000})
            pipe.set(self._turn, 1, px=int(max(self._every_s, _SHARE * took_s) * 1000))
            pipe.execute()
        return True

    def _sizes(self) -> dict[str, int]:
        """Bytes by `<tenant> <kind>`."""
        kept: defaultdict[str, int] = defaultdict(int)
        for folder, kind in KINDS.items():
            for key, size in self._blobs.sizes(f"{folder}/"):
                kept[f"{key.split('/', 2)[1]} {kind}"] += size
        return dict(kept)
