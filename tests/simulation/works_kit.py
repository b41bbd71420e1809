"""What goes on beside jobs: webhooks are sent, pieces computed by helpers, datasets uploaded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from models.errors import UsageError
from tests.simulation.store_kit import MemoryBlobs
from tests.simulation.world_kit import Broken, World
from tests.workers.jobs_kit import request
from workers.artifacts.datasets import Dataset
from workers.artifacts.uploads import Parts, Upload
from workers.assembly import Assembly
from workers.errors import AlreadyThere, Missing, TransientError
from workers.jobs.ledger import Ledger
from workers.model import Claim, new_id, now
from workers.settings import WorkerSettings
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.streams import Stored
from workers.webhooks.replies import NotSent, Reply
from workers.webhooks.sender import Sender

T = TypeVar("T")

PATIENCE = 6
ADDRESS = "https://receiver.example/hook"
SCHEDULE_S = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
HOOK_LEASE_S = 6.0
KEPT_S = 12.0
"""How long a dataset is kept that may go."""


@dataclass
class Beside:
    """What happened. delivered : times that a receiver took the webhook of a job. datasets : the
    tenant and content of each. deleted, unsure : those whose deletion was answered, or begun.
    expiring : those that go by themselves. needed : those that an accepted job reads.
    uploads : each with its content. completed : those whose completion was answered.
    """

    delivered: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    datasets: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    expiring: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)
    uploads: list[tuple[Upload, bytes]] = field(default_factory=list)
    completed: set[str] = field(default_factory=set)


class Receiver:
    """Takes webhooks, and refuses some."""

    def __init__(self, world: World, blobs: MemoryBlobs, beside: Beside) -> None:
        self._world, self._blobs, self._beside = world, blobs, beside

    def post(self, target: object, headers: dict[str, str], body: bytes, *rest: object) -> Reply:
        """Takes the place of `posting.post`."""
        refuses = bool(self._world.faults) and bool(self._world.decisions.seldom(1, 0.2))

        def take() -> Reply:
            if refuses:
                return Reply(503, "")
            job = json.loads(body)["data"]["id"]
            ends = [v for k, v in self._blobs.objects.items() if k.endswith(f"/{job}/end.json")]
            status = json.loads(body)["data"]["status"]
            if ends and json.loads(ends[0])["status"] != status:
                self._beside.wrong.append(f"the webhook of {job} says {status}")
            self._beside.delivered[job] += 1
            return Reply(200, "")

        return self._world.call("post", take, lambda: NotSent("There was no response."))


class Works:
    """The code of the processes beside clients, workers and sweepers.

    removes : whether whoever uploads a dataset deletes it.
    """

    def __init__(
        self, world: World, settings: WorkerSettings, beside: Beside, folder: Path
    ) -> None:
        self._world, self._settings, self.beside = world, settings, beside
        self.removes = False
        self._folder = folder

    # Webhooks.

    def sender(self, assembly: Assembly, rounds: int) -> None:
        own = self._sender(assembly)
        for number in range(rounds):
            with suppress(TransientError):
                self.send(assembly, own, f"{id(self)}-{number}")
            self._world.pause()

    def send(self, assembly: Assembly, own: Sender | None = None, token: str = "last") -> None:
        """Send what is due."""
        own = own or self._sender(assembly)
        for lease in assembly.ledger.webhooks.take(new_id("tk"), 4, HOOK_LEASE_S):
            own._sending[f"{lease.job} {lease.token}"] = lease
            own._send(lease)

    def _sender(self, assembly: Assembly) -> Sender:
        return Sender(
            assembly.ledger.webhooks,
            self._settings,
            schedule_s=SCHEDULE_S,
            lease_s=HOOK_LEASE_S,
        )

    # Pieces.

    def divide(self, ledger: Ledger, claim: Claim) -> None:
        """Compute a fit in pieces, with whoever helps. Each counts once."""
        pieces, choose = ledger.pieces, self._world.decisions
        left = set(range(2 + choose.below(3)))
        finished: list[int] = []
        n_seen, posted = 0, False
        texts = [{"piece": number} for number in sorted(left)]
        for _ in range(PATIENCE):
            with suppress(TransientError):
                pieces.post(claim, 0, texts)
                posted = True
                break
            self._world.pause()
        for _ in range(60 if posted else 0):
            if not left:
                break
            with suppress(TransientError):
                if ledger.beat(claim) == "lost":
                    break
            try:
                step = pieces.next(claim, n_seen, finished)
            except TransientError:
                self._world.pause()
                continue
            if step.kind == "lost":
                break
            if step.kind == "done":
                n_seen += 1
                self._count(claim, left, step.number)
                path = pieces.fetch(claim, step)
                if path is not None:
                    expected = f"{claim.request.id} {claim.fence} {step.number}"
                    if path.read_text() != expected:
                        raise Broken(f"piece {step.number} of {claim.request.id} is another one")
            elif step.kind == "take":
                for _ in range(2 + choose.below(6)):
                    self._world.pause()
                self._count(claim, left, step.number)
                finished.append(step.number)
            self._world.pause()
        with suppress(TransientError):
            pieces.close(claim)

    def _count(self, claim: Claim, left: set[int], number: int) -> None:
        if number not in left:
            raise Broken(f"piece {number} of {claim.request.id} counts twice")
        left.remove(number)

    def helper(self, ledger: Ledger, hints: list[str], rounds: int) -> None:
        """Computes pieces of jobs that ask for help."""
        pieces, choose = ledger.pieces, self._world.decisions
        for _ in range(rounds):
            claim = None
            with suppress(TransientError):
                claim = pieces.join(hints[choose.below(len(hints))]) if hints else None
            self._world.pause()
            if claim is None:
                continue
            with suppress(TransientError):
                for _ in range(choose.below(3)):
                    pieces.beat(claim)
                    self._world.pause()
                then = choose.seldom(3, 0.2)
                if then == 1:
                    pieces.give_back(claim, spend=True)
                elif then == 2:
                    pieces.give_back(claim, spend=False)
                elif then == 3:
                    pieces.leave(claim)
                else:
                    text = f"{claim.request.id} {claim.fence} {claim.number}"
                    path = self._folder / hashlib.sha1(text.encode()).hexdigest()
                    path.write_text(text)
                    pieces.finish(claim, path)

    # Datasets.

    def uploader(self, assembly: Assembly, number: int, accepted: dict[str, str]) -> None:
        """Uploads a dataset in parts; then deletes it, or submits a job that reads it."""
        choose, blobs = self._world.decisions, assembly.blobs
        tenant = ("ada", "bea")[number % 2]
        parts = Parts(blobs, assembly.usage)
        expires = choose.below(2) == 1
        moment = self._world.now() + timedelta(seconds=KEPT_S)
        upload = Upload(
            id=new_id("up"),
            tenant=tenant,
            name=None,
            role="features",
            member=None,
            media_type=None,
            created_at=now(),
            expires_at=moment.isoformat() if expires else None,
        )
        contents = [f"{upload.id} {place}\n".encode() for place in range(1 + choose.below(3))]
        if not self._tried(lambda: self._create(parts, upload)):
            return
        for place, content in enumerate(contents, 1):
            if not self._tried(partial(self._part, parts, upload, place, content)):
                return
        whole = b"".join(contents)
        self.beside.uploads.append((upload, whole))
        dataset = self._completed(assembly, parts, upload, whole)
        then = 1 if self.removes else choose.below(3)
        for _ in range(choose.below(6)):
            self._world.pause()
        if dataset is None:
            return
        if then == 1 and dataset.id not in self.beside.needed:
            self.beside.unsure.add(dataset.id)
            with suppress(TransientError):
                assembly.datasets.delete(tenant, dataset.id)
                self.beside.deleted.add(dataset.id)
        elif then == 2:
            self._reads(assembly.ledger, dataset, accepted)

    def rival(self, assembly: Assembly) -> None:
        """Completes the same upload at the same time."""
        for _ in range(12):
            if self.beside.uploads:
                upload, whole = self.beside.uploads[-1]
                self._completed(assembly, Parts(assembly.blobs, assembly.usage), upload, whole)
                return
            self._world.pause()

    def _reads(self, ledger: Ledger, dataset: Dataset, accepted: dict[str, str]) -> None:
        for _ in range(PATIENCE):
            own = request(dataset.tenant, id=new_id("job"), inputs={"features": dataset.id})
            with suppress(TransientError, UsageError):
                job = ledger.submit(own).id
                accepted[job] = dataset.tenant
                self.beside.needed.add(dataset.id)
                return
            self._world.pause()

    def read(self, assembly: Assembly, claim: Claim) -> None:
        """Read the dataset of a job that was accepted, as its supervisor does."""
        own = claim.request.inputs.get("features")
        if not isinstance(own, str) or own not in self.beside.needed:
            return
        dataset = assembly.datasets.get(claim.request.tenant, own)
        if dataset is None:
            raise Broken(f"{own} is gone, and {claim.request.id} reads it")
        try:
            content = assembly.datasets.content(dataset).read_bytes()
        except Missing:
            raise Broken(f"the content of {own} is gone, and {claim.request.id} reads it") from None
        if content != self.beside.datasets[own][1]:
            raise Broken(f"{own} has another content")

    def _tried(self, call: Any) -> bool:
        for _ in range(PATIENCE):
            with suppress(TransientError):
                call()
                return True
            self._world.pause()
        return False

    def _create(self, parts: Parts, upload: Upload) -> None:
        with suppress(AlreadyThere):
            parts.create(upload)

    def _part(self, parts: Parts, upload: Upload, number: int, content: bytes) -> None:
        part = driven(parts.receive(upload, number, chunks([content])))
        try:
            parts.add(upload, part)
        except BaseException:
            with suppress(TransientError):
                parts.drop(upload, part)
            raise

    def _completed(
        self, assembly: Assembly, parts: Parts, upload: Upload, whole: bytes
    ) -> Dataset | None:
        """As `complete_upload`, repeated until it is answered."""
        for _ in range(PATIENCE):
            with suppress(TransientError, Missing):
                dataset = self._complete(assembly, parts, upload)
                if dataset is None:
                    return None
                self.beside.completed.add(upload.id)
                known = self.beside.datasets.setdefault(dataset.id, (upload.tenant, whole))
                if known[1] != whole or dataset.sha256 != hashlib.sha256(whole).hexdigest():
                    raise Broken(f"{dataset.id} has other bytes than its parts")
                if dataset.expires_at is not None:
                    self.beside.expiring.add(dataset.id)
                return dataset
            self._world.pause()
        return None

    def _complete(self, assembly: Assembly, parts: Parts, upload: Upload) -> Dataset | None:
        datasets, tenant = assembly.datasets, upload.tenant
        first = parts.completed(upload)
        if first is not None and datasets.get(tenant, first.id) is None:
            whole = assembly.blobs.size(datasets.content_key(tenant, first.id)) is not None
            if not whole and not parts.list(upload):
                parts.clear(upload)
                return None
            if not whole:
                parts.reopen(upload)
                first = None
        if first is None:
            own, listed = new_id("ds"), parts.list(upload)
            if [part.number for part in listed] != list(range(1, 1 + len(listed))) or not listed:
                # Another request has begun to clear them: a conflict.
                return None
            stored = driven(datasets.receive(tenant, own, chunks(parts.read(upload, listed))))
            dataset = Dataset(
                id=own,
                tenant=tenant,
                name=None,
                role=upload.role,
                status="ready",
                format="npy",
                member=None,
                shape=None,
                dtype=None,
                bytes=stored.length,
                sha256=stored.sha256,
                created_at=now(),
                problem=None,
                expires_at=upload.expires_at,
            )
            first = parts.complete(upload, dataset)
            if first.id != own:
                datasets.discard(tenant, own)
        if not assembly.ledger.inspections.complete(first, ""):
            return None
        parts.clear(upload)
        return first

    # The end.

    def forget(self, assembly: Assembly) -> None:
        """Uploads that were never completed go. No part of others is left, unless it came late."""
        late = any(line.endswith((": late", ": twice")) for line in self._world.faulty)
        for key in () if late else assembly.blobs.keys("uploads/"):
            own, rest = key.split("/")[2:4]
            if own in self.beside.completed and rest in ("parts", "bytes"):
                raise Broken(f"{key} is left of a complete upload")
        before = self._world.now() + timedelta(days=1)
        for tenant in ("ada", "bea"):
            Parts(assembly.blobs, assembly.usage, assembly.datasets.erase).forget(tenant, before)

    def no_pieces(self, objects: dict[str, bytes]) -> None:
        """Sweeps have removed what helpers stored, unless it came late."""
        late = any(
            "pieces/" in line and line.endswith((": late", ": twice"))
            for line in self._world.faulty
        )
        for key in () if late else objects:
            if key.startswith("pieces/"):
                raise Broken(f"{key} is left")

    def at_the_end(self, objects: dict[str, bytes], unsure: Iterable[str]) -> None:
        """Webhooks are delivered or given up, no piece is left, datasets are whole or gone."""
        skipped = set(unsure)
        for sentence in self.beside.wrong:
            raise Broken(sentence)
        for key, data in objects.items():
            room, *names = key.split("/")
            if room in ("pieces", "uploads", "uninspected"):
                raise Broken(f"{key} is left")
            if room == "datasets" and f"datasets/{names[0]}/{names[1]}/meta.json" not in objects:
                raise Broken(f"{key} is left of no dataset")
            if key.endswith("/request.json") and names[1] not in skipped:
                wanted = json.loads(data).get("webhook")
                found = objects.get(f"jobs/{names[0]}/{names[1]}/webhook.json")
                if wanted and found is None:
                    raise Broken(f"the webhook of {names[1]} is neither delivered nor given up")
                delivered = found is not None and json.loads(found)["status"] == "delivered"
                if delivered and not self.beside.delivered[names[1]]:
                    raise Broken(f"nobody got the webhook of {names[1]}")
        for own, (tenant, content) in self.beside.datasets.items():
            found = objects.get(f"datasets/{tenant}/{own}/content")
            if own in self.beside.deleted:
                if any(own in key for key in objects):
                    raise Broken(f"{own} was deleted, and is there")
            elif own not in self.beside.unsure | self.beside.expiring and found != content:
                raise Broken(f"{own} is lost")


async def chunks(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def driven(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    raise AssertionError("it waits")


async def store(blobs: Blobs, key: str, pieces: AsyncIterator[bytes]) -> Stored:
    """`streams.store` without threads."""
    content = b"".join([piece async for piece in pieces])
    await blobs.put_stream(key, chunks([content]))
    return Stored(len(content), hashlib.sha256(content).hexdigest(), content)
