"""Metrics of the whole service, read at each scrape from Redis: jobs, queues, workers, tenants, the
store. Every API shows the same numbers, so they are not to be added up over APIs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from workers.errors import TransientError
from workers.jobs.hints import QUEUES
from workers.jobs.ledger import Ledger
from workers.stores.objects.blobs import Blobs
from workers.telemetry.job_counts import (
    BYTES,
    DURATIONS_MS,
    Histogram,
    JobCounts,
    counters,
    histograms,
)


class ServiceMetrics(Collector):
    """most_tenants : how many tenants have a label of their own."""

    def __init__(
        self, ledger: Ledger, blobs: Blobs, job_counts: JobCounts, most_tenants: int
    ) -> None:
        self._ledger = ledger
        self._blobs = blobs
        self._job_counts = job_counts
        self._most_tenants = most_tenants

    def collect(self) -> Iterable[Metric]:
        up = GaugeMetricFamily("umbel_redis_up", "Whether Redis answers.")
        try:
            families = [*self._states(), *self._attempts(), *self._tenants()]
        except TransientError:
            families = []
        up.add_metric([], 1 if families else 0)
        yield up
        yield from families
        yield from self._room()

    def describe(self) -> Iterable[Metric]:
        """Nothing: the registry would otherwise read everything when the collector is added."""
        return []

    def _states(self) -> Iterable[Metric]:
        """What is the case now."""
        jobs = {(status,): count for status, count in self._ledger.counts().items()}
        yield _gauge("umbel_jobs", "Jobs by status.", ["status"], jobs)
        queued = {(queue,): count for queue, count in self._ledger.queued().items()}
        yield _gauge("umbel_queued", "Jobs that wait, by queue.", ["queue"], queued)
        lanes = self._job_counts.lanes(QUEUES)
        yield _gauge(
            "umbel_lane_jobs",
            "Jobs that a worker may take, by queue and kind of work.",
            ["queue", "kind"],
            {name: lane.length for name, lane in lanes.items()},
        )
        yield _gauge(
            "umbel_lane_oldest_seconds",
            "How long the job waits that has waited longest of those next in a tenant's turn.",
            ["queue", "kind"],
            {name: lane.oldest_s for name, lane in lanes.items()},
        )
        webhooks = {(status,): count for status, count in self._ledger.webhooks.counts().items()}
        yield _gauge(
            "umbel_webhooks",
            "Jobs with a webhook, by where that stands; and moves of aliases whose webhook is due, "
            "or was sent or given up since Redis was empty.",
            ["status"],
            webhooks,
        )
        alive = self._ledger.workers.n_alive()
        yield GaugeMetricFamily("umbel_workers", "Worker processes alive.", value=alive)

    def _attempts(self) -> Iterable[Metric]:
        """What has happened since Redis was empty."""
        fields = self._job_counts.fields()
        yield _counter(
            "umbel_jobs_ended",
            "Jobs that have ended.",
            ["method", "status"],
            counters(fields, "ended"),
        )
        yield _counter(
            "umbel_attempts",
            "Attempts at jobs that are over: as the job ended, or lost (the lease ran out), "
            "aborted (a passing fault), returned (the worker stopped).",
            ["method", "outcome"],
            counters(fields, "attempts"),
        )
        yield _counter(
            "umbel_pieces",
            "Pieces of fits computed, by the job's own worker or a helper.",
            ["by"],
            counters(fields, "pieces"),
        )
        yield _histogram(
            "umbel_job_wait_seconds",
            "Time from when a job is queued until a worker takes it.",
            ["method", "lane"],
            histograms(fields, "wait", DURATIONS_MS),
            DURATIONS_MS,
            1000,
        )
        yield _histogram(
            "umbel_job_duration_seconds",
            "Time from a job's first attempt to its end.",
            ["method", "status"],
            histograms(fields, "duration", DURATIONS_MS),
            DURATIONS_MS,
            1000,
        )
        yield _histogram(
            "umbel_attempt_stage_seconds",
            "Time an attempt spends in each stage: inputs, process, compute, publish.",
            ["method", "stage"],
            histograms(fields, "stage", DURATIONS_MS),
            DURATIONS_MS,
            1000,
        )
        yield _histogram(
            "umbel_job_memory_bytes",
            "The most memory that a job's process has used, resident.",
            ["method"],
            histograms(fields, "memory", BYTES),
            BYTES,
            1,
        )

    def _tenants(self) -> Iterable[Metric]:
        yield _gauge(
            "umbel_tenant_jobs",
            "Jobs kept, by tenant and status.",
            ["tenant", "status"],
            self._job_counts.tenants(self._most_tenants),
        )
        kept, measured_at = self._job_counts.kept(self._most_tenants)
        if measured_at is not None:
            yield _gauge(
                "umbel_tenant_store_bytes",
                "Bytes in the object store, by tenant and kind.",
                ["tenant", "kind"],
                kept,
            )
            yield GaugeMetricFamily(
                "umbel_store_measured_timestamp_seconds",
                "When the bytes in the object store were measured.",
                value=measured_at,
            )

    def _room(self) -> Iterable[Metric]:
        try:
            free = self._blobs.free_bytes()
        except TransientError:
            return
        if free is not None:
            yield GaugeMetricFamily(
                "umbel_store_free_bytes", "Free space of the object store's disk.", value=free
            )


def _gauge(name: str, text: str, labels: Sequence[str], values: Mapping[Any, float]) -> Metric:
    """values : by the values of the labels."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for own, value in values.items():
        family.add_metric(own, value)
    return family


def _counter(name: str, text: str, labels: Sequence[str], values: Mapping[Any, float]) -> Metric:
    family = CounterMetricFamily(name, text, labels=labels)
    for own, value in values.items():
        if len(own) == len(labels):
            family.add_metric(own, value)
    return family


def _histogram(
    name: str,
    text: str,
    labels: Sequence[str],
    values: Mapping[tuple[str, ...], Histogram],
    bounds: Sequence[int],
    unit: int,
) -> Metric:
    """unit : how many of the bounds' units are one of the metric's."""
    family = HistogramMetricFamily(name, text, labels=labels)
    texts = [str(float(bound / unit)) for bound in bounds] + ["+Inf"]
    for own, histogram in values.items():
        if len(own) == len(labels):
            buckets = list(zip(texts, map(float, histogram.cumulated), strict=True))
            family.add_metric(own, buckets, histogram.total / unit)
    return family
