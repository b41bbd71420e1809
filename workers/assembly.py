"""The parts below the API, put together from the settings for the API and for every worker."""

from __future__ import annotations

from dataclasses import dataclass

import redis

from workers.artifacts.annotations import Annotations
from workers.artifacts.beside import Beside
from workers.artifacts.datasets import Datasets
from workers.artifacts.trees import Trees
from workers.errors import FatalError
from workers.jobs.ledger import Ledger, Message, Send
from workers.settings import WorkerSettings
from workers.stores.erasure import forget_job
from workers.stores.objects.address import blobs_at
from workers.stores.objects.blobs import Blobs
from workers.stores.redis.client import connect
from workers.stores.redis.index import Index
from workers.stores.redis.records import Records
from workers.stores.redis.removal import Removal
from workers.stores.redis.usage import Usage
from workers.stores.removals import Removals
from workers.telemetry.job_counts import JobCounts
from workers.webhooks.addresses import place_of


@dataclass(frozen=True)
class Assembly:
    """Stores, ledger and lists over one Redis and one object store. Threads may share each part."""

    blobs: Blobs
    redis: redis.Redis
    ledger: Ledger
    datasets: Datasets
    trees: Trees
    annotations: Annotations
    beside: Beside
    usage: Usage
    job_counts: JobCounts


def assemble(settings: WorkerSettings, send: Send, message: Message | None = None) -> Assembly:
    """The parts; nothing is connected yet. FatalError for an address that cannot be used.

    message : see `Ledger`.
    """
    if not settings.redis_url:
        raise FatalError("UMBEL_REDIS_URL is not set")
    client = connect(settings.redis_url)
    blobs = blobs_at(settings)
    removals = Removals(blobs)
    records = Records(client, settings, removals)
    usage = Usage(client, settings)
    beside = Beside(blobs, client, settings)

    def ensure() -> None:
        ledger.ensure_built()

    of_datasets = Index(client, settings, "dataset", removals)
    of_trees = Index(client, settings, "tree", removals)
    datasets = Datasets(blobs, records, of_datasets, ensure)
    trees = Trees(blobs, records, of_trees, beside, ensure)
    removals.forget = {
        "ds": datasets.erase,
        "job": lambda tenant, job_id: forget_job(blobs, records, tenant, job_id),
        "tr": trees.forget,
    }
    annotations = Annotations(blobs, records, of_datasets, of_trees, beside)
    ledger = Ledger(
        blobs,
        records,
        datasets,
        annotations,
        beside,
        usage,
        Removal(client, settings),
        settings,
        send,
        records.hints,
        place_of,
        message,
    )
    return Assembly(
        blobs=blobs,
        redis=client,
        ledger=ledger,
        datasets=datasets,
        trees=trees,
        annotations=annotations,
        beside=beside,
        usage=usage,
        job_counts=JobCounts(client, settings),
    )
