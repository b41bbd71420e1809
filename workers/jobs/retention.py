"""What is removed since its time is over, and what stays because something that is kept needs it.

A dataset or job may go when its own expiry has passed, when it is older than the settings keep such
things, or when its tenant keeps more bytes than the settings do: then the oldest go first. It stays
as long as one of these is kept:

- a job that has not ended, or whose webhook is still to be sent;
- of a dataset: a job that has not ended and has it as an input, or inspects it;
- of a job, with its tree and model: any job made from them (predictions, evaluations, maps,
  transformations, comparisons, methods that take its tree, jobs grown from it), ended or not, and
  labels made of statements about its tree;
- of a job: an alias that names its tree.

One script takes a thing for removal and looks at these in the same step, and a job that refers to
it is refused from then on. Then it is removed from the store as DELETE does it; what a dead process
has left of that is removed by the next sweep. Aliases are in the store alone: they are looked at
just before, for many removals at once, while none is moved to their trees.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from workers.artifacts.aliases import Aliases
from workers.artifacts.audit import Event, event_of_command, note_command
from workers.artifacts.beside import Beside
from workers.artifacts.datasets import Datasets
from workers.artifacts.shares import Shares
from workers.errors import TransientError
from workers.model import made_at, sibling
from workers.settings import WorkerSettings, of_tenant
from workers.stores.erasure import erase_job
from workers.stores.objects.blobs import Blobs
from workers.stores.redis.crossings import HOLD_S
from workers.stores.redis.records import Records
from workers.stores.redis.removal import Removable, Removal
from workers.stores.redis.usage import Usage

_AT_ONCE = 500
_NOTED, _NOTED_S = 100, HOLD_S / 3
"""How many removals are noted at a time, and for how long at most: no alias is moved to the trees
of these meanwhile."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A dataset or job whose time is over. why : the reason. kept_by : what it stays for, an id or
    an alias, as `@champion`; "" if it goes; its own id if it has not ended."""

    id: str
    tenant: str
    n_bytes: int
    why: str
    kept_by: str


class Retention:
    """Removes what has expired. Threads may share it."""

    def __init__(
        self,
        blobs: Blobs,
        records: Records,
        datasets: Datasets,
        beside: Beside,
        usage: Usage,
        removal: Removal,
        aliases: Aliases,
        settings: WorkerSettings,
    ) -> None:
        self._blobs = blobs
        self._records = records
        self._datasets = datasets
        self._beside = beside
        self._usage = usage
        self._removal = removal
        self._aliases = aliases
        self._settings = settings

    def sweep(self) -> int:
        """Remove what may go; returns the number of things. One of all processes does this every
        `keep_sweep_s`. Redis must be built, since needs are known from its records."""
        if not self._records.only_one("retention", self._settings.keep_sweep_s):
            return 0
        return sum(not verdict.kept_by for verdict in self.run())

    def run(self, actor: str = "retention") -> list[Verdict]:
        """Remove what may go now; what has come of each thing whose time is over. Links to trees
        that ended long ago go too. Each removal is a line of the audit log.

        actor : who removes, for that log.
        """
        for own_id, tenant in self._removal.going().items():
            self._remove(own_id, tenant)
        Shares(self._blobs, self._beside.count).sweep(self._removal.now())
        outcome: dict[str, Verdict] = {}
        waiting: list[Event] = []
        try:
            for taken in self._each_taken(self.plan()):
                outcome[taken.id] = taken
                if not taken.kept_by:
                    waiting.append(_removed(taken, actor))
                if len(waiting) >= _AT_ONCE:
                    self._note(waiting)
                    waiting = []
        finally:
            self._note(waiting)
        return list(outcome.values())

    def _note(self, events: list[Event]) -> None:
        try:
            note_command(self._blobs, *events)
        except TransientError as error:
            _log.warning("%d removals are not in the audit log: %s", len(events), error)

    def plan(self) -> list[Verdict]:
        """What `run` would do: first what goes, in an order in which it can, then what stays."""
        now = self._removal.now()
        plan = _Plan(self._removal, self._aliases)
        plan.add(self._removal.expired(now), "it has expired")
        for tenant in self._removal.tenants() if self._limited else ():
            self._add_old(plan, tenant, now)
        plan.settle()
        for tenant in self._removal.tenants() if self._settings.keep_bytes else ():
            self._add_excess(plan, tenant)
        return plan.verdicts()

    @property
    def _limited(self) -> bool:
        settings = self._settings
        return bool(settings.keep_datasets_days or settings.keep_jobs_days)

    def _add_old(self, plan: _Plan, tenant: str, now: datetime) -> None:
        for days, of in (
            (of_tenant(self._settings.keep_datasets_days, tenant), self._removal.datasets),
            (of_tenant(self._settings.keep_jobs_days, tenant), self._removal.jobs),
        ):
            if days is None:
                continue
            why = f"it is older than {days:g} days"
            before = _earlier(now, days)
            plan.add(of(tenant, before), why, before)

    def _add_excess(self, plan: _Plan, tenant: str) -> None:
        """Add the oldest things of a tenant that keeps more bytes than the settings do."""
        most = of_tenant(self._settings.keep_bytes, tenant)
        if most is None:
            return
        excess = self._usage.of(tenant)["bytes"] - most - plan.freed(tenant)
        if excess <= 0:
            return
        ids = [*self._removal.datasets(tenant), *self._removal.jobs(tenant)]
        ids.sort(key=lambda own_id: own_id.partition("_")[2])
        plan.add_until(ids, f"the tenant keeps more than {most} bytes", excess)

    def _each_taken(self, plan: list[Verdict]) -> Iterator[Verdict]:
        """What has come of each, in this order. Each tenant's aliases are listed once for many."""
        while plan:
            began, n_over = time.monotonic(), 0
            with ExitStack() as notes:
                free = {
                    each.id: notes.enter_context(self._aliases.leaving(each.tenant, tree))
                    for each in plan[:_NOTED]
                    if not each.kept_by and (tree := _tree_of(each)) is not None
                }
                named: dict[str, dict[str, str]] = {}
                for each in plan[:_NOTED]:
                    if n_over and time.monotonic() - began > _NOTED_S:
                        break
                    yield each if each.kept_by else self._taken(each, free.get(each.id), named)
                    n_over += 1
            plan = plan[n_over:]

    def _taken(
        self, verdict: Verdict, is_free: bool | None, named: dict[str, dict[str, str]]
    ) -> Verdict:
        """is_free : whether no alias is being moved to it; None: none can be. named : what names
        the trees of each tenant, as far as that was looked up since then."""
        tree = _tree_of(verdict)
        if is_free is None or tree is None:
            return self._retired(verdict)
        if verdict.tenant not in named:
            named[verdict.tenant] = self._aliases.naming_trees(verdict.tenant)
        name = named[verdict.tenant].get(tree)
        if is_free and name is None:
            return self._retired(verdict)
        return replace(verdict, kept_by="an alias" if name is None else f"@{name}")

    def _retired(self, verdict: Verdict) -> Verdict:
        what, facts = self._removal.retire(verdict.id)
        if what == "ok":
            self._remove(verdict.id, facts)
        kept_by = {"needed": facts, "unfinished": verdict.id}.get(what, "")
        return Verdict(verdict.id, verdict.tenant, verdict.n_bytes, verdict.why, kept_by)

    def _remove(self, own_id: str, tenant: str) -> None:
        """Remove what was taken; a store that does not answer leaves it to the next sweep."""
        try:
            if own_id.startswith("job_"):
                erase_job(self._blobs, self._records, tenant, own_id)
            else:
                self._datasets.erase(tenant, own_id)
            self._removal.retired(own_id)
        except TransientError as error:
            _log.warning("%s is removed later: %s", own_id, error)


class _Plan:
    """What goes and what stays, without changing anything."""

    def __init__(self, removal: Removal, aliases: Aliases) -> None:
        self._removal = removal
        self._aliases = aliases
        self._named: dict[str, dict[str, str]] = {}
        self._why: dict[str, str] = {}
        self._known: dict[str, Removable] = {}
        self._keepers: dict[str, bool] = {}
        self._kept_by: dict[str, str] = {}
        self._going: dict[str, None] = {}

    def add(self, ids: Iterable[str], why: str, before: datetime | None = None) -> None:
        """Add things whose time is over; those that are not from before `before` are left out."""
        for each in self._read([own_id for own_id in ids if own_id not in self._why]):
            if before is None or _since(each) < before:
                self._why[each.id] = why

    def settle(self) -> None:
        """Decide of everything added; what needs another thing goes before it."""
        waiting = [own_id for own_id in self._why if own_id not in self._going]
        while True:
            still = [own_id for own_id in waiting if not self._goes(own_id)]
            if len(still) == len(waiting):
                return
            waiting = still

    def add_until(self, ids: list[str], why: str, n_bytes: int) -> None:
        """Add things in this order until those that go have so many bytes."""
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            for each in self._read([own_id for own_id in some if own_id not in self._why]):
                if n_bytes <= 0:
                    return
                if not each.n_bytes:
                    continue
                self._why[each.id] = why
                if self._goes(each.id):
                    n_bytes -= each.n_bytes

    def freed(self, tenant: str) -> int:
        """The bytes of those things of a tenant that go."""
        going = [self._known[own_id] for own_id in self._going]
        return sum(each.n_bytes for each in going if each.tenant == tenant)

    def verdicts(self) -> list[Verdict]:
        order = [*self._going, *(own_id for own_id in self._why if own_id not in self._going)]
        return [
            Verdict(
                own_id,
                self._known[own_id].tenant,
                self._known[own_id].n_bytes,
                self._why[own_id],
                "" if own_id in self._going else self._kept_by[own_id],
            )
            for own_id in order
        ]

    def _goes(self, own_id: str) -> bool:
        each = self._known[own_id]
        is_job = own_id.startswith("job_")
        if not each.finished:
            self._kept_by[own_id] = own_id
            return False
        if is_job and (name := self._alias_of(each)) is not None:
            self._kept_by[own_id] = f"@{name}"
            return False
        for by in each.needed_by:
            runs = self._keepers.get(by)
            if runs is not None and (is_job or runs) and by not in self._going:
                self._kept_by[own_id] = by
                return False
        self._going[own_id] = None
        return True

    def _alias_of(self, job: Removable) -> str | None:
        """An alias of its tree. One listing for a tenant."""
        named = self._named.get(job.tenant)
        if named is None:
            named = self._named[job.tenant] = self._aliases.naming_trees(job.tenant)
        return named.get(sibling(job.id, "tr"))

    def _read(self, ids: list[str]) -> list[Removable]:
        read: list[Removable] = []
        for start in range(0, len(ids), _AT_ONCE):
            read += self._removal.described(ids[start : start + _AT_ONCE])
        self._known |= {each.id: each for each in read}
        needing = sorted({by for each in read for by in each.needed_by} - self._keepers.keys())
        for start in range(0, len(needing), _AT_ONCE):
            self._keepers |= self._removal.keepers(needing[start : start + _AT_ONCE])
        return read


def _removed(verdict: Verdict, actor: str) -> Event:
    noun = "jobs" if verdict.id.startswith("job_") else "datasets"
    path = f"/v1/{noun}/{verdict.id}"
    return event_of_command(f"expire: {verdict.why}", verdict.tenant, path, actor)


def _tree_of(verdict: Verdict) -> str | None:
    """The tree of a job; None for a dataset."""
    return sibling(verdict.id, "tr") if verdict.id.startswith("job_") else None


def _earlier(now: datetime, days: float) -> datetime:
    """That many days before; the beginning of time at the earliest."""
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=now.tzinfo)


def _since(each: Removable) -> datetime:
    """From when a thing's age counts: a job's end, a dataset's making."""
    return each.since or made_at(each.id) or datetime.max.replace(tzinfo=UTC)
