"""How long something has been there, by the clock of Redis: the clocks of processes may differ."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from itertools import count
from typing import cast

import redis

from workers.errors import StoreFull
from workers.stores.redis.client import translated

AT_ONCE = 1000


def seen_for(
    client: redis.Redis, prefix: str, task: str, members: Collection[str]
) -> dict[str, float]:
    """Each member, with the seconds since the first of the last calls of this task that all named
    it: 0 for a new one.

    One process at a time calls it for a task. Where Redis has no room for new members, they are new
    in a later call, too. No command to Redis is about more than `AT_ONCE` members: all others would
    wait for a long one.
    """
    key = f"{prefix}seen:{task}"
    with translated():
        since = _kept(client, key)
        gone = list(since.keys() - set(members))
        for start in range(0, len(gone), AT_ONCE):
            client.zrem(key, *gone[start : start + AT_ONCE])
        if not members:
            return {}
        seconds, micros = client.time()
    now_s = seconds + micros / 1e6
    new = [member for member in dict.fromkeys(members) if member not in since]
    with suppress(StoreFull), translated():
        for start in range(0, len(new), AT_ONCE):
            client.zadd(key, dict.fromkeys(new[start : start + AT_ONCE], now_s), nx=True)
    return {member: now_s - since.get(member, now_s) for member in members}


def _kept(client: redis.Redis, key: str) -> dict[str, float]:
    """All that is kept under this key; what goes meanwhile may hide another one, which counts as
    new for this once."""
    since: dict[str, float] = {}
    for start in count(0, AT_ONCE):
        rows = client.zrange(key, start, start + AT_ONCE - 1, withscores=True)
        since |= dict(cast("list[tuple[str, float]]", rows))
        if len(rows) < AT_ONCE:
            break
    return since
