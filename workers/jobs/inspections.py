"""Datasets that a worker must open, each with the job that does so: both come to be, or neither.

A marker in the store names such a dataset from before it exists until its job was submitted. If the
process dies in between, a sweep finds the marker and submits the job. The marker has the job's id,
so that it is not submitted twice. Another marker says that a request completes an upload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from workers.artifacts.datasets import Dataset, Datasets
from workers.errors import AlreadyThere, Missing, TransientError
from workers.jobs.interrupted import EVERY_S, SUBMISSION_S, Interrupted
from workers.kinds.inspect import InspectionOptions
from workers.kinds.kind import Size
from workers.kinds.registry import kind_of
from workers.model import Record, Request, made_at, new_id, now
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.redis.records import Records
from workers.stores.redis.seen import seen_for

_WATCHED_S = 3600.0
"""How long the write of a completion that did not come to its end may be under way."""


class Inspections:
    """Threads may share it. submit : as `Ledger.submit`."""

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        datasets: Datasets,
        interrupted: Interrupted,
        submit: Callable[[Request, Mapping[str, bytes]], Record],
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._datasets = datasets
        self._interrupted = interrupted
        self._submit = submit

    def create(self, dataset: Dataset, request_id: str, *, kept: bool = False) -> None:
        """Create a dataset that is to be inspected, and submit the job that does it.

        Raises StoreUnavailable or StoreFull; then there is no dataset, unless it is `kept`, as in
        `Datasets.create`: then the sweep submits what is missing.
        """
        marker = layout.uninspected(dataset.tenant, dataset.id)
        job_id = new_id("job")
        self._blobs.put(marker, f"{job_id} {now()}".encode())
        self._datasets.create(dataset, kept=kept)
        try:
            self._submit(_inspection(job_id, dataset, request_id), {})
        except BaseException as error:
            if not (kept and isinstance(error, TransientError)):
                self._datasets.delete(dataset.tenant, dataset.id)
            raise
        with suppress(TransientError):
            self._blobs.delete(marker)

    def complete(self, dataset: Dataset, request_id: str) -> bool:
        """Make the dataset of an upload in parts exist, unless it does; False if it was deleted
        since its upload was complete.

        Several requests may do so at once, and repeat it. One whose write gets no answer may bring
        back the facts of a dataset that was deleted meanwhile: its marker stays until it, or a
        sweep, has seen that the content is there. Raises as `create`.
        """
        tenant, own_id, marker = dataset.tenant, dataset.id, None
        if self._datasets.get(tenant, own_id) is None:
            marker = layout.completing(tenant, own_id, new_id("cp"))
            self._blobs.put(marker, b"")
            # What fails here is repeated by its client, or another request has been answered by it.
            with suppress(AlreadyThere):
                if dataset.status == "inspecting":
                    self.create(dataset, request_id, kept=True)
                else:
                    self._datasets.create(dataset, kept=True)
        whole = self._datasets.whole(tenant, own_id)
        if marker is not None:
            with suppress(TransientError):
                self._blobs.delete(marker)
        return whole

    def sweep(self) -> int:
        """Submit what has had no job for `SUBMISSION_S`; returns the number of jobs. Remove what
        completions of that time have brought back.

        The time is that since a sweep saw it first, as in `Interrupted.sweep`. One of all processes
        does this every `EVERY_S`. O(uploads between their steps).
        """
        if not self._records.only_one("inspections", EVERY_S):
            return 0
        n_submitted = 0
        names = layout.parts(self._blobs.keys(layout.UNINSPECTED), 2)
        # Only what is made here has such an id.
        own = [each for each in names if made_at(each[1].partition(".")[0]) is not None]
        markers = [layout.uninspected(*each) for each in own]
        ages = seen_for(self._records.client, self._records.prefix, "uninspected", markers)
        for marker, age in ages.items():
            if age <= SUBMISSION_S:
                continue
            if "." in marker.rpartition("/")[2]:
                self._look(marker, age)
            else:
                n_submitted += self._finish(marker)
        return n_submitted

    def _look(self, marker: str, age: float) -> None:
        """Remove what a completion has brought back, unless it may still be at work; again in each
        sweep, while its write may arrive."""
        _, tenant, name = marker.split("/", 2)
        self._datasets.whole(tenant, name.partition(".")[0])
        if age > _WATCHED_S:
            self._blobs.delete(marker)

    def _finish(self, marker: str) -> bool:
        """Submit the inspection of one dataset; False if it has one."""
        _, tenant, dataset_id = marker.split("/", 2)
        try:
            job_id, _ = self._blobs.get(marker).decode().split()
        except Missing:
            return False
        dataset = self._datasets.get(tenant, dataset_id)
        # Facts whose write got no answer arrive without their content, which is gone by then.
        submitted = (
            dataset is not None
            and dataset.status == "inspecting"
            and self._datasets.whole(tenant, dataset_id)
        )
        if dataset is not None and submitted:
            try:
                self._submit(_inspection(job_id, dataset, ""), {})
            except AlreadyThere:
                submitted = self._complete(tenant, job_id)
        self._blobs.delete(marker)
        return submitted

    def _complete(self, tenant: str, job_id: str) -> bool:
        """Complete a submission whose request is stored; False if it was complete."""
        if self._records.owner(job_id) is not None:
            return False
        # The process may have died before the open marker, without which no job is restored.
        with suppress(AlreadyThere):
            self._blobs.put(layout.open_marker(tenant, job_id), b"", create=True)
        return self._interrupted.finish(tenant, job_id) is not None


def _inspection(job_id: str, dataset: Dataset, request_id: str) -> Request:
    kind = kind_of("inspect")
    return Request(
        id=job_id,
        tenant=dataset.tenant,
        kind="inspect",
        method="inspect",
        options={"dataset": dataset.id},
        created_at=now(),
        request_id=request_id,
        cost_s=kind.seconds(InspectionOptions(dataset=dataset.id), {}, Size(n_bytes=dataset.bytes)),
    )
