"""Clients, workers and sweepers, each a process with an own assembly."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from models.errors import UsageError
from tests.simulation.works_kit import ADDRESS, Works
from tests.simulation.world_kit import World
from tests.workers.jobs_kit import end, request
from workers.assembly import Assembly
from workers.errors import Missing, TransientError
from workers.jobs.ledger import Ledger
from workers.model import Claim, Pause, Request, Retrying, Scope, new_id, now

LANES = ("cpu:quick", "cpu:short", "cpu:fit")
RETRYING = (Retrying(), Retrying(attempts=2, backoff=4.0), Retrying(retry_on=("full",)))
PAUSED: tuple[tuple[Scope, str], ...] = (
    ("lane", "cpu:fit"),
    ("tenant", "ada"),
    ("method", "hac"),
    ("worker", "worker"),
)
PATIENCE = 6
"""How often a worker tries to publish, and a client to submit."""


@dataclass
class Known:
    """What clients know: jobs that were accepted, and those whose deletion was answered.

    begun : by client, the tenant and the job with which its key is reserved.
    """

    accepted: dict[str, str] = field(default_factory=dict)
    begun: dict[int, tuple[str, str]] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    hints: list[str] = field(default_factory=list)
    open: int = 0
    paused: tuple[str, str] | None = None


class Actors:
    """The code of each process. assembly : a new one, over the same Redis and store.

    also : what is done beside plain jobs: `webhooks`, `pieces`, `uploads`; `repeats`: each client
        has a key, and is repeated at once where its process ends; `removals`: nothing but uploads,
        each removed again.
    """

    def __init__(
        self,
        world: World,
        assembly: Callable[[], Assembly],
        known: Known,
        results: Path,
        works: Works,
        also: Collection[str],
    ) -> None:
        self._works, self._also = works, also
        self._world = world
        self._assembly = assembly
        self._known = known
        self._results = results

    def client(self, number: int) -> None:
        """Submits a job until it is accepted, with one idempotency key; then may cancel or delete
        it."""
        ledger, choose = self._assembly().ledger, self._world.decisions
        tenant = ("ada", "bea")[number % 2]
        once = f"key-{number}" if "repeats" in self._also or choose.below(2) else None
        cost_s = (None, 1.0)[number % 2]
        accepted = ""
        for _ in range(PATIENCE):
            own = request(
                tenant,
                id=new_id("job"),
                idempotency_key=once,
                body_sha256=once and "0" * 64,
                cost_s=cost_s,
                retrying=RETRYING[number % 3],
                webhook=ADDRESS if "webhooks" in self._also else None,
            )
            with suppress(TransientError):
                accepted = self._finished(ledger, number) or self._submitted(ledger, number, own)
            if accepted:
                break
            self._world.pause()
        if not accepted:
            return
        self._known.accepted[accepted] = tenant
        then = choose.seldom(4, 0.5)
        for _ in range(choose.below(8) if then else 0):
            self._world.pause()
        with suppress(TransientError):
            if then == 1:
                ledger.cancel(tenant, accepted)
            elif then == 2:
                self._known.unsure.add(accepted)
                ledger.delete(tenant, accepted)
                self._known.deleted.add(accepted)
            elif then == 3:
                ledger.get(tenant, accepted)
            elif then == 4:
                self._repeat(ledger, tenant, accepted)

    def _finished(self, ledger: Ledger, number: int) -> str:
        """The job that a dead process has begun for this client, accepted now; "" if there is
        none, as `app.http.idempotency` finds it."""
        begun = self._known.begun.get(number)
        if begun is None:
            return ""
        record = ledger.accepted(*begun) or ledger.finish_submission(*begun)
        del self._known.begun[number]
        return "" if record is None else record.id

    def _submitted(self, ledger: Ledger, number: int, own: Request) -> str:
        self._known.tried.add(own.id)
        if "repeats" in self._also:
            self._known.begun[number] = own.tenant, own.id
        with suppress(TransientError):
            job = ledger.submit(own).id
            self._known.begun.pop(number, None)
            return job
        self._known.begun.pop(number, None)
        return ""

    def _repeat(self, ledger: Ledger, tenant: str, job: str) -> None:
        """Tries a job again by hand, twice, once it has failed."""
        for _ in range(PATIENCE):
            with suppress(TransientError, UsageError):
                repeat = ledger.retry(tenant, job)
                if repeat is not None:
                    self._known.accepted[repeat.id] = tenant
            self._world.pause()

    def worker(self, name: str) -> None:
        """Takes jobs, by turns or by a hint, while clients are there or work is."""
        assembly, choose = self._assembly(), self._world.decisions
        ledger, idle = assembly.ledger, 0
        while idle < 6:
            try:
                if choose.below(3) == 2 and self._known.hints:
                    claim = ledger.claim(self._known.hints[-1], name)
                else:
                    claim = ledger.claim_next(LANES, name)
            except TransientError:
                claim = None
            if claim is None:
                idle += 1
                self._world.pause()
                continue
            idle = 0
            with suppress(TransientError):
                self._work(assembly, claim)

    def _work(self, assembly: Assembly, claim: Claim) -> None:
        ledger, choose = assembly.ledger, self._world.decisions
        if "uploads" in self._also:
            self._works.read(assembly, claim)
        status = "succeeded"
        for _ in range(choose.below(4)):
            answer = "on"
            with suppress(TransientError):
                answer = ledger.beat(claim)
            if answer == "lost":
                ledger.forsake(claim)
                return
            if answer == "cancel":
                status = "cancelled"
            elif self._makes_room(ledger, claim):
                ledger.give_back(claim, spend=False, lane="fit")
                return
            self._world.pause()
        if "pieces" in self._also:
            self._works.divide(ledger, claim)
        what = choose.seldom(4, 0.4)
        if what == 1:
            ledger.give_back(claim, spend=True)
        elif what == 2:
            ledger.give_back(claim, spend=False)
        elif what == 3:
            ledger.give_back(claim, spend=True, delay_s=3.0)
        else:
            if what == 4 and status == "succeeded":
                status = "failed"
            self.publish(ledger, claim, status)

    def _makes_room(self, ledger: Ledger, claim: Claim) -> bool:
        with suppress(TransientError):
            return claim.lane == "fit" and ledger.makes_room(claim, LANES[:2])
        return False

    def publish(self, ledger: Ledger, claim: Claim, status: str) -> None:
        folder = self._results if status == "succeeded" else None
        for _ in range(PATIENCE):
            try:
                ledger.finish(claim, end(claim, status), folder)
                return
            except TransientError:
                self._world.pause()

    def sweeper(self, rounds: int) -> None:
        ledger = self._assembly().ledger
        for _ in range(rounds):
            with suppress(TransientError):
                ledger.sweep()
            self._world.pause()

    def operator(self, mishaps: Sequence[Callable[[], object]]) -> None:
        """Redis loses its data, or starts again."""
        for mishap in mishaps:
            for _ in range(self._world.decisions.below(12)):
                self._world.pause()
            mishap()

    def pauser(self) -> None:
        """Pauses something and lets it go on, each until that is answered."""
        pauses, choose = self._assembly().ledger.pauses, self._world.decisions
        scope, name = PAUSED[choose.below(len(PAUSED))]
        made = Pause(scope=scope, name=name, since=now())
        self._until_answered(lambda: pauses.put(made))
        self._known.paused = (scope, name)
        for _ in range(choose.below(10)):
            self._world.pause()
        self._known.paused = None
        self._until_answered(lambda: pauses.remove(scope, name))

    def _until_answered(self, call: Callable[[], object]) -> None:
        while True:
            try:
                call()
            except TransientError:
                self._world.pause()
            else:
                return

    def settle(self, done: Callable[[], bool]) -> bool:
        """Work without faults until everything is done; False if that takes too long."""
        assembly = self._assembly()
        ledger = assembly.ledger
        for number in range(24):
            # A pause whose request got no answer may arrive late; the operator sees it in the list.
            for pause in ledger.pauses.all():
                ledger.pauses.remove(pause.scope, pause.name)
            with suppress(TransientError, Missing):
                ledger.sweep()
            while (claim := ledger.claim_next(LANES, "last")) is not None:
                if "uploads" in self._also:
                    self._works.read(assembly, claim)
                self.publish(ledger, claim, "succeeded")
            if "webhooks" in self._also:
                self._works.send(assembly)
            if done():
                return True
            self._world.leap(min(7.0 * 2**number, 30.0))
        return False
