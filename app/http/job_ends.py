"""Announcements that jobs have ended: one subscription per process, forwarded to waiting requests.

A message may be lost, so waiting requests also read the job from time to time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import RedisError

from workers.stores.redis.client import connect_async

_AGAIN_S = 0.5
_log = logging.getLogger("umbel")


class JobEnds:
    """Messages `<prefix>wake:<job id>` of Redis as events of this event loop."""

    def __init__(self, url: str, prefix: str) -> None:
        self._url = url
        self._channel = f"{prefix}wake:"
        self._expected: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self.listening = False
        """Whether messages arrive at present; if not, read jobs often."""
        self.released = False
        """Whether the process ends, so that no request may wait any longer."""

    async def listen(self) -> None:
        """Forward messages until cancelled; reconnects whenever the connection is lost."""
        while True:
            try:
                async with (
                    connect_async(self._url) as client,
                    client.pubsub(ignore_subscribe_messages=True) as messages,
                ):
                    await messages.psubscribe(f"{self._channel}*")
                    self.listening = True
                    async for message in messages.listen():
                        self._announce(str(message["channel"]).removeprefix(self._channel))
            except (RedisError, OSError) as error:
                _log.warning(
                    "no announcements of ended jobs; polling them instead: %s",
                    type(error).__name__,
                )
            finally:
                self.listening = False
            await asyncio.sleep(_AGAIN_S)

    @contextmanager
    def expect(self, job_id: str, event: asyncio.Event | None = None) -> Iterator[asyncio.Event]:
        """An event, new or given, that the job's next message sets. Enter before the job is first
        read."""
        event = event or asyncio.Event()
        self._expected[job_id].add(event)
        try:
            yield event
        finally:
            self._expected[job_id].discard(event)
            if not self._expected[job_id]:
                del self._expected[job_id]

    def release(self) -> None:
        """Let all requests that wait go on at once, and none wait from now on."""
        self.released = True
        for job_id in list(self._expected):
            self._announce(job_id)

    def _announce(self, job_id: str) -> None:
        for event in self._expected.get(job_id, ()):
            event.set()


async def wait_and_clear(event: asyncio.Event, timeout_s: float) -> None:
    """Wait for the event, `timeout_s` at most, and clear it so that it can be set again."""
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return
    event.clear()
