"""A job's events: one reader for each job, however many follow it."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from redis import Redis

from app.http import threads
from app.http.job_ends import JobEnds, wait_and_clear
from app.http.turns import give_place_up
from workers.jobs.ledger import Ledger
from workers.model import Record
from workers.stores.redis.events import KEPT, Event, Events, is_id, order


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a job. id : of its last event."""

    record: Record
    id: str | None


@dataclass(frozen=True, slots=True)
class Lost:
    """Events after this one are missing."""

    after: str


class Feeds:
    """The events of jobs that are followed in this process, read once for all their followers.

    Use it on one event loop. The cost in Redis is two reads for each followed job every `poll_s`
    seconds, and for each new follower at most.
    """

    def __init__(
        self, ledger: Ledger, redis: Redis, prefix: str, job_ends: JobEnds, poll_s: float
    ) -> None:
        self._ledger = ledger
        self._events = Events(redis, prefix)
        self._job_ends = job_ends
        self._poll_s = poll_s
        self._feeds: dict[tuple[str, str], _Feed] = {}

    async def follow(
        self, tenant: str, job_id: str, after: str | None, refused: Callable[[], bool]
    ) -> AsyncGenerator[Event | Ended | Lost]:
        """The job's events after `after`, as they arrive, until it has ended or is deleted, or the
        process ends, or the follower may not follow any more.

        refused : whether that is so; called whenever there are events, and after `wake`.

        `Lost` marks missing events: because the stream keeps only the last hundred,
        because it has expired, or because `after` is not an event of this job; the events that are
        still kept follow it.
        """
        with self._joined(tenant, job_id) as feed:
            await feed.refresh()
            give_place_up()
            position = after
            if after is not None and not feed.resumes(after):
                position = None
                yield Lost(after)
            while feed.record is not None and not refused():
                # Both are of one reading; what is yielded may take long.
                record, batch, reading = feed.record, feed.after(position), feed.reading
                if batch and position is not None and not batch[0].follows(position):
                    yield Lost(position)
                for event in batch:
                    if event.kind != "done":
                        yield event
                    position = event.id
                if record.ended:
                    yield Ended(record, position)
                    return
                if self._job_ends.released:
                    return
                await feed.changed(reading, refused)

    def wake(self) -> None:
        """Let every follower ask at once whether it may go on."""
        for feed in self._feeds.values():
            feed.wake()

    @contextmanager
    def _joined(self, tenant: str, job_id: str) -> Iterator[_Feed]:
        key = (tenant, job_id)
        feed = self._feeds.get(key)
        if feed is None or feed.over:
            feed = self._feeds[key] = _Feed(self, tenant, job_id)
        feed.followers += 1
        try:
            yield feed
        finally:
            feed.followers -= 1
            if not feed.followers:
                feed.stop()
                if self._feeds.get(key) is feed:
                    del self._feeds[key]

    async def read(
        self, tenant: str, job_id: str, position: str | None
    ) -> tuple[Record | None, list[Event]]:
        """The job, and its events after `position`."""

        def both() -> tuple[Record | None, list[Event]]:
            # In this order: a job seen as ended has all its events in the stream.
            record = self._ledger.get(tenant, job_id)
            return record, [] if record is None else self._events.after(job_id, position)

        return await threads.run_sync(both)

    async def pause(self, event: asyncio.Event) -> None:
        """Wait for `poll_s` seconds, or for the event."""
        await wait_and_clear(event, self._poll_s)

    def expect(self, job_id: str, event: asyncio.Event) -> AbstractContextManager[asyncio.Event]:
        return self._job_ends.expect(job_id, event)

    @property
    def released(self) -> bool:
        return self._job_ends.released


class _Feed:
    """What was last read of one job, and the task that reads on while the job is followed.

    record : the job; None once it is deleted.
    events : those that the stream still has, without gaps, oldest first.
    reading : the number of the last reading that brought something new.
    over : whether nothing is read any more, since the job has ended or a store did not answer.
    """

    def __init__(self, feeds: Feeds, tenant: str, job_id: str) -> None:
        self.record: Record | None = None
        self.events: list[Event] = []
        self.followers = 0
        self.reading = 0
        self.over = False
        self._feeds = feeds
        self._tenant = tenant
        self._job_id = job_id
        self._wanted = asyncio.Event()
        self._n_begun = 0
        self._n_done = 0
        self._error: Exception | None = None
        self._done = _Signal()
        self._news = _Signal()
        self._task = asyncio.create_task(self._read_on(), name=f"events of {job_id}")

    def stop(self) -> None:
        self._task.cancel()

    async def refresh(self) -> None:
        """Wait for a reading that begins now or later. Raises what the reader met."""
        wanted = self._n_begun + 1
        self._wanted.set()
        await self._wait(self._done, lambda: self._n_done >= wanted)

    def wake(self) -> None:
        self._news.give()

    async def changed(self, reading: int, refused: Callable[[], bool]) -> None:
        """Wait for a later reading than this that brought something new, or for the end of the
        process or of the follower's right.

        Raises as `refresh`.
        """
        await self._wait(
            self._news, lambda: self.reading > reading or self._feeds.released or refused()
        )

    async def _wait(self, signal: _Signal, reached: Callable[[], bool]) -> None:
        while not reached():
            if self._error is not None:
                raise self._error
            if self.over:
                return
            await signal.wait()

    def resumes(self, after: str) -> bool:
        """Whether no event after `after` has been dropped."""
        if not is_id(after):
            return False
        if any(event.id == after for event in self.events):
            return True
        following = self.after(after)
        return bool(following) and following[0].follows(after)

    def after(self, position: str | None) -> list[Event]:
        """The events after `position`; all that are kept for None."""
        if position is None:
            return list(self.events)
        start = bisect_right(self.events, order(position), key=lambda event: order(event.id))
        return self.events[start:]

    async def _read_on(self) -> None:
        try:
            with self._feeds.expect(self._job_id, self._wanted):
                while not self.over:
                    await self._read()
        except Exception as error:
            self._error = error
            self.over = True
        finally:
            self._done.give()
            self._news.give()

    async def _read(self) -> None:
        """Read once; pause if that brought nothing new."""
        self._wanted.clear()
        self._n_begun += 1
        position = self.events[-1].id if self.events else None
        record, batch = await self._feeds.read(self._tenant, self._job_id, position)
        if batch and position is not None and not batch[0].follows(position):
            self.events = []
        # A new list: followers go through the former one.
        self.events = [*self.events, *batch][-KEPT:]
        self.record = record
        self.over = record is None or record.ended
        self._n_done = self._n_begun
        self._done.give()
        if batch or self.over or self._n_done == 1 or self._feeds.released:
            self.reading += 1
            self._news.give()
        if not batch and not self.over:
            await self._feeds.pause(self._wanted)


class _Signal:
    """Wakes all who wait for it at the moment it is given."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def give(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self) -> None:
        await self._event.wait()
