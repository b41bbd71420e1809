"""Numbers on jobs, kept in Redis, so that any process can add to them and any API can show them.

What a Lua script changes it also counts, in the same step, hence once: attempts, ends, waits,
durations, pieces. What only a worker knows, `Meter` adds. Fields of the hash `metrics` are a name
and the values of labels, separated by spaces (`lua/shared.lua`). They start again at 0 when Redis
has lost its data, as counters of Prometheus may.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, cast

import redis

from workers.errors import TransientError
from workers.kinds.kind import LANES
from workers.settings import WorkerSettings
from workers.stores.redis.client import Scripts, translated

DURATIONS_MS = (
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    30_000,
    60_000,
    300_000,
    900_000,
    3_600_000,
    14_400_000,
    86_400_000,
)
"""Upper bounds of the buckets of durations; `lua/shared.lua` has the same."""

BYTES = tuple(2**exponent for exponent in range(26, 40))
"""Upper bounds of the buckets of memory: 64 MiB to 512 GiB."""

Stage = Literal["inputs", "process", "compute", "publish"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Histogram:
    """cumulated : number of values up to each bound, the last one of all values."""

    cumulated: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Lane:
    """length : jobs that wait. oldest_s : how long the one has waited that waits longest among
    those that are next in their tenant's turn."""

    length: int
    oldest_s: float


class Meter:
    """Adds what one attempt at a job has taken; `send` writes it. Used by one thread."""

    def __init__(self, client: redis.Redis, settings: WorkerSettings, method: str) -> None:
        self._client = client
        self._key = f"{settings.key_prefix}metrics"
        self._method = method
        self._added: defaultdict[str, int] = defaultdict(int)

    @contextmanager
    def stage(self, name: Stage) -> Iterator[None]:
        """Measures how long a stage takes, however it ends."""
        began = time.monotonic()
        try:
            yield
        finally:
            took_ms = int((time.monotonic() - began) * 1000)
            self._observe(f"stage {self._method} {name}", took_ms, DURATIONS_MS)

    def memory(self, n_bytes: int) -> None:
        """The most memory that the job's process has used."""
        self._observe(f"memory {self._method}", n_bytes, BYTES)

    def send(self) -> None:
        """Add everything to Redis; where that does not answer, it is not counted."""
        try:
            with translated():
                pipe = self._client.pipeline(transaction=False)
                for field, number in self._added.items():
                    pipe.hincrby(self._key, field, number)
                pipe.execute()
        except TransientError as error:
            _log.info("an attempt is not counted in the metrics: %s", error)
        self._added.clear()

    def _observe(self, field: str, value: int, bounds: Sequence[int]) -> None:
        bound = next((bound for bound in bounds if value <= bound), "inf")
        self._added[f"{field} le:{bound}"] += 1
        self._added[f"{field} sum"] += value


class JobCounts:
    """Reads what is counted. Threads may share it. Raises StoreUnavailable.

    Fields that cannot be read are left out: other versions may count other things.
    """

    def __init__(self, client: redis.Redis, settings: WorkerSettings) -> None:
        self._client = client
        self._prefix = settings.key_prefix
        self._scripts = Scripts(client, settings.key_prefix)

    def fields(self) -> dict[str, int]:
        """All fields of `metrics`. O(methods)."""
        return self._numbers("metrics")

    def lanes(self, queues: Sequence[str]) -> dict[tuple[str, str], Lane]:
        """Each lane by queue and kind. O(tenants that wait)."""
        names = [(queue, kind) for queue in queues for kind in LANES]
        *rows, now = self._scripts("queues", *(":".join(name) for name in names))
        return {
            name: Lane(int(length), (int(now) - int(since)) / 1000 if int(since) else 0.0)
            for name, (length, since) in zip(names, rows, strict=True)
        }

    def tenants(self, most: int) -> dict[tuple[str, str], int]:
        """Number of jobs by (tenant, status), of the `most` tenants with the most unfinished jobs
        and then the most jobs; all other tenants together are "other"."""
        jobs = _by_tenant(self._numbers("tenant_jobs"))
        waiting = {
            tenant: sum(counts.get(status, 0) for status in ("queued", "running", "cancelling"))
            for tenant, counts in jobs.items()
        }
        order = sorted(jobs, key=lambda name: (-waiting[name], -sum(jobs[name].values()), name))
        return _bounded(jobs, order, most)

    def kept(self, most: int) -> tuple[dict[tuple[str, str], int], float | None]:
        """Bytes in the store by (tenant, kind), of the `most` tenants with the most, and the time
        at which they were measured; None: not yet."""
        numbers = self._numbers("kept")
        at_ms = numbers.pop("at", None)
        kept = _by_tenant(numbers)
        order = sorted(kept, key=lambda name: (-sum(kept[name].values()), name))
        return _bounded(kept, order, most), None if at_ms is None else at_ms / 1000

    def _numbers(self, name: str) -> dict[str, int]:
        with translated():
            numbers = cast("dict[str, str]", self._client.hgetall(f"{self._prefix}{name}"))
        return {field: int(number) for field, number in numbers.items()}


def counters(fields: Mapping[str, int], name: str) -> dict[tuple[str, ...], int]:
    """The counters of a name, by the values of their labels."""
    return {
        tuple(labels): number
        for field, number in fields.items()
        for own, *labels in [field.split(" ")]
        if own == name
    }


def histograms(
    fields: Mapping[str, int], name: str, bounds: Sequence[int]
) -> dict[tuple[str, ...], Histogram]:
    """The histograms of a name, by the values of their labels.

    A bucket with another bound, counted by another version, belongs to the next larger one.
    """
    totals: defaultdict[tuple[str, ...], int] = defaultdict(int)
    buckets: defaultdict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * (len(bounds) + 1))
    for (*labels, last), number in counters(fields, name).items():
        key = tuple(labels)
        if last == "sum":
            totals[key] = number
        elif last.startswith("le:"):
            text = last.removeprefix("le:")
            upper = float(text)
            place = next((k for k, bound in enumerate(bounds) if upper <= bound), len(bounds))
            buckets[key][place] += number
    return {key: Histogram(tuple(accumulate(each)), totals[key]) for key, each in buckets.items()}


def _by_tenant(numbers: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Numbers of `<tenant> <what>`, by tenant and what."""
    by_tenant: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for field, number in numbers.items():
        tenant, _, what = field.rpartition(" ")
        by_tenant[tenant][what] = number
    return dict(by_tenant)


def _bounded(
    by_tenant: Mapping[str, Mapping[str, int]], order: Sequence[str], most: int
) -> dict[tuple[str, str], int]:
    sums: defaultdict[tuple[str, str], int] = defaultdict(int)
    for place, tenant in enumerate(order):
        for what, number in by_tenant[tenant].items():
            sums[tenant if place < most else OTHER, what] += number
    return dict(sums)


OTHER = "other tenants"
"""No tenant has this name: a tenant's has no space."""
