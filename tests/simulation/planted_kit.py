"""Faults put into the code of the ledger, each of which some schedule must find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.simulation.schedule_kit import Alter
from workers.artifacts.uploads import Parts, Upload
from workers.jobs.deliveries import Deliveries
from workers.jobs.inspections import Inspections
from workers.jobs.ledger import Ledger
from workers.jobs.submission import Intake
from workers.model import Claim, Delivery, End, Record, Request
from workers.stores.objects import job_files, layout
from workers.stores.objects.blobs import Blobs
from workers.stores.redis.records import Records
from workers.stores.redis.webhooks import WebhookLease
from workers.webhooks.replies import Reply
from workers.webhooks.sender import Sender


@dataclass(frozen=True)
class Planted:
    """alter : texts of scripts that are replaced. patches : functions that are replaced.

    seed : of the first schedule to be tried. also : what it has beside plain jobs.
    """

    name: str
    seed: int = 0
    also: tuple[str, ...] = ()
    alter: Alter = field(default_factory=dict)
    patches: dict[str, Callable[..., Any]] = field(default_factory=dict)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While this lasts the functions are replaced; the scripts are by `Simulation`."""
        active = [patch(name, value) for name, value in self.patches.items()]
        for each in active:
            each.start()
        try:
            yield
        finally:
            for each in active:
                each.stop()


def _end_before_files(blobs: Blobs, claim: Claim, end: End, folder: Path | None) -> End | None:
    """`publish`, but the terminal object comes first."""
    files = [] if folder is None else job_files.attempt_files(claim, folder)
    end = end.model_copy(update={"files": tuple(file for file, _, _ in files)})
    request = claim.request
    blobs.put(layout.job(request.tenant, request.id, "end.json"), end.model_dump_json().encode())
    for _, key, path in files:
        blobs.put_file(key, path)
    return end


def _replaced_end(blobs: Blobs, tenant: str, end: End) -> bool:
    """`write_end`, but over an end that is there."""
    blobs.put(layout.job(tenant, end.job, "end.json"), end.model_dump_json().encode())
    return True


def _record_first(self: Ledger, claim: Claim, end: End, folder: Path | None = None) -> bool:
    """`Ledger.finish`, but the record is ended before the store has the end."""
    self._endings.settle(claim.request.tenant, claim.request.id, end)
    return _finish(self, claim, end, folder)


def _record_dropped_first(blobs: Blobs, records: Records, tenant: str, job_id: str) -> None:
    """`erase_job`, but the request is the last to go."""
    records.drop(job_id)
    blobs.delete_under(layout.attempts(tenant, job_id))
    blobs.delete(layout.open_marker(tenant, job_id))
    blobs.delete_under(layout.job(tenant, job_id))


def _written_afterwards(
    self: Intake, request: Request, inline: dict[str, bytes], limits: str
) -> Record:
    """`Intake.submit`, but the record is made before the request is stored."""
    write, self._write = self._write, lambda request, inline: None  # type: ignore[method-assign]
    try:
        record = _submit(self, request, inline, limits)
    finally:
        self._write = write  # type: ignore[method-assign]
    self._write(request, inline)
    return record


def _lost_is_delivered(
    self: Sender, lease: WebhookLease, reason: str | None, final: bool, reply: Reply | None = None
) -> None:
    """`Sender._conclude`, but a response that did not come counts as a good one."""
    _conclude(self, lease, None if reply is None else reason, final, reply)


def _ended_in_redis_alone(self: Deliveries, lease: WebhookLease, delivery: Delivery) -> None:
    """`Deliveries.end`, but the store does not have it."""
    self._report(lease, delivery)


def _parts_are_kept(self: Parts, upload: Upload) -> None:
    """`Parts.clear`, but nothing goes but what Redis counts."""
    self._usage.drop_parts(upload.id)


def _not_looked(self: Inspections, marker: str) -> None:
    """`Inspections._look`, but it trusts that every completion came to its end."""
    self._blobs.delete(marker)


_finish, _submit, _conclude = Ledger.finish, Intake.submit, Sender._conclude

PLANTED = (
    Planted(
        "beat by anyone",
        seed=13,
        alter={"beat": ("if h[1] ~= ARGV[3] then return 'lost' end", "")},
    ),
    Planted(
        "release by anyone",
        seed=2,
        alter={"release": ("if h[2] ~= ARGV[3] then return 'lost' end", "")},
    ),
    Planted(
        "a lease lapses while it runs",
        seed=24,
        alter={"release": ("if ARGV[7] == '1' and tonumber(h[3]) > now then", "if false then")},
    ),
    Planted(
        "a claim of what is leased",
        alter={"shared": ("if status ~= 'queued' and tonumber(h[3]) > now then", "if false then")},
    ),
    Planted(
        "a second end of a record",
        seed=8,
        alter={"end": ("if ended(status) then return 'ended' end", "")},
    ),
    Planted(
        "a pause does not count",
        seed=15,
        alter={
            "shared": ("redis.call('HEXISTS', P .. 'pauses', scope .. ' ' .. name) == 1", "false")
        },
    ),
    Planted("the end before its files", patches={"workers.jobs.ledger.publish": _end_before_files}),
    Planted(
        "an end is replaced", seed=13, patches={"workers.jobs.finish.write_end": _replaced_end}
    ),
    Planted(
        "the record before the end", patches={"workers.jobs.ledger.Ledger.finish": _record_first}
    ),
    Planted(
        "a deletion begins with the record",
        seed=4060,
        patches={
            "workers.jobs.ledger.erase_job": _record_dropped_first,
            "workers.jobs.finish.erase_job": _record_dropped_first,
        },
    ),
    Planted(
        "accepted before it is stored",
        seed=18,
        patches={"workers.jobs.submission.Intake.submit": _written_afterwards},
    ),
    Planted(
        "a lost response counts as a good one",
        seed=43,
        also=("webhooks",),
        patches={"workers.webhooks.sender.Sender._conclude": _lost_is_delivered},
    ),
    Planted(
        "a delivery that the store does not have",
        also=("webhooks",),
        patches={"workers.jobs.deliveries.Deliveries.end": _ended_in_redis_alone},
    ),
    Planted(
        "what helpers stored is left",
        seed=3,
        also=("pieces",),
        patches={"workers.jobs.pieces.Pieces._erase": lambda self, attempt: None},
    ),
    Planted(
        "a piece counts twice",
        seed=200,
        also=("pieces",),
        alter={"board_tell": ("or redis.call('HGET', key, 't' .. k) ~= ARGV[5] then", "then")},
    ),
    Planted(
        "a dataset goes while a job needs it",
        seed=805,
        also=("uploads",),
        alter={"retire": ("not is_going(by) then return { 'needed', by } end", "false then end")},
    ),
    Planted(
        "the parts of an upload are left",
        seed=6,
        also=("uploads",),
        patches={"workers.artifacts.uploads.Parts.clear": _parts_are_kept},
    ),
    Planted(
        "a completion that died counts as complete",
        seed=3830,
        also=("uploads", "removals"),
        patches={"workers.jobs.inspections.Inspections._look": _not_looked},
    ),
)
