"""What tenants and keys use, and the room that uploads in progress have reserved.

The numbers change in the scripts that change what they count (`lua/shared.lua`); so a total is
always that of the records and lists in Redis.
"""

from __future__ import annotations

from typing import cast

import redis

from workers.errors import OverLimit
from workers.settings import WorkerSettings
from workers.stores.redis.client import Scripts, translated

_ALIASES = "aliases:"
"""Begins what stands for an upload where a tenant's aliases are counted."""
NAMES = ("bytes", "datasets", "trees", "jobs", "queued", "running")


class Usage:
    """Uses of all tenants of one Redis. Threads may share it.

    limits : JSON of `{"tenant": {what: most}, "key": {what: most}}`, "" where nothing is limited.
    """

    def __init__(self, client: redis.Redis, settings: WorkerSettings) -> None:
        self._client = client
        self._prefix = settings.key_prefix
        self._scripts = Scripts(client, settings.key_prefix)

    def of(self, tenant: str, key: str | None = None) -> dict[str, int]:
        """What a tenant uses, or one key of it: a number for each of `NAMES`."""
        name = f"{self._prefix}usage:{tenant}" + ("" if key is None else f":{key}")
        with translated():
            numbers = cast("list[str | None]", self._client.hmget(name, NAMES))
        return {what: int(number or 0) for what, number in zip(NAMES, numbers, strict=True)}

    def reserve(
        self,
        tenant: str,
        key: str | None,
        token: str,
        *,
        n_bytes: int,
        datasets: int,
        hold_s: float,
        limits: str,
        more: bool,
    ) -> None:
        """Reserve room for an upload, or change what `token` has reserved.

        more : whether further bytes may follow, so that a limit that is reached refuses it.
        Raises OverLimit.
        """
        answer = self._scripts(
            "reserve",
            tenant,
            key or "",
            token,
            n_bytes,
            datasets,
            int(hold_s * 1000),
            limits,
            int(more),
        )
        _raise(answer)

    def release(self, tenant: str, token: str) -> None:
        """Give a reservation back: what was uploaded counts by now, or is gone."""
        with translated():
            self._client.hdel(f"{self._prefix}reserved:{tenant}", token)

    def require_room(
        self, tenant: str, key: str | None, *, n_bytes: int, datasets: int, queued: int, limits: str
    ) -> None:
        """Raise OverLimit if a job with these would exceed a limit."""
        _raise(self._scripts("room", tenant, key or "", n_bytes, datasets, queued, limits))

    def put_part(
        self, tenant: str, key: str | None, upload: str, number: int, n_bytes: int
    ) -> bool:
        """Count a part of an upload, in place of an earlier one with its number; whether one was
        counted."""
        return bool(self._scripts("part_put", upload, tenant, key or "", number, n_bytes))

    def drop_parts(self, upload: str) -> None:
        """Forget the parts of an upload."""
        self._scripts("part_drop", upload)

    def put_aliases(self, tenant: str, n_bytes: int) -> None:
        """Count the moves of a tenant's aliases, in place of what was counted of them before."""
        self._scripts("part_put", f"{_ALIASES}{tenant}", tenant, "", 0, n_bytes)

    def uploads(self) -> set[str]:
        """The uploads whose parts are counted, but for what counts aliases."""
        start = len(f"{self._prefix}upload:")
        with translated():
            names = self._client.scan_iter(f"{self._prefix}upload:*", count=1000)
            counted = {cast("str", name)[start:] for name in names}
        return {name for name in counted if not name.startswith(_ALIASES)}


def _raise(answer: list[str]) -> None:
    if answer:
        _, whose, what, used, limit = answer
        raise OverLimit(whose, what, int(used), int(limit))
