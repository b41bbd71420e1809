"""The data of a job: its request, its record, its end, and the rights to work on it.

queued -> running -> succeeded | failed | cancelled; `cancelling` is a running job whose cancel was
requested. A job that lost its worker goes back to queued. Pure data: no Redis, no Celery.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from workers.errors import Problem

Status = Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]
ENDED: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})

MOST_PIECES = 4096
"""The largest number of pieces that a fit may be cut into."""

_REFERENCES = ("dataset", "tree", "model", "calibration")
"""The options of a request that hold ids."""

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """An opaque id that sorts by creation time: milliseconds in base 32, then 80 random bits."""
    value = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    digits = []
    for _ in range(26):
        digits.append(_ALPHABET[value & 31])
        value >>= 5
    return f"{prefix}_{''.join(reversed(digits))}"


def earliest_suffix(moment: datetime) -> str:
    """The part after the prefix of the earliest id that `new_id` can make at this time."""
    value = max(0, int(moment.timestamp() * 1000)) << 80
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))


def made_at(own_id: str) -> datetime | None:
    """The time at which `new_id` made an id; None for ids made otherwise."""
    suffix = own_id.rpartition("_")[2]
    if len(suffix) != 26 or not set(suffix) <= set(_ALPHABET):
        return None
    value = 0
    for digit in suffix:
        value = value << 5 | _ALPHABET.index(digit)
    try:
        return datetime.fromtimestamp((value >> 80) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def sibling(job_id: str, prefix: str) -> str:
    """The id of what a job made, or back: the same suffix, another prefix."""
    return f"{prefix}_{job_id.partition('_')[2]}"


def mentions(words: Sequence[str], *texts: str | None) -> bool:
    """Whether each word, casefolded, is in one of the texts."""
    folded = [text.casefold() for text in texts if text]
    return all(any(word in text for text in folded) for word in words)


def run_id(comparison: str, number: int) -> str:
    """The id of the job of a comparison's run: always the same, made when the comparison was."""
    suffix = comparison.partition("_")[2]
    value = int.from_bytes(hashlib.sha256(f"{suffix} {number}".encode()).digest()[:10], "big")
    random = "".join(_ALPHABET[value >> shift & 31] for shift in range(75, -1, -5))
    return f"job_{suffix[:10]}{random}"


def now() -> str:
    """The time in UTC, RFC 3339 with microseconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Annotation(_Frozen):
    """What a user says of a thing.

    revision : its number; 0: as the thing was made.
    changes : random names of the last changes that it holds, its own last.
    """

    name: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    revision: int = 0
    changes: tuple[str, ...] = ()

    def shown(self) -> str:
        """As Redis has it, JSON."""
        return self.model_dump_json(exclude={"changes"})

    def says_the_same(self, other: Annotation) -> bool:
        """Whether a user sees no difference."""
        return (self.name, self.description, self.tags) == (
            other.name,
            other.description,
            other.tags,
        )


class MethodStep(_Frozen):
    """A method with its parameters, already validated and with defaults filled in."""

    method: str
    params: dict[str, Any] = {}


RETRIED = ("worker-lost", "process-lost", "unavailable", "full", "internal")
"""The types of problems for which a job is tried again: all of them, unless it says which."""


class Retrying(_Frozen):
    """How a job wants to be tried again; None: as the service does.

    attempts : the most that count. backoff : seconds before the second one, doubled for each that
        follows, at most an hour. retry_on : among `RETRIED`.
    """

    attempts: int | None = None
    backoff: float | None = None
    retry_on: tuple[str, ...] | None = None

    def stated(self) -> str:
        """As the scripts take it: JSON, with ms; "" where nothing is stated."""
        fields = self.model_dump(exclude_none=True)
        if self.backoff is not None:
            fields["backoff"] = int(1000 * self.backoff)
        return json.dumps(fields) if fields else ""


class Request(_Frozen):
    """A job as it was submitted. Written to the store before the client is answered; never changed.

    inputs : by role (of `drift` by sample and role, as "batch.logits") an id (`ds_`, `tr_`, ...),
        a list of ids, or "inline" where the value lies at `layout.inline(tenant, id, role)` as
        JSON.
    preprocess : steps of `models.preprocess` for the features.
    name_by : the input by which the tree's nodes are named; the method may not take it.
    support : a `workers.work.support.Support`, if support is requested.
    kind : one of `workers.kinds`. options : the `Options` of its kind, as JSON.
    webhook : the address to notify when the job has ended; checked by
        `workers.webhooks.addresses.parse`.
    key : the key of the store by which it was submitted. key_running : the most jobs of that key
        that run at a time. inline_bytes : of its inline inputs. inline_sha256 : by role, as stored;
        empty in what is not stored, and in requests of versions that kept none. expires_at : when
        it may be removed, RFC 3339 in UTC. trace : the `traceparent` of its submission, where
        traces are sent. cost_s : the seconds of a processor that it is expected to take; None:
        unknown. retrying : how it is tried again. retry_of : the failed job of which it is a repeat
        by hand.
    """

    id: str
    tenant: str
    kind: str
    queue: Literal["cpu", "gpu"] = "cpu"
    method: str
    inputs: dict[str, str | list[str]] = {}
    params: dict[str, Any] = {}
    preprocess: tuple[dict[str, Any], ...] = ()
    then: MethodStep | None = None
    support: dict[str, Any] | None = None
    name_by: Literal["labels", "feature_names"] | None = None
    name: str | None = None
    options: dict[str, Any] = {}
    webhook: str | None = None
    created_at: str
    request_id: str = ""
    idempotency_key: str | None = None
    body_sha256: str | None = None
    key: str | None = None
    key_running: int | None = None
    inline_bytes: int = 0
    inline_sha256: dict[str, str] = {}
    expires_at: str | None = None
    trace: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    cost_s: float | None = None
    retrying: Retrying = Retrying()
    retry_of: str | None = None

    @property
    def annotation(self) -> Annotation:
        """The annotation that it was submitted with; its tree and model begin with the same."""
        return Annotation(name=self.name, description=self.description, tags=self.tags)

    @property
    def tree(self) -> str | None:
        """The tree that its options name."""
        tree = self.options.get("tree")
        return tree if isinstance(tree, str) else None

    @property
    def needs(self) -> tuple[str, ...]:
        """The datasets and jobs that it refers to: a tree, model or calibration counts as its
        job."""
        values = [*self.inputs.values(), *(self.options.get(name) for name in _REFERENCES)]
        ids = [each for value in values for each in (value if isinstance(value, list) else [value])]
        own = [each for each in ids if isinstance(each, str) and each != "inline"]
        jobs = [sibling(each, "job") for each in own if not each.startswith("ds_")]
        return tuple(dict.fromkeys([each for each in own if each.startswith("ds_")] + jobs))


class Standing(NamedTuple):
    """How a job counts and waits. lane : of `workers.kinds.kind.LANES`. listed : whether clients
    see it. datasets : how many it makes."""

    lane: str
    listed: bool
    datasets: int


class Advance(_Frozen):
    """The progress of a job. `eta_s` is None until it can be estimated."""

    fraction: float = Field(0.0, allow_inf_nan=False)
    stage: str = ""
    message: str = ""
    eta_s: float | None = None


class File(_Frozen):
    """One file of a result, relative to its attempt's folder."""

    name: str
    size: int
    sha256: str


class Retry(_Frozen):
    """Why an attempt was given up, after which the job was tried again if it may be.

    attempt : the number of the one that was given up. error : the problem that it met. counted :
    whether it counts among those that a job has. at : RFC 3339 in UTC.
    """

    attempt: int
    error: Problem
    counted: bool
    at: str


class End(_Frozen):
    """How a job ended: the terminal object, written once, create-only; the first one wins.

    result : on success, what the API shows: {"tree": id | None, "model": id | None, "metrics":
        {...}} and, by kind, "predictions", "evaluation", "calibration", "drift", "map", "heatmap"
        or "dataset".
    tree : facts of the tree for lists: {"method", "kind", "n_points", "n_nodes", "n_leaves",
        "max_depth", "monotone", "name"}; None where there is no tree.
    files : everything the attempt published, under `layout.attempt(tenant, id, fence)`.
    given_up : why earlier attempts, or the last one, were given up, as the record had it.
    """

    job: str
    status: Literal["succeeded", "failed", "cancelled", "rejected"]
    attempt: int
    fence: str
    started_at: str | None
    finished_at: str
    result: dict[str, Any] | None = None
    tree: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    error: Problem | None = None
    files: tuple[File, ...] = ()
    given_up: tuple[Retry, ...] = ()


class Webhook(_Frozen):
    """The state of a job's webhook.

    status : `waiting` for the job's end; `pending` until it is delivered or given up.
    attempts : number of attempts to send it. next_at : when it is sent next. reason : why the last
        attempt failed.
    """

    url: str
    status: Literal["waiting", "pending", "delivered", "failed"] = "waiting"
    attempts: int = 0
    next_at: str | None = None
    reason: str | None = None


class Delivery(_Frozen):
    """The final result of a webhook: an object written once, create-only; the first one wins.

    Until it is there, the webhook of an ended job is to be sent. url : where the last attempt at
    that of a move went.
    """

    status: Literal["delivered", "failed"]
    attempts: int
    reason: str | None = None
    at: str
    url: str | None = None


Scope = Literal["lane", "tenant", "method", "worker"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


class Pause(_Frozen):
    """What takes no jobs for now. name : of a lane, `<queue>:<kind>` or a whole `<queue>`, of a
    tenant, a method or a worker. reason : in the operator's words. since : RFC 3339 in UTC."""

    scope: Scope
    name: str
    reason: str | None = None
    since: str


class Record(_Frozen):
    """A job as Redis holds it: the visible part of its request, and its state. paused : for what a
    queued one waits.

    name, description, tags : as changed since; `submitted` has the request's. tree : the one
    that its options name.
    """

    id: str
    tenant: str
    kind: str
    queue: str
    method: str
    name: str | None
    status: Status
    attempt: int
    progress: Advance
    inputs: dict[str, Any]
    params: dict[str, Any]
    preprocess: tuple[dict[str, Any], ...] = ()
    then: MethodStep | None
    support: dict[str, Any] | None = None
    name_by: str | None = None
    tree: str | None = None
    result: dict[str, Any] | None
    warnings: tuple[str, ...]
    error: Problem | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    retry: Retry | None = None
    given_up: tuple[Retry, ...] = ()
    retrying: Retrying = Retrying()
    retry_of: str | None = None
    paused: Pause | None = None
    webhook: Webhook | None = None
    expires_at: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    submitted: Annotation = Annotation()
    trace: str | None = None
    version: int
    """Grows with every change; the job's ETag."""

    @property
    def ended(self) -> bool:
        return self.status in ENDED


class Claim(_Frozen):
    """The right to run one attempt of a job, until its lease ends. lane : the kind of lane that it
    was taken from. given_up : why earlier attempts were given up."""

    request: Request
    attempt: int
    fence: str
    started_at: str
    lane: str = "fit"
    given_up: tuple[Retry, ...] = ()


class PieceClaim(_Frozen):
    """The right to compute one piece of a running attempt's fit, until its lease ends.

    token : random; names this right, and the object with its result.
    """

    request: Request
    fence: str
    number: int
    token: str
    piece: dict[str, Any]
