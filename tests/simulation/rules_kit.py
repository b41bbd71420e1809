"""What must hold: at each step, and once everything has settled."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection
from typing import Any, cast

from tests.simulation.actors_kit import Known
from tests.simulation.redis_kit import Clocked
from tests.simulation.store_kit import MemoryBlobs
from tests.simulation.world_kit import Broken, World
from workers.model import ENDED, End
from workers.stores.objects import layout

_TENANTS = ("ada", "bea")


class Rules:
    """Watches the store and the scripts."""

    def __init__(
        self,
        world: World,
        blobs: MemoryBlobs,
        clocked: Clocked,
        lease_s: float,
        known: Known,
    ) -> None:
        self._known = known
        self._world, self._blobs = world, blobs
        self._clocked, self._plain, self._prefix = clocked, clocked.plain, clocked.prefix
        self._lease_s = lease_s
        self._leases: dict[str, tuple[str, float]] = {}
        self._ends: dict[str, bytes] = {}
        self._dones: Counter[str] = Counter()

    def forget(self) -> None:
        """Redis has lost its data: leases count no more."""
        self._leases.clear()
        self._dones.clear()

    def written(self, key: str, data: bytes) -> None:
        """An end names files that are there, and is never replaced by another one."""
        if not key.endswith("/end.json"):
            return
        earlier = self._ends.setdefault(key, data)
        _require(earlier == data, f"{key} was replaced")
        end = End.model_validate_json(data)
        _, tenant, job, _ = key.split("/")
        for file in end.files:
            own = layout.attempt(tenant, job, end.fence, file.name)
            found = self._blobs.objects.get(own)
            _require(found is not None, f"{key} names {own}, which is not there")
            assert found is not None
            _require(hashlib.sha256(found).hexdigest() == file.sha256, f"{own} is another file")

    def changed(self, script: str, arguments: tuple[Any, ...], answer: Any) -> None:
        """A job has one lease at a time, which only its holder changes; the store ends first."""
        now = self._world.monotonic()
        if script in ("claim", "take") and answer:
            job, outcome = (
                (arguments[0], answer[0]) if script == "claim" else (answer[0], answer[2])
            )
            fence = str(arguments[1])
            if outcome == "ok":
                if script == "take":
                    # A claim by name, which no worker makes, waits for no rebuild, and for no end
                    # that a sweeper is about to write.
                    self._require_unpaused(job)
                held, until = self._leases.get(job, (fence, 0.0))
                _require(held == fence or until <= now + 0.002, f"{job} has two holders")
                self._leases[job] = (fence, now + self._lease_s)
        elif script == "beat" and answer != "lost":
            self._require_holder("beat", arguments)
            self._leases[arguments[0]] = (str(arguments[1]), now + self._lease_s)
        elif script == "release" and answer != "lost":
            self._require_holder("release", arguments)
            if arguments[5] == 1:
                _, until = self._leases.get(arguments[0], ("", 0.0))
                _require(until <= now + 0.002, f"{arguments[0]} was taken from its holder")
            self._leases.pop(arguments[0], None)
        elif script == "end":
            job = arguments[0]
            if answer in ("ok", "restored"):
                self._dones[job] += 1
                _require(self._dones[job] == 1, f"{job} has ended twice")
                self._require_end(job)
            self._leases.pop(job, None)
        elif script == "drop":
            self._leases.pop(arguments[0], None)
            self._dones.pop(arguments[0], None)

    def _require_unpaused(self, job: str) -> None:
        """Nothing is taken for which a pause was answered. One that is taken again by the same
        fence was taken before."""
        if self._known.paused is None or job in self._leases:
            return
        fields = cast("dict[str, str]", self._plain.hgetall(f"{self._prefix}job:{job}"))
        scope, name = self._known.paused
        lane = f"{fields['queue']}:{fields['lane']}"
        own = {"lane": lane, "worker": fields["worker"]}.get(scope, fields.get(scope))
        _require(own != name, f"{job} was taken, and {scope} {name} is paused")

    def _require_holder(self, script: str, arguments: tuple[Any, ...]) -> None:
        job, fence = arguments[0], str(arguments[1])
        held, _ = self._leases.get(job, (fence, 0.0))
        _require(held == fence, f"{script} of {job} by an attempt that does not hold it")

    def _require_end(self, job: str) -> None:
        kept = any(key.endswith(f"/{job}/end.json") for key in self._blobs.objects)
        requested = any(key.endswith(f"/{job}/request.json") for key in self._blobs.objects)
        _require(kept or not requested, f"the record of {job} has ended, the store has no end")

    def settled(self, known: Known, also: Collection[str] = ()) -> bool:
        """Whether nothing is left to do."""
        records, [left] = self._clocked.records(("EXISTS", f"{self._prefix}left_at"))
        for job, tenant in known.accepted.items():
            if job in known.unsure or job in known.deleted:
                continue
            if f"jobs/{tenant}/{job}/end.json" not in self._blobs.objects:
                return False
            sent = f"jobs/{tenant}/{job}/webhook.json" in self._blobs.objects
            if "webhooks" in also and not sent and self._has_webhook(tenant, job):
                return False
        idle = all(fields.get("status") in ENDED for fields in records.values())
        return idle and not left and not any(key.startswith("open/") for key in self._blobs.objects)

    def _has_webhook(self, tenant: str, job: str) -> bool:
        own = self._blobs.objects.get(f"jobs/{tenant}/{job}/request.json")
        return own is not None and json.loads(own).get("webhook") is not None

    def at_the_end(self, known: Known) -> None:
        """Everything accepted has ended once, its record says so, and nothing else is left."""
        prefix, objects = self._prefix, self._blobs.objects
        records, replies = self._clocked.records(
            ("HGETALL", f"{prefix}counts"),
            ("HGETALL", f"{prefix}queued"),
            ("ZRANGE", f"{prefix}due", "0", "-1"),
            *(
                command
                for tenant in _TENANTS
                for command in (
                    ("HGETALL", f"{prefix}usage:{tenant}"),
                    ("ZRANGE", f"{prefix}jobs:{tenant}", "0", "-1"),
                )
            ),
        )
        for job, tenant in known.accepted.items():
            end = objects.get(f"jobs/{tenant}/{job}/end.json")
            if job in known.deleted:
                left = [key for key in objects if job in key]
                _require(job not in records and not left, f"{job} was deleted; left: {left}")
            elif job not in known.unsure or end is not None:
                _require(end is not None, f"{job} was accepted and has no end")
                assert end is not None
                _require(job in records, f"{job} has ended and has no record")
                status = json.loads(end)["status"]
                _require(records[job]["status"] == status, f"{job}: record and store differ")
                fence = json.loads(end)["fence"]
                for key in objects:
                    start = layout.attempts(tenant, job)
                    own = key.startswith(start) and key[len(start) :].split("/")[0] == fence
                    _require(not key.startswith(start) or own, f"{key} is left of another attempt")
        for key in objects:
            job = next((part for part in key.split("/") if part.startswith("job_")), "")
            _require(not job or job in records, f"{key} is left of a job without a record")
        self._require_counts(records, *replies)

    def _require_counts(
        self,
        records: dict[str, dict[str, str]],
        counts: dict[str, str],
        waiting: dict[str, str],
        scores: list[str],
        *of_tenants: Any,
    ) -> None:
        counted = {name: int(n) for name, n in counts.items() if n != "0"}
        statuses = Counter(fields["status"] for fields in records.values())
        _require(counted == dict(statuses), f"counted {counted}, there are {dict(statuses)}")
        queued = {name: n for name, n in waiting.items() if n != "0"}
        _require(not queued, f"counted as queued: {queued}")
        for number, tenant in enumerate(_TENANTS):
            used, jobs = of_tenants[2 * number : 2 * number + 2]
            own = [fields for fields in records.values() if fields["tenant"] == tenant]
            _require(
                int(used.get("jobs", 0)) == len(own), f"{tenant} uses {used} of {len(own)} jobs"
            )
            kept = sum(int(fields.get("bytes", 0)) for fields in own)
            start = f"datasets/{tenant}/"
            kept += sum(
                len(data)
                for key, data in self._blobs.objects.items()
                if key.startswith(start) and key.endswith("/content")
            )
            _require(int(used.get("bytes", 0)) == kept, f"{tenant} uses {used} of {kept} bytes")
            _require(not {"queued", "running"} & used.keys(), f"{tenant} uses {used} at the end")
            listed = set(jobs)
            have = {job for job, fields in records.items() if fields["tenant"] == tenant}
            _require(
                listed == have, f"the list of {tenant} has {listed ^ have} too many or too few"
            )
        due = set(scores) - records.keys()
        _require(not due, f"due without a record: {due}")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise Broken(sentence)
