"""Many threads, short leases, killed workers, lost and duplicate hints, Redis emptied midway."""

from __future__ import annotations

import hashlib
import queue
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.workers.conftest import Server
from tests.workers.jobs_kit import end, request, result_folder
from tests.workers.waiting_kit import PATIENCE_S
from workers.assembly import Assembly, assemble
from workers.errors import TransientError
from workers.model import Advance
from workers.settings import WorkerSettings
from workers.stores.objects import layout

WORKERS, SUBMITTERS, SWEEPERS = 6, 3, 3


class Storm:
    """One run: all randomness comes from `seed`, except for the interleaving of threads."""

    def __init__(self, settings: WorkerSettings, folder: Path, n_jobs: int, seed: int) -> None:
        self.settings = settings
        self.folder = folder
        self.n_jobs = n_jobs
        self.seed = seed
        self.hints: queue.Queue[str] = queue.Queue()
        self.accepted: list[str] = []
        self.deleted: set[str] = set()
        self.published: Counter[str] = Counter()
        self.claims: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.over = threading.Event()
        self.lock = threading.Lock()
        self._random = random.Random(seed)

    def send(self, _: str, job_id: str) -> None:
        dice = random.random()
        if dice < 0.1:
            raise ConnectionError("refused")
        for _ in range(0 if dice < 0.2 else 2 if dice < 0.3 else 1):
            self.hints.put(job_id)

    def part(self) -> Assembly:
        """An assembly as another process would make it."""
        return assemble(self.settings, self.send)

    def submit(self, number: int) -> None:
        ledger, dice = self.part().ledger, random.Random(self.seed + number)
        for _ in range(self.n_jobs // SUBMITTERS):
            job = request()
            try:
                ledger.submit(job, {"features": b"[]"})
            except TransientError:
                continue
            with self.lock:
                self.accepted.append(job.id)
            if dice.random() < 0.2:
                time.sleep(dice.random() * 0.05)
                ledger.cancel("ada", job.id)
            elif dice.random() < 0.1:
                time.sleep(dice.random() * 0.05)
                with self.lock:
                    self.deleted.add(job.id)
                assert ledger.delete("ada", job.id)

    def work(self, number: int) -> None:
        ledger, dice = self.part().ledger, random.Random(self.seed - 1 - number)
        while not self.over.is_set():
            try:
                job_id = self.hints.get(timeout=0.05)
            except queue.Empty:
                continue
            claim = ledger.claim(job_id, f"w{number}")
            if claim is None:
                continue
            with self.lock:
                self.claims[job_id] += 1
            fate = dice.random()
            if fate < 0.1:
                continue  # Killed: it never beats again.
            if fate < 0.15:
                ledger.give_back(claim, spend=dice.random() < 0.5)
                continue
            if fate < 0.25:
                time.sleep(self.settings.lease_s * 1.5)  # Frozen; then it continues unaware.
            state = ledger.beat(claim, Advance(fraction=dice.random()))
            if state == "lost" and fate > 0.2:
                continue
            if state == "cancel":
                first = ledger.finish(claim, end(claim, "cancelled"))
            else:
                folder = result_folder(self.folder / claim.fence, claim.fence)
                first = ledger.finish(claim, end(claim), folder)
            if first:
                with self.lock:
                    self.published[job_id] += 1

    def sweep(self, _: int) -> None:
        ledger = self.part().ledger
        while not self.over.is_set():
            with suppress(TransientError):
                ledger.sweep()
            time.sleep(0.02)

    def watch(self, number: int) -> None:
        """A client: an accepted job always exists, and never changes once it has ended."""
        parts, dice = self.part(), random.Random(number)
        while not self.over.is_set():
            time.sleep(0.002)
            with self.lock:
                existing = [job_id for job_id in self.accepted if job_id not in self.deleted]
            if not existing:
                continue
            job_id = dice.choice(existing)
            record = parts.ledger.get("ada", job_id)
            with self.lock:
                if job_id in self.deleted:
                    continue
            if record is None:
                self.wrong.append(f"{job_id} does not exist")
            elif record.ended:
                self.check(parts, job_id)

    def check(self, parts: Assembly, job_id: str) -> None:
        """The record agrees with the terminal object, and every file is complete."""
        record, terminal = parts.ledger.get("ada", job_id), parts.ledger.end_of("ada", job_id)
        if record is None or terminal is None:
            if job_id not in self.deleted:
                self.wrong.append(f"{job_id} has lost its terminal object")
            return
        if not record.ended:
            # Redis was emptied just now; the terminal object is about to be adopted.
            return
        same = ("status", "attempt", "result", "warnings", "error", "started_at", "finished_at")
        for name in same:
            if getattr(record, name) != getattr(terminal, name):
                self.wrong.append(f"{job_id}: {name} differs")
        if (terminal.status == "succeeded") != bool(terminal.files):
            self.wrong.append(f"{job_id}: files")
        for file in terminal.files:
            content = parts.blobs.get(layout.attempt("ada", job_id, terminal.fence, file.name))
            if (
                content != terminal.fence.encode()
                or hashlib.sha256(content).hexdigest() != file.sha256
            ):
                self.wrong.append(f"{job_id}: {file.name} is not complete")

    def run(self, disturb: Callable[[], None]) -> None:
        def guarded(work: Callable[[int], None], number: int) -> None:
            try:
                work(number)
            except BaseException as error:
                self.wrong.append(repr(error))
                raise

        crews = ((self.submit, SUBMITTERS), (self.work, WORKERS), (self.sweep, SWEEPERS))
        threads = [
            threading.Thread(target=guarded, args=(work, number), name=work.__name__)
            for work, size in (*crews, (self.watch, 1))
            for number in range(size)
        ]
        for thread in threads:
            thread.start()
        while len(self.accepted) < self.n_jobs // 2 and not self.wrong:
            time.sleep(0.01)
        disturb()
        for thread in threads[:SUBMITTERS]:
            thread.join(PATIENCE_S)
        ledger = self.part().ledger
        limit = time.monotonic() + PATIENCE_S
        waiting = [job_id for job_id in self.accepted if job_id not in self.deleted]
        while waiting and time.monotonic() < limit:
            records = {job_id: ledger.get("ada", job_id) for job_id in waiting}
            waiting = [i for i, record in records.items() if record is None or not record.ended]
            time.sleep(0.05)
        self.over.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert self.wrong == []
        assert waiting == []


@pytest.mark.parametrize("emptied", [False, True])
@pytest.mark.parametrize(
    ("n_jobs", "seed"),
    [(90, 1), *(pytest.param(600, seed, marks=pytest.mark.slow) for seed in range(2, 6))],
)
def test_every_accepted_job_ends_once(
    valkey: Server, settings: WorkerSettings, tmp_path: Path, n_jobs: int, seed: int, emptied: bool
) -> None:
    short = settings.model_copy(update={"lease_s": 0.3, "resend_s": 0.1})
    storm = Storm(short, tmp_path, n_jobs, seed)
    storm.run(lambda: valkey.client().flushall() if emptied else None)
    parts = storm.part()
    existing = [job_id for job_id in storm.accepted if job_id not in storm.deleted]
    assert len(storm.accepted) == n_jobs
    statuses = Counter[str]()
    for job_id in existing:
        storm.check(parts, job_id)
        record = parts.ledger.get("ada", job_id)
        assert record is not None
        statuses[record.status] += 1
        assert storm.published[job_id] <= 1
        if record.status == "succeeded":
            assert storm.published[job_id] == 1
        # A cancel may have come first. Unless Redis lost its data, attempts are counted exactly.
        if not emptied and record.status == "failed":
            assert record.attempt == short.max_attempts
    assert storm.wrong == []
    assert {name: number for name, number in parts.ledger.counts().items() if number} == statuses
    assert statuses["succeeded"] > 0
    assert statuses["cancelled"] > 0
    for job_id in storm.deleted:
        assert parts.ledger.get("ada", job_id) is None
    listed, cursor = parts.ledger.page("ada", limit=n_jobs)
    assert cursor is None
    assert {record.id for record in listed} == set(existing)
    trees, _ = parts.trees.page("ada", limit=n_jobs)
    assert len(trees) == statuses["succeeded"]
    assert list(parts.blobs.keys("open/")) == []
