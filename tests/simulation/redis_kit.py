"""Valkey by the simulated clock: scripts read it, keys expire by it, and each call is one step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis
from redis.client import Pipeline

from tests.simulation.world_kit import World
from workers.stores.redis import client as client_module

TIME = "local time = redis.call('TIME')"
CLOCK = "local time = redis.call('HMGET', P .. 'clock', 's', 'us')"

_EXPIRE = """
local most = tonumber(ARGV[2])
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    if left <= most then redis.call('DEL', key) else redis.call('PEXPIRE', key, left - most) end
  end
end
"""

Changed = Callable[[str, tuple[Any, ...], Any], None]
"""changed(script, arguments after the prefix, answer): called once a script has run."""


class Clocked:
    """One Valkey whose scripts read the world's clock.

    alter : what stands in a script in place of a text, by script; for faults put in by hand.
    """

    def __init__(self, url: str, prefix: str, alter: dict[str, tuple[str, str]]) -> None:
        self.plain = redis.Redis.from_url(url, decode_responses=True, single_connection_client=True)
        self.url = url
        self.prefix = prefix
        self.alter = alter
        self.scripts: dict[str, str] = {}
        self._original = client_module.source.__wrapped__
        self._expire = self.plain.register_script(_EXPIRE)
        # A script that is not there yet takes further calls, so that a first schedule would differ.
        for path in Path(client_module.__file__).with_name("lua").glob("*.lua"):
            if path.stem != "shared":
                self.plain.script_load(self.source(path.stem))

    def source(self, name: str) -> str:
        """The script `name`, by the simulated clock; takes the place of `client.source`."""
        text = str(self._original(name))
        assert text.count(TIME) == 1
        text = text.replace(TIME, CLOCK)
        for old, new in (pair for script, pair in self.alter.items() if script in (name, "shared")):
            if old in text or name in self.alter:
                assert old in text, f"{old!r} is not in {name}"
                text = text.replace(old, new)
        self.scripts[hashlib.sha1(text.encode()).hexdigest()] = name
        return text

    def client(self, world: World, changed: Changed) -> SimulatedRedis:
        """A client of the world, over the one connection that all share: a call is done before
        another one begins."""
        client = SimulatedRedis(connection_pool=self.plain.connection_pool)
        client.connection = self.plain.connection
        client.world, client.clocked, client.changed = world, self, changed
        return client

    def clock(self, world: World) -> tuple[str | int, ...]:
        """The command that sets the clock."""
        moment = world.now()
        key, seconds = f"{self.prefix}clock", int(moment.timestamp())
        return "HSET", key, "s", seconds, "us", moment.microsecond

    def expire(self, seconds: float) -> None:
        """Take so much time off every key that ends by itself."""
        self._expire(keys=[], args=[self.prefix, int(seconds * 1000)])


class SimulatedRedis(redis.Redis):
    """A client of which each command, script or pipeline is one step of the world."""

    world: World
    clocked: Clocked
    changed: Changed

    def execute_command(self, *args: Any, **options: Any) -> Any:
        label = self._label(args)
        do: Any = super().execute_command

        def run() -> Any:
            answer = do(*args, **options)
            if args[0] == "EVALSHA":
                self.changed(self.clocked.scripts.get(args[1], ""), args[4:], answer)
            return answer

        return self.world.call(label, run, _refusal)

    def _send_command_parse_response(
        self, conn: Any, command_name: Any, *args: Any, **options: Any
    ) -> Any:
        if args[0] != "EVALSHA":
            return super()._send_command_parse_response(conn, command_name, *args, **options)
        # Scripts alone read the clock; it goes before them in the same message.
        conn.send_packed_command(conn.pack_commands([self.clocked.clock(self.world), args]))
        conn.read_response()
        return self.parse_response(conn, command_name, **options)

    def time(self, **options: Any) -> Any:
        moment = self.world.now()
        return int(moment.timestamp()), moment.microsecond

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        pipe = _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipe.world = self.world
        return pipe

    def _label(self, args: tuple[Any, ...]) -> str:
        if args[0] == "EVALSHA":
            subject = args[4] if len(args) > 4 else ""
            return f"redis {self.clocked.scripts.get(args[1], '?')} {subject}"
        return f"redis {' '.join(map(str, args[:2]))}"


class _Pipeline(Pipeline):
    world: World

    def execute(self, raise_on_error: bool = True) -> Any:
        commands = [*self.command_stack]

        def run() -> Any:
            self.command_stack = [*commands]
            return super(_Pipeline, self).execute(raise_on_error)

        return self.world.call("redis pipeline", run, _refusal)


def _refusal() -> Exception:
    return redis.ConnectionError("simulated")
