"""Valkey by the simulated clock: scripts read it, keys expire by it, and each call is one step."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import redis
from redis.client import EMPTY_RESPONSE, Pipeline

from tests.simulation.wire_kit import Wire
from tests.simulation.world_kit import START
from workers.stores.redis import client as client_module

TIME = "local time = redis.call('TIME')"
CLOCK = "local time = { KEYS[1], KEYS[2] }"
"""No script has keys; seconds and microseconds of the clock go in their place."""

_EXPIRE = """
local most = tonumber(ARGV[2])
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then
    if left <= most then redis.call('DEL', key) else redis.call('PEXPIRE', key, left - most) end
  end
end
"""

_RECORDS = """
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. 'job:*')) do
  found[#found + 1] = key
  found[#found + 1] = redis.call('HGETALL', key)
end
return found
"""

Changed = Callable[[str, tuple[Any, ...], Any], None]
"""changed(script, arguments after the prefix, answer): called once a script has run."""


class Clocked:
    """One Valkey whose scripts read the world's clock.

    alter : what stands in a script in place of a text, by script; for faults put in by hand.
    """

    def __init__(self, url: str, prefix: str, alter: dict[str, tuple[str, str]]) -> None:
        self.wire = Wire(url)
        self.url = url
        self.prefix = prefix
        self.alter = alter
        self.scripts: dict[str, str] = {}
        self.sha: Callable[[str], str] = cache(lambda text: hashlib.sha1(text.encode()).hexdigest())
        self.source = cache(self._source)
        """Takes the place of `client.source`."""
        self._original = client_module.source.__wrapped__
        self._template = SimulatedRedis.from_url(url, decode_responses=True)
        self.plain = self.client(_AtOnce(), lambda *_: None)
        """A client that no fault touches."""
        self._expire = self._load(_EXPIRE)
        self._records = self._load(_RECORDS)
        # A script that is not there yet takes further calls, so that a first schedule would differ.
        for path in Path(client_module.__file__).with_name("lua").glob("*.lua"):
            if path.stem != "shared":
                self._load(self.source(path.stem))

    def close(self) -> None:
        self.wire.close()

    def _source(self, name: str) -> str:
        """The script `name`, by the simulated clock."""
        text = str(self._original(name))
        assert text.count(TIME) == 1
        text = text.replace(TIME, CLOCK)
        for old, new in (pair for script, pair in self.alter.items() if script in (name, "shared")):
            if old in text or name in self.alter:
                assert old in text, f"{old!r} is not in {name}"
                text = text.replace(old, new)
        self.scripts[self.sha(text)] = name
        return text

    def client(self, world: Caller, changed: Changed) -> SimulatedRedis:
        """A client of the world, over the one connection that all share: a call is done before
        another one begins."""
        client = copy.copy(self._template)
        client.world, client.clocked, client.changed = world, self, changed
        return client

    def expire(self, seconds: float) -> None:
        """Take so much time off every key that ends by itself."""
        self.wire.first("EVALSHA", self._expire, 0, self.prefix, int(seconds * 1000))

    def records(self, *commands: Sequence[str]) -> tuple[dict[str, dict[str, str]], list[Any]]:
        """The fields of the record of each job, and the replies to commands that only read, all at
        once."""
        script = ("EVALSHA", self._records, 0, self.prefix)
        found, *replies = self.wire.ask(script, *commands)
        for reply in (found, *replies):
            if isinstance(reply, Exception):
                raise reply
        start = len(f"{self.prefix}job:")
        records = {
            key[start:]: dict(zip(row[::2], row[1::2], strict=True))
            for key, row in zip(found[::2], found[1::2], strict=True)
        }
        return records, replies

    def _load(self, text: str) -> str:
        [sha] = self.wire.ask(("SCRIPT", "LOAD", text))
        return str(sha)


class Caller(Protocol):
    """What makes calls, and has a clock: a `World`."""

    def now(self) -> datetime: ...

    def call(self, label: str, do: Callable[[], Any], refusal: Callable[[], Exception]) -> Any: ...


class _AtOnce:
    """Makes each call at once."""

    def now(self) -> datetime:
        return START

    def call(self, label: str, do: Callable[[], Any], refusal: Callable[[], Exception]) -> Any:
        return do()


class SimulatedRedis(redis.Redis):
    """A client of which each command, script or pipeline is one step of the world."""

    world: Caller
    clocked: Clocked
    changed: Changed

    def execute_command(self, *args: Any, **options: Any) -> Any:
        if args[0] != "EVALSHA":

            def run() -> Any:
                [reply] = self.clocked.wire.ask(args)
                return _answer(self.response_callbacks, args, options, reply)

            return self.world.call(f"redis {args[0]} {args[1] if args[1:] else ''}", run, _refusal)
        name = self.clocked.scripts.get(args[1], "?")

        def run_script() -> Any:
            clock = self.time()
            [reply] = self.clocked.wire.ask((*args[:2], 2, *clock, *args[3:]))
            answer = _answer(self.response_callbacks, args, options, reply)
            self.changed(name, args[4:], answer)
            return answer

        subject = args[4] if len(args) > 4 else ""
        return self.world.call(f"redis {name} {subject}", run_script, _refusal)

    def register_script(self, script: Any) -> Any:
        """All scripts are there already."""
        sha = self.clocked.sha(script)
        return lambda keys, args: self.execute_command("EVALSHA", sha, len(keys), *keys, *args)

    def time(self, **options: Any) -> Any:
        moment = self.world.now()
        return int(moment.timestamp()), moment.microsecond

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Any:
        pipe = _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipe.world, pipe.wire = self.world, self.clocked.wire
        return pipe


class _Pipeline(Pipeline):
    """Nothing comes between its commands, since a reply is awaited before another call begins."""

    world: Caller
    wire: Wire

    def execute(self, raise_on_error: bool = True) -> Any:
        commands = [*self.command_stack]

        def run() -> Any:
            replies = self.wire.ask(*(_SHORT.get(args, args) for args, _ in commands))
            return [
                _answer(self.response_callbacks, args, dict(options), reply)
                for (args, options), reply in zip(commands, replies, strict=True)
            ]

        return self.world.call("redis pipeline", run, _refusal) if commands else []


_SHORT: dict[Any, tuple[str, ...]] = {("INFO", "server"): ("ECHO", "run_id:simulated\r\n")}
"""What is sent in place of a command. The server is never another one here, and its description
has two hundred lines of which one is read."""


def _answer(callbacks: Any, args: Sequence[Any], options: dict[str, Any], reply: Any) -> Any:
    """What redis-py makes of a reply."""
    if isinstance(reply, Exception):
        if EMPTY_RESPONSE in options:
            return options[EMPTY_RESPONSE]
        raise reply
    options.pop(EMPTY_RESPONSE, None)
    options.pop("keys", None)
    name = args[0]
    callback = _CALLBACKS.get(name)
    if callback is None:
        callback = _CALLBACKS[name] = callbacks.get(name) or _unchanged
    return callback(reply, **options)


_CALLBACKS: dict[str, Callable[..., Any]] = {}
"""All clients have the same."""


def _unchanged(reply: Any, **options: Any) -> Any:
    return reply


def _refusal() -> Exception:
    return redis.ConnectionError("simulated")
