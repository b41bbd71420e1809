"""`Idempotency-Key`: the same key and body get the first response again.

A key belongs to one tenant and one route. Before anything is created, the key is reserved in Redis
together with the id of the new resource and a fingerprint of the request; afterwards the response
is stored beside it. A repeat gets that response. If the process died in between, a repeat looks up
the resource by the reserved id, and finishes what was begun with that id, so nothing is created
twice. While the first request may still be in progress, a repeat must not answer for it: what is
there already may be taken back, as by a request whose last step got no answer.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from redis import Redis
from starlette.responses import Response

from app.http import threads
from app.http.problems import Refused
from app.http.streaming import WHOLE_BYTES
from workers.errors import TransientError
from workers.jobs.interrupted import SUBMISSION_S
from workers.stores.redis.client import translated

PENDING_S = SUBMISSION_S
"""A reservation without a response for this long belongs to a process that died."""

LARGEST_ANSWER = WHOLE_BYTES
"""A longer response is not stored; a repeat is answered from the resource itself."""

KEPT_HEADERS = ("content-type", "location", "retry-after", "preference-applied", "etag", "link")

Make = Callable[[], Awaitable[Response]]
Again = Callable[[str], Awaitable[Response | None]]


class Once:
    """One POST.

    Without a key, `answer` simply creates the resource.
    scope : the key with its route, for `workers.model.Request.idempotency_key`: the ledger keeps it
        with the job, so a job is not created twice even if Redis lost everything in between.
    """

    def __init__(
        self, redis: Redis, prefix: str, tenant: str, route: str, key: str | None, keep_s: int
    ) -> None:
        self._redis = redis
        self._keep_s = keep_s
        self.key = key
        self.scope = None if key is None else f"{route}\n{key}"
        digest = hashlib.sha256(f"{route}\0{key}".encode()).hexdigest()
        self._place = f"{prefix}once:{tenant}:{digest}"
        self._reservation = ""

    async def begun(self) -> bool:
        """Whether an earlier request had this key; False without one."""
        return self.key is not None and bool(await self._call(self._redis.exists, self._place))

    async def answer(
        self,
        new_id: str,
        fingerprint: bytes,
        make: Make,
        again: Again,
        finish: Again | None = None,
    ) -> Response:
        """The first response to this key; `make` creates it if this is the first request.

        new_id : id of the resource that `make` creates.
        fingerprint : everything in the request that determines what is created.
        again : gives the response for an existing id; None if there is no such resource. Called
            once the resource was `made`, or the first request is over.
        finish : the same for an id with which a dead process may have begun; finishes what it
            began. None if nothing is left of it that could come to life.

        `make` raises only if it created nothing. Raises Refused `idempotency-mismatch` for another
        fingerprint, `conflict` while the first request is in progress.
        """
        if self.key is None:
            return await make()
        digest = hashlib.sha256(fingerprint).hexdigest()
        self._reservation = reservation = json.dumps(
            {"id": new_id, "mark": digest, "since": time.time(), "made": False, "answer": None}
        )
        earlier = await self._call(self._reserve, reservation)
        if earlier is not None:
            kept = json.loads(earlier)
            if kept["mark"] != digest:
                raise Refused(
                    "idempotency-mismatch",
                    f"Idempotency-Key {self.key!r} was used with another body; use a new key.",
                )
            if kept["answer"] is not None:
                return _replay(kept["answer"])
            abandoned = time.time() - kept["since"] >= PENDING_S
            # A reservation of an earlier version does not say whether it was made.
            is_settled = abandoned or kept.get("made", True)
            repeated = await again(kept["id"]) if is_settled else None
            if repeated is None and abandoned and finish is not None:
                repeated = await finish(kept["id"])
            if repeated is not None:
                repeated.headers["Idempotent-Replayed"] = "true"
                return repeated
            if not abandoned:
                raise Refused(
                    "conflict",
                    "The first request with this Idempotency-Key is still in progress.",
                    headers={"Retry-After": "1"},
                )
            await self._call(self._put, reservation)
        try:
            response = await make()
        except Exception:
            with suppress(TransientError):
                await self._call(self._forget, reservation)
            raise
        if response.status_code < 300:
            # A streamed response has no body to store; a repeat is answered from the resource.
            body = getattr(response, "body", None)
            short = body is not None and len(body) <= LARGEST_ANSWER
            await self.made(_kept(response) if short else None)
        return response

    async def made(self, response: dict[str, Any] | None = None) -> None:
        """Let repeats be answered: the resource exists, and will not be taken back.

        Called by a `make` that goes on for long after that. If Redis does not answer, a repeat
        waits until the first request counts as over.
        """
        if self.key is None:
            return
        kept = json.dumps({**json.loads(self._reservation), "made": True, "answer": response})
        with suppress(TransientError):
            await self._call(self._put, kept)

    def _reserve(self, value: str) -> Any:
        if self._redis.set(self._place, value, nx=True, ex=self._keep_s):
            return None
        # It may have expired between the two calls: then the second attempt reserves it.
        return self._redis.get(self._place) or self._redis.set(
            self._place, value, nx=True, get=True, ex=self._keep_s
        )

    def _put(self, value: str) -> None:
        self._redis.set(self._place, value, ex=self._keep_s)

    def _forget(self, value: str) -> None:
        current = self._redis.get(self._place)
        if current is not None and json.loads(current) == json.loads(value):
            self._redis.delete(self._place)

    async def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        return await threads.run_sync(_translated, function, *args)


def _translated(function: Callable[..., Any], *args: Any) -> Any:
    with translated():
        return function(*args)


def _kept(response: Response) -> dict[str, Any]:
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    return {
        "status": response.status_code,
        "headers": headers,
        "body": bytes(response.body).decode("latin-1"),
    }


def _replay(kept: dict[str, Any]) -> Response:
    headers = {**kept["headers"], "idempotent-replayed": "true"}
    return Response(kept["body"].encode("latin-1"), status_code=kept["status"], headers=headers)
