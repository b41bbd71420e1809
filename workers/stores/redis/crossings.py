"""Two kinds of work that exclude each other, without one waiting for the other.

Each notes first that it goes on with its subject, and looks then for a note of the other kind:
where two meet, at least one sees the other, and gives up. What a dead process left counts for
`HOLD_S`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import redis

from workers.errors import StoreFull, TransientError
from workers.settings import WorkerSettings
from workers.stores.redis.client import translated

HOLD_S = 30
"""How long a note counts: far longer than either kind of work takes."""


class Crossings:
    """The crossings of all processes of one Redis. Threads may share it; every call blocks."""

    def __init__(self, client: redis.Redis, settings: WorkerSettings) -> None:
        self._client = client
        self._prefix = f"{settings.key_prefix}crossing:"

    @contextmanager
    def entered(self, kind: str, other: str, subject: str) -> Iterator[bool]:
        """Whether no work of the kind `other` goes on with the subject; to be left at the end.

        Where Redis refuses writes there is no note, and True is no promise: there is room for
        removals alone. Nor is it where Redis forgets the note meanwhile.

        Raises StoreUnavailable.
        """
        own, token = f"{self._prefix}{kind}:{subject}", secrets.token_hex(8)
        with translated():
            now = self._client.time()[0]
        with suppress(StoreFull), translated(), self._client.pipeline() as pipe:
            pipe.zadd(own, {token: now})
            pipe.expire(own, HOLD_S)
            pipe.execute()
        with translated():
            n_others = self._client.zcount(f"{self._prefix}{other}:{subject}", now - HOLD_S, "inf")
        try:
            yield not n_others
        finally:
            with suppress(TransientError), translated():
                self._client.zrem(own, token)
