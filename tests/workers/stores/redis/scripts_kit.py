"""The Lua scripts under a clock that the test moves, what they leave in Redis.

Five words of the scripts differ from those that run in production: the time is read from the key
`clock`, what `take` remembers stays long enough for a slow machine, a message to a channel is
appended to a list of the channel's name, of pieces of which any would do the first is taken, and
what needs a dataset or job is looked at in the order of ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import redis

from workers.stores.redis.client import source

PREFIX = "p:"
FOLDER = files("workers.stores.redis") / "lua"
SHARED = "shared"
NAMES = sorted(path.name.removesuffix(".lua") for path in FOLDER.iterdir())

_DUMP = """
local rows = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local value
  if kind == 'hash' then value = redis.call('HGETALL', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif kind == 'set' then value = redis.call('SMEMBERS', key)
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'stream' then value = redis.call('XRANGE', key, '-', '+')
  else value = redis.call('GET', key) end
  rows[#rows + 1] = { key, kind, value, redis.call('PTTL', key) }
end
return cjson.encode(rows)
"""
LOOK_EVERY = 8
COUNTS = ("counts", "queued", "hook_counts")


@dataclass
class Step:
    """One call: of the script `name`, or of a command where that is "". held : Redis afterwards."""

    name: str
    now: int
    arguments: tuple[str | int, ...]
    reply: Any = None
    held: dict[str, Any] | None = None


class TimedScripts:
    """Calls the scripts at the time that `now` (ms) says, and records the calls.

    changed : the sources of scripts to use instead, by name.
    """

    def __init__(self, client: redis.Redis, changed: Mapping[str, str] | None = None) -> None:
        self.sequences: list[list[Step]] = []
        self._client = client
        self._changed = changed or {}
        self._shas: dict[str, str] = {}
        self._dump = client.script_load(_DUMP)

    def begin(self) -> None:
        """Empty Redis and begin a sequence of calls."""
        self._client.flushdb()
        self.sequences.append([])

    def __call__(self, name: str, now: int, *arguments: str | int) -> Any:
        return self._record(Step(name, now, arguments))

    def command(self, *arguments: str | int) -> Any:
        """A command that the service itself sends."""
        return self._record(Step("", 0, arguments))

    def dump(self) -> dict[str, Any]:
        """The value of each key and whether it will expire; without the clock and fillers."""
        held = held_by(self._client.evalsha(self._dump, 0, PREFIX))
        if self.sequences[-1]:
            self.sequences[-1][-1].held = held
        return held

    def agrees(self, sequence: list[Step]) -> bool:
        """Whether each call of a recorded sequence has the same reply, and Redis holds the same
        after every `LOOK_EVERY` calls and in the end."""
        pipe = self._client.pipeline(transaction=False)
        pipe.flushdb()
        last = len(sequence) - 1
        looks = [
            (last - number) % LOOK_EVERY == 0 and step.held is not None
            for number, step in enumerate(sequence)
        ]
        for step, look in zip(sequence, looks, strict=True):
            self._send(pipe, step)
            if look:
                pipe.evalsha(self._dump, 0, PREFIX)
        replies = iter(pipe.execute(raise_on_error=False)[1:])
        for step, look in zip(sequence, looks, strict=True):
            next(replies)  # The clock was set.
            if next(replies) != step.reply or (look and held_by(next(replies)) != step.held):
                return False
        return True

    def source(self, name: str) -> str:
        text = source(name)
        if SHARED in self._changed:
            text = text.replace((FOLDER / "shared.lua").read_text(), self._changed[SHARED])
        if name in self._changed:
            rest = (FOLDER / f"{name}.lua").read_text().partition("\n")[2]
            text = text.removesuffix(rest) + self._changed[name].partition("\n")[2]
        return timed(text)

    def _record(self, step: Step) -> Any:
        pipe = self._client.pipeline(transaction=False)
        self._send(pipe, step)
        step.reply = pipe.execute()[1]
        self.sequences[-1].append(step)
        return step.reply

    def _send(self, pipe: Any, step: Step) -> None:
        pipe.set(f"{PREFIX}clock", step.now)
        if not step.name:
            pipe.execute_command(*step.arguments)
            return
        if step.name not in self._shas:
            self._shas[step.name] = self._client.script_load(self.source(step.name))
        pipe.evalsha(self._shas[step.name], 0, PREFIX, *step.arguments)


def held_by(dump: str) -> dict[str, Any]:
    """What `_DUMP` returned, in the form of `Book.keys`."""
    values = {}
    for key, kind, value, ttl in json.loads(dump):
        name = key.removeprefix(PREFIX)
        plain = _plain(name, kind, value)
        if plain and name != "clock":
            values[name] = (plain, ttl >= 0)
    return values


def timed(text: str) -> str:
    """A script with the clock of the test, and with lists for channels."""
    clock = "local clock = redis.call('GET', P .. 'clock')\n"
    clock += "local time = { math.floor(clock / 1000), clock % 1000 * 1000 }"
    changed, n_clocks = re.subn(re.escape("local time = redis.call('TIME')"), clock, text)
    assert n_clocks == 1
    changed = changed.replace("'PX', 10000)", "'PX', 3600000)")
    changed = changed.replace("redis.call('PUBLISH',", "redis.call('RPUSH',")
    by_id = r"redis.call('SORT', P .. 'needed:' .. id, 'ALPHA')"
    changed = changed.replace("redis.call('SMEMBERS', P .. 'needed:' .. id)", by_id)
    # Any of the pieces would do: here it is the first.
    return re.sub(r"redis\.call\('SRANDMEMBER', (.+?)\)", r"redis.call('SORT', \1)[1]", changed)


def _plain(name: str, kind: str, value: Any) -> Any:
    if kind == "hash":
        fields = dict(zip(value[::2], value[1::2], strict=True))
        return {k: v for k, v in fields.items() if v != "0"} if name in COUNTS else fields
    if kind == "zset":
        scores = dict(zip(value[::2], map(float, value[1::2]), strict=True))
        return {m: s for m, s in scores.items() if not m.startswith("filler")}
    if kind == "set":
        return set(value)
    if kind == "stream":
        return [(i, dict(zip(f[::2], f[1::2], strict=True))) for i, f in value]
    return value
