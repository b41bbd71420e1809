"""A storm: clients submit and read while faults happen; then calm, and the reckoning.

A client behaves as the documentation asks: it repeats a submission with the same `Idempotency-Key`
until it is answered, so that each of its submissions is one job. A job counts as lost if it has not
ended some time after the last fault, and as doubled if two of its ends were seen, if one key gave
two jobs, or if files of two attempts are left. A storm has work of every kind: half of its jobs are
fits, the others work on a tree and a model that were made before it.
"""

from __future__ import annotations

import contextlib
import json
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

from tests.app.creation.posts_kit import LEARN, Post, post_of
from tests.chaos.faults_kit import FAULTS, KILLS, Fault
from tests.chaos.parts_kit import START_S, Parts
from tests.e2e.client import ENDED
from workers.jobs.hints import sender
from workers.jobs.interrupted import EVERY_S, SUBMISSION_S
from workers.kinds.registry import kinds
from workers.model import sibling
from workers.settings import WorkerSettings

N_DUPLICATES = 20
"""Hints that each client sends besides that of the service, for some of its jobs."""

PATIENCE_S = 90.0
"""How long after the last fault a job may take to end; a lease is a few seconds."""

MOST_OUTAGE_S = 30.0

KINDS = [kind.name for kind in kinds() if kind.name not in ("fit", "inspect", "embed")]
"""Those that clients see as jobs, but for fits."""
TRIVIAL = {"method": "l2h", "inputs": {"logits": [[2.0, 0.0, 0.5], [0.0, 2.0, 1.5], [0.5, 1, 2]]}}
POINTS = np.random.default_rng(0).normal(size=(300, 8)).round(3).tolist()
LONGER = {"method": "kmeans", "inputs": {"features": POINTS}, "params": {"n_clusters": 5}}


@dataclass
class Reckoning:
    """What a storm did, and what came of it.

    recovery_s : for each kind of kill, the longest time until a job ended after one.
    """

    n_jobs: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    skipped: set[str] = field(default_factory=set)
    n_kills: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    recovery_s: dict[str, float] = field(default_factory=dict)
    livez_s: float = 0.0
    took_s: float = 0.0

    def __str__(self) -> str:
        rows = {
            "jobs accepted": f"{self.n_jobs} ({dict(self.statuses)})",
            "faults": f"{sum(self.faults.values())} ({dict(sorted(self.faults.items()))})",
            "not possible here": ", ".join(sorted(self.skipped)) or "-",
            "kills": self.n_kills,
            "lost": len(self.lost),
            "doubled": len(self.doubled),
            "results unreadable": len(self.unreadable),
            "orphan objects, processes": len(self.orphans),
            "unexpected responses": len(self.wrong),
            "worst time from a kill to an end": ", ".join(
                f"{worst:.2f} s ({name})"
                for name, worst in sorted(self.recovery_s.items(), key=lambda item: -item[1])
            ),
            "longest /livez": f"{self.livez_s:.3f} s",
            "the whole": f"{self.took_s:.0f} s",
        }
        return "\n".join(f"{name:<34}{value}" for name, value in rows.items())


ORPHANS_S = 2 * SUBMISSION_S + 3 * EVERY_S
"""What a submission left in the store that waits for it as long as it may and is then refused, is
removed by then."""


class Storm:
    """Clients and faults on these parts; all choices but the order of threads are from `seed`."""

    def __init__(self, parts: Parts, seed: int, faults: Mapping[str, Fault] = FAULTS) -> None:
        self.parts = parts
        self.result = Reckoning()
        self._seed = seed
        self._faults = faults
        self._posts: list[Post] = []
        self._inspections: set[str] = set()
        self._accepted: dict[str, str] = {}
        self._ends: dict[str, dict[str, Any]] = {}
        self._end_times: list[float] = []
        self._kill_times: list[tuple[float, str]] = []
        self._over = threading.Event()
        self._calm = threading.Event()
        self._lock = threading.Lock()
        self._send = sender(WorkerSettings(redis_url=parts.env["UMBEL_REDIS_URL"]))

    def run(self, n_jobs: int, pause_s: float, n_clients: int = 2, n_kills: int = 0) -> Reckoning:
        """Faults until `n_jobs` jobs were accepted: each after a job has ended since the last one,
        and after about `pause_s`.

        n_kills : a fault is a kill while fewer were done than this in proportion to the jobs.
        """
        began = time.monotonic()
        await_ready(self.parts)
        self._prepare()
        each = -(-n_jobs // n_clients)
        clients = [self._thread(self._submit, n, each) for n in range(n_clients)]
        watchers = [self._thread(self._read), self._thread(self._look_alive)]
        dice = random.Random(self._seed)
        order: list[str] = []
        while any(client.is_alive() for client in clients):
            order = order or dice.sample(list(self._faults), len(self._faults))
            behind = len(self._kill_times) * n_jobs < n_kills * len(self._accepted)
            at = self._disturb(dice.choice(list(KILLS)) if behind else order.pop(), dice)
            time.sleep(dice.uniform(0.5, 1.5) * pause_s)
            self._await_end(at, clients)
        self._calm.set()
        deadline = time.monotonic() + PATIENCE_S
        while self._open() and time.monotonic() < deadline:
            time.sleep(0.1)
        self._over.set()
        for watcher in watchers:
            watcher.join(20.0)
        self._reckon()
        self.result.took_s = time.monotonic() - began
        return self.result

    def _thread(self, work: Any, *arguments: Any) -> threading.Thread:
        def guarded() -> None:
            try:
                work(*arguments)
            except BaseException as error:
                self.result.wrong.append(repr(error))
                raise

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def _await_end(self, at: float, clients: list[threading.Thread]) -> None:
        """Wait until a job has ended after a fault: the next one would only prolong the outage."""
        deadline = time.monotonic() + MOST_OUTAGE_S
        while not any(end > at for end in self._end_times[-1:]):
            if time.monotonic() > deadline or not any(c.is_alive() for c in clients):
                return
            time.sleep(0.05)

    def _disturb(self, name: str, dice: random.Random) -> float:
        at = time.monotonic()
        if not self._faults[name](self.parts, dice):
            self.result.skipped.add(name)
            return 0.0
        self.result.faults[name] += 1
        if name in KILLS:
            self._kill_times.append((at, name))
        return at

    # Clients.

    def _prepare(self) -> None:
        """Make what the other kinds of work need, while nothing disturbs it."""
        with httpx.Client(base_url=self.parts.url, timeout=60.0) as client:
            made = []
            for body in (TRIVIAL, LEARN):
                job_id = self._accept(client, secrets.token_hex(8), Post("/v1/jobs", body))
                self._accepted[job_id] = ""
                while job_id not in self._ends:
                    self._read_one(client, job_id)
                    time.sleep(0.1)
                made.append(self._ends[job_id]["result"])
            tree, model = made[0]["tree"], made[1]["model"]
            self._posts = [post_of(client, name, tree, model) for name in KINDS]
        keys = self.parts.stored.keys()
        jobs = {key.split("/")[2] for key in keys if key.startswith("jobs/")}
        self._inspections = jobs - self._accepted.keys()

    def _submit(self, number: int, n_jobs: int) -> None:
        dice = random.Random(f"{self._seed} {number}")
        with httpx.Client(base_url=self.parts.url, timeout=15.0) as client:
            for count in range(n_jobs):
                key = f"{self._seed}-{number}-{count}"
                post = Post("/v1/jobs", LONGER if dice.random() < 0.2 else TRIVIAL)
                if dice.random() < 0.5:
                    post = dice.choice(self._posts)
                job_id = self._accept(client, key, post)
                with self._lock:
                    self._accepted[job_id] = key
                if dice.random() < 0.1:
                    self._send_duplicates(job_id)
                if dice.random() < 0.05:
                    with contextlib.suppress(httpx.HTTPError):
                        client.post(f"/v1/jobs/{job_id}/cancel")
                if dice.random() < 0.1 and self._accept(client, key, post) != job_id:
                    self.result.doubled.append(f"{key}: two jobs")
                while len(self._open()) > 50:
                    time.sleep(0.05)

    def _accept(self, client: httpx.Client, key: str, post: Post) -> str:
        while True:
            with contextlib.suppress(httpx.TransportError):
                answer = post.send(client, {}, **{"Idempotency-Key": key, "Prefer": "wait=0"})
                if answer.status_code in (200, 201, 202):
                    own = answer.json().get("id")
                    return self._of_key(key) if own is None else sibling(own, "job")
                if answer.status_code not in (409, 429, 503, 507):
                    log = self.parts.lines_with(answer.headers.get("X-Request-ID", "-"))
                    raise AssertionError(f"{answer.status_code} {answer.text}\n{log}")
            time.sleep(0.05)

    def _of_key(self, key: str) -> str:
        """The job of a key. An evaluation or a prediction that has ended is answered with its
        result, which does not say it."""
        stored = self.parts.stored
        keys = stored.keys()
        [job_id] = {
            at.split("/")[2]
            for at in keys
            if at.endswith("/request.json")
            and str(json.loads(stored.read(at)).get("idempotency_key")).endswith(f"\n{key}")
            and not self._is_rejected(at.replace("request.json", "end.json"), keys)
        }
        return job_id

    def _is_rejected(self, end_key: str, keys: Collection[str]) -> bool:
        found = self.parts.stored.read(end_key) if end_key in keys else b"{}"
        return bool(json.loads(found).get("status") == "rejected")

    def _send_duplicates(self, job_id: str) -> None:
        with contextlib.suppress(Exception):
            for _ in range(N_DUPLICATES):
                self._send("cpu", job_id)

    def _read(self) -> None:
        """Ask for each open job in turn; once it has ended, it must never change."""
        dice = random.Random(self._seed)
        with httpx.Client(base_url=self.parts.url, timeout=15.0) as client:
            while not self._over.is_set():
                waiting = self._open()
                ended = list(self._ends)
                for job_id in [*waiting, *dice.sample(ended, min(3, len(ended)))]:
                    self._read_one(client, job_id)
                    if self._over.is_set():
                        return
                time.sleep(0.05)

    def _read_one(self, client: httpx.Client, job_id: str) -> None:
        with contextlib.suppress(httpx.TransportError):
            answer = client.get(f"/v1/jobs/{job_id}")
            if answer.status_code == 200 and (job := answer.json())["status"] in ENDED:
                kept = ("status", "attempt", "result", "error", "finished_at")
                end = {name: job[name] for name in kept}
                if job_id not in self._ends:
                    self._ends[job_id] = end
                    self._end_times.append(time.monotonic())
                elif self._ends[job_id] != end:
                    self.result.doubled.append(f"{job_id}: {self._ends[job_id]}, then {end}")
            elif answer.status_code not in (200, 503):
                self.result.wrong.append(
                    f"{job_id}: {answer.status_code} {answer.text[:200]}\n"
                    f"{self.parts.lines_with(answer.headers.get('X-Request-ID', '-'))}"
                )

    def _look_alive(self) -> None:
        """How long `/livez` takes, of an API that runs."""
        with httpx.Client(base_url=self.parts.url, timeout=30.0) as client:
            while not self._over.is_set():
                began = time.monotonic()
                with contextlib.suppress(httpx.TransportError):
                    client.get("/livez")
                    self.result.livez_s = max(self.result.livez_s, time.monotonic() - began)
                time.sleep(0.1)

    def _open(self) -> list[str]:
        with self._lock:
            return [job_id for job_id in self._accepted if job_id not in self._ends]

    # The reckoning.

    def _reckon(self) -> None:
        result, ends = self.result, self._ends
        result.n_jobs, result.n_kills = len(self._accepted), len(self._kill_times)
        result.lost += self._open()
        result.statuses = Counter(map(_how, ends.values()))
        for at, name in self._kill_times:
            if later := [end - at for end in self._end_times if end > at]:
                result.recovery_s[name] = max(result.recovery_s.get(name, 0.0), min(later))
        with httpx.Client(base_url=self.parts.url, timeout=30.0) as client:
            for job_id, end in ends.items():
                self._read_one(client, job_id)
                if end["status"] == "succeeded" and "tree" in end["result"]:
                    answer = client.get(f"/v1/trees/{end['result']['tree']}.nwk")
                    if answer.status_code != 200 or not answer.text.strip().endswith(";"):
                        result.unreadable.append(f"{job_id}: {answer.status_code}")
        deadline = time.monotonic() + ORPHANS_S
        while (orphans := self._orphans()) and time.monotonic() < deadline:
            time.sleep(0.5)
        result.orphans += orphans

    def _orphans(self) -> list[str]:
        """What the store has of no accepted job, or of an attempt that did not end its job."""
        stored = self.parts.stored
        keys = set(stored.keys())
        orphans = {key for key in keys if key.startswith(("open/", "pieces/"))}
        for key in keys:
            room, *names = key.split("/")
            if room not in ("jobs", "attempts"):
                continue
            tenant, job_id = names[:2]
            end_key = f"jobs/{tenant}/{job_id}/end.json"
            end = json.loads(stored.read(end_key)) if end_key in keys else {}
            if room == "jobs" and job_id not in {*self._accepted, *self._inspections}:
                # A refused one is the end of a submission that was answered with an error.
                orphans |= {key} if end.get("status") != "rejected" else set()
            if room == "attempts" and end.get("fence") != names[2]:
                orphans.add(key)
        return sorted(orphans)


def await_ready(parts: Parts) -> None:
    """AssertionError if the service does not get ready."""
    deadline, last = time.monotonic() + START_S, "no response"
    with httpx.Client(base_url=parts.url) as client:
        while True:
            with contextlib.suppress(httpx.TransportError):
                answer = client.get("/readyz")
                if answer.status_code == 200:
                    return
                last = answer.text
            if time.monotonic() > deadline:
                raise AssertionError(f"{last}\n{parts.log()}")
            time.sleep(0.1)


def _how(end: dict[str, Any]) -> str:
    """How a job ended; where it failed, by the type of its problem."""
    kind = str((end.get("problem") or {}).get("type", "")).rpartition("/")[2]
    return f"{end['status']} ({kind})" if kind else str(end["status"])


def failures(result: Reckoning) -> Sequence[str]:
    """What must not have happened."""
    return [
        *(f"lost: {job}" for job in result.lost),
        *(f"doubled: {text}" for text in result.doubled),
        *(f"unreadable: {text}" for text in result.unreadable),
        *(f"orphan: {text}" for text in result.orphans),
        *(f"unexpected: {text}" for text in result.wrong),
    ]
