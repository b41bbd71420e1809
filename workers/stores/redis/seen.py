"""How long something has been there, by the clock of Redis: the clocks of processes may differ."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import cast

import redis

from workers.errors import StoreFull
from workers.stores.redis.client import translated


def seen_for(
    client: redis.Redis, prefix: str, task: str, members: Collection[str]
) -> dict[str, float]:
    """Each member, with the seconds since the first of the last calls of this task that all named
    it: 0 for a new one.

    One process at a time calls it for a task. Where Redis has no room for new members, they are new
    in a later call, too. Three round trips at most.
    """
    key = f"{prefix}seen:{task}"
    with translated():
        rows = cast("list[tuple[str, float]]", client.zrange(key, 0, -1, withscores=True))
        since = dict(rows)
        gone = since.keys() - set(members)
        if gone:
            client.zrem(key, *gone)
        if not members:
            return {}
        seconds, micros = client.time()
    now_s = seconds + micros / 1e6
    new = {member: now_s for member in members if member not in since}
    if new:
        with suppress(StoreFull), translated():
            client.zadd(key, new, nx=True)
    return {member: now_s - since.get(member, now_s) for member in members}
