"""How long something has been there, of very many things."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from workers.assembly import Assembly
from workers.stores.redis.seen import AT_ONCE, seen_for


def test_no_command_is_about_more_members_than_a_few(
    assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While Redis works on one command, everything else waits."""
    longest = 0
    send = redis.Redis.execute_command

    def counted(self: redis.Redis, *args: Any, **options: Any) -> Any:
        nonlocal longest
        answer = send(self, *args, **options)
        longest = max(longest, len(args), len(answer) if isinstance(answer, list) else 0)
        return answer

    monkeypatch.setattr(redis.Redis, "execute_command", counted)
    client, members = assembly.redis, [f"t/job_{number:05d}" for number in range(2 * AT_ONCE + 500)]
    assert set(seen_for(client, "p:", "open", members).values()) == {0.0}
    again = seen_for(client, "p:", "open", [*members, "new"])
    assert again.keys() == {*members, "new"}
    assert all(age > 0 for member, age in again.items() if member != "new")
    assert again["new"] == 0.0
    assert seen_for(client, "p:", "open", ["new"])["new"] > 0
    assert client.zrange("p:seen:open", 0, -1) == ["new"]
    assert seen_for(client, "p:", "open", []) == {}
    assert not client.exists("p:seen:open")
    assert longest <= 2 * AT_ONCE + 3
