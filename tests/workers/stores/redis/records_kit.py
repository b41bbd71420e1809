"""The records of the model of `book_kit`: a job, the board of an attempt, an entry of a list,
what uploads take."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

ENDED = ("succeeded", "failed", "cancelled")
N_EVENTS_KEPT = 100
Reply = str | int | list[Any]
Scored = dict[str, float]


def lowest(scores: Scored, most: float) -> list[str]:
    """The members with a score of at most `most`, as a sorted set orders them."""
    return sorted((m for m in scores if scores[m] <= most), key=lambda m: (scores[m], m))


@dataclass
class Job:
    """A job's record, with the events of its stream."""

    tenant: str
    queue: str
    method: str
    kind: str
    listed: str
    request: str
    once: str
    base: int
    version: int
    key: str
    key_running: str
    refs: str
    bytes: int | None
    queued_at: int
    restored: int | None = None
    status: str = "queued"
    attempt: int = 0
    progress: str = "{}"
    n_events: int = 0
    events: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    events_expire: bool = False
    fence: str | None = None
    lease: int | None = None
    worker: str | None = None
    started_us: str | None = None
    cancel: int | None = None
    cancel_by: int | None = None
    end: dict[str, str] = field(default_factory=dict)
    hook: str | None = None
    hook_to: str | None = None
    hook_attempts: int | None = None
    hook_reason: str | None = None
    hook_due: int | None = None
    hook_token: str | None = None
    annotation: str | None = None
    revision: int | None = None
    waits: str = "fit"
    retry: dict[str, str] = field(default_factory=dict)
    policy: str | None = None
    given_up: str | None = None

    def says(self, what: str, usual: Any) -> Any:
        """What its policy says of how it is tried again."""
        return json.loads(self.policy or "{}").get(what, usual)

    @property
    def lane(self) -> str:
        return f"{self.queue}:{self.waits}"

    @property
    def counted(self) -> bool:
        """Whether it counts in what its tenant and its key have queued and running."""
        return self.listed == "1" and self.bytes is not None

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def event(self, kind: str, data: str) -> None:
        self.n_events += 1
        entry = {"event": kind, "status": self.status, "data": data}
        self.events = [*self.events, (f"{self.base}-{self.n_events}", entry)][-N_EVENTS_KEPT:]

    def fields(self) -> dict[str, str]:
        names = (
            *("tenant", "queue", "method", "kind", "listed", "request", "once", "base", "version"),
            *("status", "attempt", "progress", "fence", "lease", "worker", "started_us", "cancel"),
            *("cancel_by", "hook", "hook_to", "hook_attempts", "hook_reason", "hook_due"),
            *("hook_token", "key", "key_running", "refs", "bytes", "queued_at"),
            *("annotation", "revision", "restored", "policy", "given_up"),
        )
        values = {name: getattr(self, name) for name in names}
        plain = {name: str(value) for name, value in values.items() if value is not None}
        return {**plain, "lane": self.waits, "events": str(self.n_events), **self.retry, **self.end}


@dataclass
class Board:
    """The pieces of one attempt. left : scored by the time from which each may be taken."""

    first: str | None = None
    pieces: dict[str, str] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)
    n_takes: dict[str, int] = field(default_factory=dict)
    mine: str | None = None
    out: int = 0
    left: Scored = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)

    def fields(self) -> dict[str, str]:
        texts = {f"p{k}": text for k, text in self.pieces.items()}
        texts |= {f"t{k}": holder for k, holder in self.holders.items()}
        texts |= {f"c{k}": str(n) for k, n in self.n_takes.items()}
        texts |= {} if self.first is None else {"first": self.first, "out": str(self.out)}
        return texts | ({} if self.mine is None else {"mine": self.mine})


@dataclass
class Entry:
    """A dataset or a tree in its lists."""

    tenant: str
    group: str
    facts: str
    bytes: str
    key: str
    ref: str
    digest: str | None = None
    annotation: str | None = None
    revision: int | None = None

    def fields(self) -> dict[str, str]:
        return {name: str(value) for name, value in vars(self).items() if value is not None}


@dataclass
class Reserved:
    """Room reserved for an upload."""

    bytes: int
    datasets: int
    ends: int
    key: str

    def __str__(self) -> str:
        return f"{self.bytes} {self.datasets} {self.ends} {self.key}"


@dataclass
class Upload:
    """The parts of an upload: bytes by number."""

    tenant: str
    key: str
    parts: dict[str, int] = field(default_factory=dict)

    def fields(self) -> dict[str, str]:
        sizes = {number: str(n_bytes) for number, n_bytes in self.parts.items()}
        return {"tenant": self.tenant, "key": self.key, **sizes}
