"""How jobs end: the terminal object first, then everything that follows from it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from workers.artifacts import results
from workers.artifacts.checkpoints import Checkpoints
from workers.artifacts.datasets import Dataset, Datasets
from workers.artifacts.trees import tree_record
from workers.errors import Missing, Problem, StoreFull, problem
from workers.formats.column_roles import Column
from workers.jobs.deliveries import read_delivery
from workers.jobs.kept_runs import adopted_runs, release
from workers.kinds.registry import kind_of
from workers.model import End, Request
from workers.settings import WorkerSettings
from workers.stores.erasure import erase_job
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.job_files import REQUEST, bare_end, read_end, read_request, write_end
from workers.stores.redis.records import Records
from workers.work.job import RUNS

_ID = Column(name="id", type="text", role="id")
_TEXT = Column(name="text", type="text", role="text")
_VECTOR = Column(name="features", type="vector", role="feature")
_COLUMNS = {
    results.TRANSFORMED_WITH_IDS: (_ID, _VECTOR),
    results.EMBEDDED_TEXTS: (_TEXT, _VECTOR),
    results.EMBEDDED_TEXTS_WITH_IDS: (_ID, _TEXT, _VECTOR),
}
"""The columns of the tables that become datasets, by their files."""


class Endings:
    """Writes ends into the store, and from there into records and lists.

    webhook_due : called when a job that owes a webhook has ended.
    """

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        datasets: Datasets,
        settings: WorkerSettings,
        webhook_due: Callable[[], None],
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._datasets = datasets
        self._settings = settings
        self._checkpoints = Checkpoints(blobs)
        self._webhook_due = webhook_due

    def settle(
        self, tenant: str, job_id: str, end: End, *, quiet: bool = False
    ) -> Literal["gone", "ended", "ok", "restored", "beside"]:
        """Bring everything else in line with an end in the store.

        May be called again. Returns "gone" if there is no record.
        quiet : the job ended long ago (a rebuild): no events, and its tree may have been deleted.
        """
        if end.status == "rejected":
            erase_job(self._blobs, self._records, tenant, job_id)
            return "gone"
        try:
            request = read_request(self._blobs, tenant, job_id)
        except Missing:
            try:
                self._records.drop(job_id)
            except StoreFull:
                self._records.removals.note(tenant, job_id)
            return "gone"
        own = kind_of(request.kind)
        if own.opens_dataset and not self._settle_dataset(request, end):
            erase_job(self._blobs, self._records, tenant, job_id)
            return "gone"
        delivery = None
        if quiet and request.webhook is not None:
            delivery = read_delivery(self._blobs, tenant, job_id)
        tree = self._tree(request, end, quiet)
        if own.makes_dataset:
            # Before the record: who reads that the job has succeeded finds its dataset.
            self._adopt_dataset(request, end)
        self._adopt_runs(request, end)
        n_bytes = self.kept_bytes(request, end, quiet=quiet)
        outcome = self._records.end(
            job_id,
            end,
            tree,
            quiet=quiet,
            delivery=delivery,
            n_bytes=n_bytes,
            annotation=request.annotation.shown() if request.tags else "",
        )
        if request.webhook is not None:
            self._webhook_due()
        if own.resumes(request):
            self._checkpoints.clear(request)
        if not quiet and (n_others(end) > 0 or outcome != "ok"):
            # Another one that does not know yet of this end may store more, and die.
            with suppress(StoreFull):
                self._records.leave(tenant, job_id)
            remove_other_attempts(self._blobs, tenant, job_id, end.fence)
        # Last: while it is there, a sweep does all of this again.
        self._blobs.delete(layout.open_marker(tenant, job_id))
        return outcome

    def kept_bytes(self, request: Request, end: End | None, *, quiet: bool = False) -> int:
        """The bytes of a job's inline inputs and results.

        quiet : its tree or model may have been removed. Datasets and jobs made of a result count
        themselves.
        """
        n_bytes = request.inline_bytes
        if end is None or not end.files:
            return n_bytes
        names = {file.name for file in end.files}
        removable = {results.TREE, results.MODEL} & names if quiet else set()
        gone = {
            name
            for name in removable
            if self._blobs.size(layout.attempt(request.tenant, request.id, end.fence, name)) is None
        }
        if results.TREE in gone:
            return n_bytes
        left_out = gone | results.TRANSFORMATIONS.keys()
        return n_bytes + sum(
            file.size
            for file in end.files
            if file.name not in left_out and not file.name.startswith(f"{RUNS}/")
        )

    def conclude(self, tenant: str, job_id: str, status: Literal["cancelled", "failed"]) -> None:
        """End a job that no attempt has ended; an existing end stands.

        "failed" shows why the last attempt was given back, if that is known, else `worker-lost`.
        """
        record = self._records.get(job_id)
        if record is None or record.ended:
            return
        end = bare_end(
            job_id,
            status,
            attempt=record.attempt,
            started_at=record.started_at,
            error=record.error or _worker_lost(record.attempt) if status == "failed" else None,
            given_up=record.given_up,
        )
        if not write_end(self._blobs, tenant, end):
            end = read_end(self._blobs, tenant, job_id) or end
        self.settle(tenant, job_id, end)

    def after_release(self, tenant: str, job_id: str, outcome: str) -> None:
        """End the job if its attempt ended with a cancel, or was its last one."""
        if outcome == "cancelled":
            self.conclude(tenant, job_id, "cancelled")
        elif outcome == "exhausted":
            self.conclude(tenant, job_id, "failed")

    def deleted(self, tenant: str, job_id: str) -> bool:
        """Whether the job is gone from the store."""
        return self._blobs.size(layout.job(tenant, job_id, REQUEST)) is None

    def _settle_dataset(self, request: Request, end: End) -> bool:
        facts = (end.result or {}).get("dataset") or {}
        shape = facts.get("shape")
        return self._datasets.settle(
            request.tenant,
            request.options["dataset"],
            shape=None if shape is None else tuple(shape),
            dtype=facts.get("dtype"),
            problem=None if end.status == "succeeded" else end.error or _not_opened(),
            job_id=request.id,
            columns=facts.get("columns"),
            warnings=end.warnings,
        )

    def _adopt_dataset(self, request: Request, end: End) -> None:
        """Make a dataset of the rows that the job transformed or embedded."""
        file = next((file for file in end.files if file.name in results.TRANSFORMATIONS), None)
        if end.result is None or file is None:
            return
        self._datasets.adopt(
            Dataset(
                id=end.result["dataset"],
                tenant=request.tenant,
                name=request.name,
                role="features",
                status="ready",
                format=results.TRANSFORMATIONS[file.name],
                member=None,
                shape=tuple(end.result["shape"]),
                dtype=end.result["dtype"],
                columns=_COLUMNS.get(file.name),
                bytes=file.size,
                sha256=file.sha256,
                created_at=end.finished_at,
                problem=None,
                key=request.key,
                expires_at=request.expires_at,
                tags=request.tags,
            ),
            layout.attempt(request.tenant, request.id, end.fence, file.name),
        )

    def _adopt_runs(self, request: Request, end: End) -> None:
        """Make jobs of the runs that it keeps, if it does."""
        jobs = adopted_runs(self._blobs, request, end)
        for own_request, own_end in jobs:
            self._records.create(
                own_request,
                kind_of(own_request.kind).standing(own_request),
                receiver="",
                due_s=self._settings.resend_s,
            )
            self.settle(own_request.tenant, own_request.id, own_end, quiet=True)
        if jobs:
            release(self._blobs, request, end)

    def _tree(self, request: Request, end: End, quiet: bool) -> str | None:
        tree = tree_record(request, end, listed=kind_of(request.kind).listed)
        if tree is None:
            return None
        key = layout.attempt(request.tenant, request.id, end.fence, results.TREE)
        if quiet and self._blobs.size(key) is None:
            return None
        return tree.model_dump_json()


def n_others(end: End) -> int:
    """The attempts beside the one that ended the job: a cancel, or a lost worker, is no attempt's
    end."""
    return end.attempt - bool(end.fence)


def remove_other_attempts(blobs: Blobs, tenant: str, job_id: str, fence: str) -> None:
    """Remove what all attempts of a job but this one have stored."""
    start = layout.attempts(tenant, job_id)
    others = {key[len(start) :].partition("/")[0] for key in blobs.keys(start)}
    for other in sorted(others - {fence}):
        blobs.delete_under(layout.attempt(tenant, job_id, other))


def _worker_lost(n_attempts: int) -> Problem:
    times = "once, and" if n_attempts == 1 else f"{n_attempts} times, and each time"
    return problem(
        "worker-lost",
        "The job lost its worker too often",
        500,
        f"The job was tried {times} its worker ended before the job did. This happens to a job "
        "that needs more memory than a worker has.",
    )


def _not_opened() -> Problem:
    return problem(
        "not-inspected", "The dataset was not opened", 500, "Nothing has opened the dataset."
    )
