"""One schedule from its decisions; and a failing one, made shorter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from tests.simulation.actors_kit import Actors, Known
from tests.simulation.redis_kit import Clocked
from tests.simulation.rules_kit import Rules
from tests.simulation.store_kit import MemoryBlobs
from tests.simulation.works_kit import Beside, Receiver, Works, store
from tests.simulation.world_kit import Broken, Decisions, Process, World
from workers.assembly import Assembly, assemble
from workers.errors import TransientError
from workers.jobs.rebuild import LEFT_S
from workers.model import earliest_suffix
from workers.settings import WorkerSettings

PREFIX = "simulation:"
LEASE_S = 5.0
FAULTS = 0.03

SCENARIOS: tuple[tuple[str, ...], ...] = (
    (),
    ("repeats",),
    ("webhooks",),
    ("pieces",),
    ("uploads",),
    ("uploads", "removals"),
)
"""What schedules have beside plain jobs."""

Alter = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Failure:
    """A schedule that broke a rule. decisions : those that were made, for a repeat."""

    seed: int
    rule: str
    decisions: tuple[int, ...]
    log: tuple[str, ...]
    also: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The rule without the names of jobs and objects."""
        return re.sub(r"\S*(job_|/)\S*", "...", self.rule)

    def __str__(self) -> str:
        lines = "\n".join(self.log[-60:])
        beside = f" with {', '.join(self.also)}" if self.also else ""
        n_decisions = sum(map(bool, self.decisions))
        return f"{self.rule}\nseed {self.seed}{beside}, {n_decisions} decisions\n{lines}"


def results_in(folder: Path) -> Path:
    """The files of a result, in a folder of their own."""
    results = folder / "results"
    results.mkdir()
    (results / "tree.arrow").write_text("columns")
    (results / "leaf_of_point.npy").write_text("numbers")
    return results


class Simulation:
    """Runs schedules over one Valkey, which must be used by nothing else.

    folder : files of a result, which are read only. alter : see `Clocked`. also : see `Actors`.
    """

    def __init__(
        self, url: str, folder: Path, alter: Alter | None = None, also: Sequence[str] = ()
    ) -> None:
        self._results, self._also = folder, also
        self._local = folder.with_name("local")
        self._local.mkdir(exist_ok=True)
        self._clocked = Clocked(url, PREFIX, alter or {})
        self._settings = WorkerSettings(
            redis_url=url,
            store_url="memory://",
            key_prefix=PREFIX,
            # Longer than that of a piece.
            lease_s=20.0 if "pieces" in also else LEASE_S,
            resend_s=2.0,
            max_attempts=3,
            keep_sweep_s=3.0 if "uploads" in also else 60.0,
        )

    def run(self, seed: int = 0, given: Sequence[int] | None = None) -> Failure | None:
        """What the schedule broke; None if all held."""
        decisions = Decisions(seed, given)
        world = World(decisions, FAULTS, 0.01 if "removals" in self._also else 0.1)
        self._clocked.plain.flushdb()
        try:
            with self._in_place(world, seed):
                self._schedule(world, thorough=seed % 8 == 0)
        except Exception as error:  # A rule that is broken, or what no process expects.
            rule = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
            return Failure(seed, rule, tuple(decisions.made), tuple(world.log), tuple(self._also))
        finally:
            world.close()
        return None

    def shorter(self, failure: Failure, tries: int = 300) -> Failure:
        """A failure with fewer decisions that are not the plain ones."""
        best, size = failure, max(1, len(failure.decisions) // 2)
        while size:
            start = 0
            while start < len(best.decisions) and tries > 0:
                chosen = list(best.decisions)
                if any(chosen[start : start + size]):
                    chosen[start : start + size] = [0] * len(chosen[start : start + size])
                    tries -= 1
                    found = self.run(failure.seed, chosen)
                    if found is not None and found.kind == best.kind:
                        best = found
                start += size
            size //= 2
        return best

    def _schedule(self, world: World, *, thorough: bool) -> None:
        """thorough : whether sweeps go on, once nothing is left to do."""
        clocked, choose = self._clocked, world.decisions
        blobs, known = MemoryBlobs(world, self._local), Known()
        rules = Rules(world, blobs, clocked, self._settings.lease_s, known)
        blobs.on_write = rules.written
        world.on_leap = lambda seconds: clocked.expire(seconds) if seconds >= 1 else None

        self._connect = lambda url: clocked.client(world, rules.changed)
        self._blobs_at = lambda settings: blobs

        def assembly() -> Assembly:
            return assemble(self._settings, lambda queue, job: known.hints.append(job))

        def flush() -> None:
            clocked.plain.flushdb()
            rules.forget()

        also = self._also
        works = Works(world, self._settings, Beside(), self._local)
        receiver = Receiver(world, blobs, works.beside)
        actors = Actors(world, assembly, known, self._results, works, also)
        self._post = receiver.post
        assembly().ledger.rebuild()
        works.removes = alone = "removals" in also
        for number in range(0 if alone else 1 + choose.below(3)):
            world.spawn(f"client {number}", partial(actors.client, number))
        workers = 0 if alone else 1 + choose.below(2)
        for number in range(workers):
            world.spawn(f"worker {number}", lambda: actors.worker("worker"))
        world.spawn("sweeper", lambda: actors.sweeper(3 + choose.below(4)))
        mishap = choose.seldom(2, 0.3)
        if mishap:
            act = flush if mishap == 1 else lambda: clocked.plain.delete(f"{PREFIX}counted")
            world.spawn("operator", lambda: actors.operator([act]))

        if choose.seldom(1, 0.3):
            world.spawn("pauser", actors.pauser)

        if "webhooks" in also:
            for _ in range(1 + choose.below(2)):
                world.spawn("sender", lambda: works.sender(assembly(), 12))
        if "pieces" in also:
            for _ in range(1 + choose.below(2)):
                world.spawn("helper", lambda: works.helper(assembly().ledger, known.hints, 60))
        if "uploads" in also:
            for number in range(1 if alone else 1 + choose.below(2)):
                world.spawn(
                    f"uploader {number}",
                    partial(lambda n: works.uploader(assembly(), n, known.accepted), number),
                )
            if alone or choose.below(2):
                world.spawn("rival", lambda: works.rival(assembly()))

        def again(process: Process) -> None:
            kind, _, number = process.name.partition(" ")
            if kind == "client" and int(number) in known.begun:
                world.spawn(process.name, partial(actors.client, int(number)))
            if process.name.startswith("worker"):
                world.spawn(process.name, lambda: actors.worker("worker"))
            elif process.name == "pauser":
                known.paused = None
                world.spawn(process.name, actors.pauser)
            elif process.name == "sweeper":
                world.spawn(process.name, lambda: actors.sweeper(3))

        world.on_crash = again
        world.run()
        world.calm()
        if not actors.settle(lambda: rules.settled(known, also)):
            rules.at_the_end(known)
            raise Broken("nothing is missing, but something is never done")
        last = assembly()
        if "pieces" in also:
            for _ in range(4):
                world.leap(20.0)
                # A process that died may hold the rebuild for a while.
                with suppress(TransientError):
                    last.ledger.sweep()
            works.no_pieces(blobs.objects)
        # A rebuild finds what processes left that died before the open marker; sweeps remove it.
        clocked.plain.delete(f"{PREFIX}counted")
        for number in range(4):
            world.leap(40.0)
            last.ledger.sweep()
            if number and not thorough and self._is_over(rules, known):
                break
        if "uploads" in also:
            works.forget(last)
            world.leap(LEFT_S)
            clocked.plain.delete(f"{PREFIX}counted")
            last.ledger.sweep()
        actors.settle(lambda: rules.settled(known, also))
        works.at_the_end(blobs.objects, known.unsure | known.deleted)
        rules.at_the_end(known)

    def _is_over(self, rules: Rules, known: Known) -> bool:
        try:
            rules.at_the_end(known)
        except Broken:
            return False
        return True

    @contextmanager
    def _in_place(self, world: World, seed: int) -> Iterator[None]:
        """The world's clock, random numbers and threads in place of the real ones."""
        number = iter(range(1, 1 << 62))

        def token_hex(n: int) -> str:
            return f"{next(number):0{2 * n}x}"

        def new_id(prefix: str) -> str:
            return f"{prefix}_{earliest_suffix(world.now())[:10]}{_base32(next(number)):0>16}"

        clock = _Clock(world)
        values: dict[str, object] = {
            "workers.assembly.connect": lambda url: self._connect(url),
            "workers.assembly.blobs_at": lambda settings: self._blobs_at(settings),
            "workers.stores.redis.client.source": self._clocked.source,
            "workers.jobs.ledger.secrets.token_hex": token_hex,
            "workers.jobs.ledger.time": clock,
            "workers.jobs.submission.time": clock,
            "workers.jobs.rebuild.time": clock,
            "workers.stores.removals.time": clock,
            "workers.jobs.rebuild.datetime": _Calendar(world),
            "workers.jobs.rebuild.ThreadPoolExecutor": _OneThread,
            # A thread of the real clock would call in the middle of a schedule.
            "workers.jobs.rebuild.Rebuild._held": lambda *_: nullcontext(),
            "workers.jobs.inspections.new_id": new_id,
            "workers.jobs.repeats.new_id": new_id,
            "tests.simulation.actors_kit.new_id": new_id,
            "tests.simulation.works_kit.new_id": new_id,
            "workers.artifacts.uploads.new_id": new_id,
            "workers.artifacts.uploads.store": store,
            "workers.artifacts.datasets.store": store,
            "workers.webhooks.sender.time": clock,
            "workers.webhooks.sender.random": _LeastRandom,
            "workers.webhooks.sender.post": lambda *all: self._post(*all),
        }
        earlier = [(*_place(name), value) for name, value in values.items()]
        kept = [getattr(owner, name) for owner, name, _ in earlier]
        for owner, name, value in earlier:
            setattr(owner, name, value)
        try:
            yield
        finally:
            for (owner, name, _), value in zip(earlier, kept, strict=True):
                setattr(owner, name, value)


@cache
def _place(name: str) -> tuple[Any, str]:
    """The module or class in which a name stands, and its last part."""
    path, _, last = name.rpartition(".")
    return resolve_name(path), last


class _Clock:
    """`time` by the world's clock."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.monotonic()

    def time(self) -> float:
        return self._world.now().timestamp()

    def sleep(self, seconds: float) -> None:
        self._world.pause()


class _LeastRandom:
    """`random` that adds nothing."""

    @staticmethod
    def uniform(low: float, high: float) -> float:
        return low


class _Calendar:
    """`datetime` by the world's clock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.fromisoformat = datetime.fromisoformat

    def now(self, zone: tzinfo) -> datetime:
        return self._world.now().astimezone(zone)


class _OneThread:
    """An executor that runs everything when it is submitted, in the order of submission."""

    def __init__(self, *arguments: Any) -> None:
        pass

    def __enter__(self) -> _OneThread:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def map(self, function: Callable[..., Any], *columns: Any) -> list[Any]:
        return [function(*row) for row in zip(*columns, strict=False)]

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


def _base32(number: int) -> str:
    digits = []
    while number:
        digits.append("0123456789abcdefghjkmnpqrstvwxyz"[number & 31])
        number >>= 5
    return "".join(reversed(digits))
