"""Who waits for a job hears of its end at once: one subscription per process, handed on.

Only a help: a message may be lost, so whoever waits looks again now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from redis.asyncio import Redis
from redis.exceptions import RedisError

from workers.stores.redis.client import options

_AGAIN_S = 0.5
_log = logging.getLogger("umbel")


class Wakes:
    """Messages `<prefix>wake:<job id>` of Redis as events of this event loop."""

    def __init__(self, url: str, prefix: str) -> None:
        self._url = url
        self._channel = f"{prefix}wake:"
        self._expected: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self.listening = False
        """Whether messages come in now; where not, look often."""

    async def listen(self) -> None:
        """Hand messages on until cancelled; connects again whenever the connection is lost."""
        while True:
            try:
                async with (
                    Redis.from_url(self._url, **{**options(), "socket_timeout": None}) as client,
                    client.pubsub(ignore_subscribe_messages=True) as messages,
                ):
                    await messages.psubscribe(f"{self._channel}*")
                    self.listening = True
                    async for message in messages.listen():
                        self._wake(str(message["channel"]).removeprefix(self._channel))
            except (RedisError, OSError) as error:
                _log.warning("waiting for jobs by looking: %s", type(error).__name__)
            finally:
                self.listening = False
            await asyncio.sleep(_AGAIN_S)

    @contextmanager
    def expect(self, job_id: str) -> Iterator[asyncio.Event]:
        """An event that is set by the next message of the job. Enter before the first look."""
        event = asyncio.Event()
        self._expected[job_id].add(event)
        try:
            yield event
        finally:
            self._expected[job_id].discard(event)
            if not self._expected[job_id]:
                del self._expected[job_id]

    def _wake(self, job_id: str) -> None:
        for event in self._expected.get(job_id, ()):
            event.set()


async def woken(event: asyncio.Event, timeout_s: float) -> None:
    """Wait for the event, `timeout_s` at most, and arm it again."""
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return
    event.clear()
