"""Restores records and lists from the store, after Redis has started or lost its data.

A marker in Redis holds the run id of the server that was last rebuilt: it is lost with the data and
differs after a restart. Everything here may be done twice, and by several processes; the lock only
saves work. Data still in Redis are kept: jobs under a lease continue.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import compress, islice
from typing import TypeVar

from workers.artifacts.aliases import Aliases
from workers.artifacts.annotations import Annotations
from workers.artifacts.beside import Beside, folder_beside
from workers.artifacts.checkpoints import Checkpoints
from workers.artifacts.datasets import Datasets
from workers.artifacts.uploads import Parts
from workers.errors import (
    COMPARING,
    Damaged,
    FatalError,
    Missing,
    Rebuilding,
    StoreFull,
    StoreUnavailable,
    TransientError,
)
from workers.jobs.finish import Endings, n_others
from workers.jobs.pauses import Pauses
from workers.jobs.pieces import Pieces
from workers.kinds.registry import kind_of
from workers.model import ENDED, Request, made_at
from workers.stores.erasure import erase_job
from workers.stores.objects import layout
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.format import require_readable
from workers.stores.objects.job_files import END, REQUEST, read_end, read_request
from workers.stores.redis.records import IDEMPOTENCY_S, Records
from workers.stores.redis.usage import Usage

HOLD_S = 6.0
"""Another process takes over a rebuild whose process died after this time. One that lives says so
four times as often; what is done twice does no harm."""

LEFT_S = 24 * 3600.0
"""A dataset whose upload was begun but never ended is removed after this time."""

WAIT_S = 10.0
"""How long whoever needs the records waits for a rebuild before it is refused."""

_AT_ONCE = 500
_THREADS = 8
_log = logging.getLogger(__name__)
T = TypeVar("T")

Folder = tuple[str, str, set[str]]
"""Tenant and id of a dataset or job, and the names of its objects."""

NO_ROOM_FOR_RECORDS = "Redis has no room for the records that it lost"


class Rebuild:
    """Rebuilds Redis from the store. Threads may share it. receiver_of : as for `Intake`."""

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        datasets: Datasets,
        annotations: Annotations,
        beside: Beside,
        usage: Usage,
        endings: Endings,
        pieces: Pieces,
        pauses: Pauses,
        receiver_of: Callable[[Request], str],
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._datasets = datasets
        self._annotations = annotations
        self._beside = beside
        self._usage = usage
        self._endings = endings
        self._pieces = pieces
        self._pauses = pauses
        self._receiver_of = receiver_of
        self._starting = threading.Lock()
        self._going: Future[int] | None = None

    def needed(self) -> bool:
        """Whether Redis has started or lost its data since the last rebuild. One round trip."""
        run_id, built = self._records.run_ids()
        return run_id != built

    def ensure(self, wait_s: float = WAIT_S) -> None:
        """Rebuild if that is needed; Rebuilding if it takes longer than `wait_s`, while it goes on.

        Where Redis has no room for it, what Redis holds from before its restart is good enough to
        be read; StoreUnavailable if it holds nothing.
        """
        run_id, built = self._records.run_ids()
        if run_id == built:
            return
        try:
            going, joined = self._begun()
            if joined and isinstance(going.exception(wait_s), TransientError):
                # It may have failed for something that has changed since.
                going, _ = self._begun()
            going.result(wait_s)
        except TimeoutError:
            raise Rebuilding(self._words()) from None
        except StoreFull as error:
            if built is None:
                raise StoreUnavailable(NO_ROOM_FOR_RECORDS) from error
            _log.warning("Redis has no room to rebuild what it lost")

    def course(self, wait_s: float) -> str | None:
        """How far a rebuild is, in words, where one is needed and not over after `wait_s`; begins
        it. None where records can be read."""
        try:
            self.ensure(wait_s)
        except (Rebuilding, FatalError) as error:
            return str(error)
        except StoreUnavailable:
            return self._words()
        return None

    def _begun(self) -> tuple[Future[int], bool]:
        """The rebuild of this process that is under way, or a new one, in a thread; and whether it
        was under way."""
        with self._starting:
            if self._going is not None and not self._going.done():
                return self._going, True
            self._going = Future()
            arguments = (self._going, self.run)
            threading.Thread(target=_fulfil, args=arguments, name="rebuild", daemon=True).start()
            return self._going, False

    def _words(self) -> str:
        return self._records.rebuild_course() or COMPARING

    def run(self, wait_s: float = WAIT_S) -> int:
        """Restore what is missing; returns the number of restored jobs and datasets.

        While another process does so, wait for it; raises Rebuilding after `wait_s`, and
        FatalError if a newer version wrote the store.
        """
        require_readable(self._blobs)
        token = secrets.token_hex(8)
        until = time.monotonic() + wait_s
        while not self._records.rebuild_begin(token, HOLD_S):
            if time.monotonic() >= until:
                raise Rebuilding(self._words())
            time.sleep(0.05)
            if not self.needed():
                return 0
        run_id, _ = self._records.run_ids()
        done = False
        try:
            with self._held(token):
                restored = self._all(token)
            done = self._records.rebuild_end(token, run_id)
        finally:
            if not done:
                self._records.rebuild_end(token, "")
        if not done:
            raise StoreUnavailable("Redis lost its data during a rebuild")
        if restored:
            _log.info("restored %d jobs and datasets from the store", restored)
        return restored

    def restore_job(self, tenant: str, job_id: str, *, answered: bool = True) -> bool:
        """Restore the record of one job if the store has the job; True if it was missing.

        answered : whether the job may have been accepted. One that was not is removed if another
            job has its idempotency key.
        """
        try:
            request = read_request(self._blobs, tenant, job_id)
        except Missing:
            return False
        # The marker goes only after the end was written: so it is looked for first.
        is_open = self._blobs.size(layout.open_marker(tenant, job_id)) is not None
        end = read_end(self._blobs, tenant, job_id)
        if end is not None and end.status == "rejected":
            erase_job(self._blobs, self._records, tenant, job_id)
            return False
        if end is None and not is_open:
            # Not accepted, or not yet.
            self._records.leave(tenant, job_id)
            return False
        left_s = max(0.0, IDEMPOTENCY_S - age_s(datetime.fromisoformat(request.created_at)))
        receiver = self._receiver_of(request)
        create = partial(
            self._records.create,
            request,
            kind_of(request.kind).standing(request),
            receiver=receiver,
            due_s=0.0,
        )
        created = create(idempotency_s=left_s)
        if created.outcome in ("replay", "mismatch"):
            if not answered:
                erase_job(self._blobs, self._records, tenant, job_id)
                return False
            # Two jobs with one key; perhaps one of them was never answered: keep both.
            created = create(idempotency_s=0.0)
        if end is not None:
            self._endings.settle(tenant, job_id, end, quiet=True)
            if n_others(end) > 0:
                # Redis may have lost that an attempt may store more, or what it has stored.
                with suppress(StoreFull):
                    self._records.leave(tenant, job_id)
        if self._endings.deleted(tenant, job_id):
            # It was deleted meanwhile, before there was a record to drop.
            self._records.drop(job_id)
        return created.outcome == "made"

    def close(self, tenant: str, job_id: str) -> None:
        """Complete what follows from a job's end or its deletion; its open marker goes last."""
        if self._endings.deleted(tenant, job_id):
            erase_job(self._blobs, self._records, tenant, job_id)
            return
        end = read_end(self._blobs, tenant, job_id)
        if end is not None:
            self._endings.settle(tenant, job_id, end)

    def _all(self, token: str) -> int:
        restored = n_done = 0
        # For each job in the store, whether it has ended.
        ended: dict[str, bool] = {}
        uploaded = list(_folders(self._blobs.keys("datasets/")))
        stored = list(_folders(self._blobs.keys("jobs/")))
        n_all = len(uploaded) + len(stored)
        with ThreadPoolExecutor(_THREADS, "rebuild") as pool:
            for datasets in batches(uploaded):
                self._hold(token, n_done, n_all)
                restored += sum(pool.map(self._dataset, datasets, self._counted(datasets)))
                n_done += len(datasets)
            for jobs in batches(stored):
                self._hold(token, n_done, n_all)
                statuses = self._records.statuses(job_id for _, job_id, _ in jobs)
                restored += sum(pool.map(self._job, jobs, statuses, self._counted(jobs)))
                uncounted = self._records.uncounted(job_id for _, job_id, _ in jobs)
                for _ in pool.map(self._count, compress(jobs, uncounted)):
                    pass
                ended.update({job_id: END in names for _, job_id, names in jobs})
                n_done += len(jobs)
            for tenant, job_id in layout.parts(self._blobs.keys("open/"), 2):
                with _left_out(job_id):
                    if ended.get(job_id):
                        self.close(tenant, job_id)
                    elif job_id not in ended and self._endings.deleted(tenant, job_id):
                        self._blobs.delete(layout.open_marker(tenant, job_id))
            for missing in batches(sorted(set(self._records.all_ids()) - ended.keys())):
                self._hold(token, n_done, n_all)
                for _ in pool.map(self._drop_if_deleted, missing):
                    pass
        self._pauses.sync()
        self._parts()
        self._shares()
        self._pieces.restore()
        Checkpoints(self._blobs).restore(self._has_ended)
        return restored

    def _has_ended(self, job_id: str) -> bool:
        record = self._records.get(job_id)
        return record is None or record.ended

    def _counted(self, folders: Iterable[Folder]) -> list[list[str]]:
        """For each dataset or job, the folders beside it that Redis counts. One round trip."""
        return self._beside.counted(own_id for _, own_id, _ in folders)

    def _dataset(self, folder: Folder, counted: list[str]) -> bool:
        try:
            return self._whole_dataset(*folder, counted)
        except Damaged as error:
            _leave_out(folder[1], error)
            return False

    def _whole_dataset(
        self, tenant: str, dataset_id: str, names: set[str], counted: list[str]
    ) -> bool:
        if "meta.json" in names:
            restored = self._datasets.restore(tenant, dataset_id)
            self._annotate(tenant, dataset_id, names)
            self._count_beside(layout.dataset(tenant, dataset_id), names, counted)
            return restored
        lost = self._blobs.size(layout.dataset(tenant, dataset_id, "meta.json")) is None
        if lost and age_s(made_at(dataset_id)) > LEFT_S:
            # Redis may list it, where a process died between the two steps of a removal.
            self._datasets.erase(tenant, dataset_id)
        return False

    def _job(self, folder: Folder, status: str | None, counted: list[str]) -> bool:
        try:
            return self._whole_job(*folder, status, counted)
        except Damaged as error:
            _leave_out(folder[1], error)
            return False

    def _whole_job(
        self, tenant: str, job_id: str, names: set[str], status: str | None, counted: list[str]
    ) -> bool:
        if REQUEST not in names:
            # The request is written first and deleted first: so a deletion was interrupted.
            if self._endings.deleted(tenant, job_id):
                erase_job(self._blobs, self._records, tenant, job_id)
            return False
        restored = False
        if status is None:
            restored = self.restore_job(tenant, job_id)
        elif status not in ENDED and END in names:
            end = read_end(self._blobs, tenant, job_id)
            if end is not None:
                self._endings.settle(tenant, job_id, end)
        self._annotate(tenant, job_id, names)
        self._count_beside(layout.job(tenant, job_id), names, counted)
        return restored

    def _annotate(self, tenant: str, own_id: str, names: set[str]) -> None:
        """Restore what users say of a dataset, or of a job and its tree; names : its objects."""
        suffix = own_id.partition("_")[2]
        for kind in sorted(
            {name.split("/")[1] for name in names if name.startswith("annotations/")}
        ):
            self._annotations.restore(tenant, f"{kind}_{suffix}")

    def _count_beside(self, place: str, names: set[str], counted: list[str]) -> None:
        """Count what was added to a dataset or job; place : its folder, names : its objects,
        counted : the folders that were counted before."""
        folders = {folder for name in names if (folder := folder_beside(name)) is not None}
        for folder in {*counted, *(f"{place}{folder}" for folder in folders)}:
            self._beside.count(folder)

    def _shares(self) -> None:
        """Count the links to trees."""
        for folder in {f"{key.rpartition('/')[0]}/" for key in self._blobs.keys(layout.SHARES)}:
            self._beside.count(folder)

    def _count(self, folder: Folder) -> None:
        """Count a job whose record is of a version that did not count."""
        tenant, job_id, _ = folder
        with _left_out(job_id), suppress(Missing):
            request = read_request(self._blobs, tenant, job_id)
            end = read_end(self._blobs, tenant, job_id)
            self._records.count(request, self._endings.kept_bytes(request, end, quiet=True))

    def _parts(self) -> None:
        """Count the parts of uploads in the store and forget those that are gone; count aliases."""
        counted = self._usage.uploads()
        uploads = Parts(self._blobs, self._usage).recount()
        for upload_id in counted - uploads:
            self._usage.drop_parts(upload_id)
        Aliases(self._blobs, self._usage).recount()

    def _drop_if_deleted(self, job_id: str) -> None:
        owner = self._records.owner(job_id)
        with _left_out(job_id):
            if owner is not None and self._endings.deleted(owner[0], job_id):
                self._records.drop(job_id)

    @contextmanager
    def _held(self, token: str) -> Iterator[None]:
        """Hold the right to rebuild, however long a part of it takes."""
        over = threading.Event()

        def hold() -> None:
            while not over.wait(HOLD_S / 4):
                with suppress(TransientError):
                    self._records.rebuild_hold(token, HOLD_S)

        threading.Thread(target=hold, name="rebuild lease", daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def _hold(self, token: str, n_done: int, n_all: int) -> None:
        course = f"{COMPARING}: {n_done:,} of {n_all:,}"
        if not self._records.rebuild_hold(token, HOLD_S, course):
            raise StoreUnavailable("Redis lost its data during a rebuild")


def _fulfil(future: Future[int], rebuild: Callable[[], int]) -> None:
    try:
        future.set_result(rebuild())
    except BaseException as error:
        future.set_exception(error)


def _folders(keys: Iterable[str]) -> Iterator[Folder]:
    """From keys `<kind>/<tenant>/<id>/<name>` in any order."""
    folders: dict[tuple[str, str], set[str]] = {}
    for tenant, own_id, name in layout.parts(keys, 3):
        folders.setdefault((tenant, own_id), set()).add(name)
    for (tenant, own_id), names in folders.items():
        yield tenant, own_id, names


@contextmanager
def _left_out(own_id: str) -> Iterator[None]:
    """One thing that is damaged keeps nothing else from being restored."""
    try:
        yield
    except Damaged as error:
        _leave_out(own_id, error)


def _leave_out(own_id: str, error: Damaged) -> None:
    _log.error("%s is not restored: %s", own_id, error)


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    left = iter(items)
    while batch := list(islice(left, _AT_ONCE)):
        yield batch


def age_s(moment: datetime | None) -> float:
    """Seconds since `moment`; 0 if it is not known."""
    return 0.0 if moment is None else (datetime.now(UTC) - moment).total_seconds()
