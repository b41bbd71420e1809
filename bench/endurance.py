"""What thousands of jobs leave in memory, and whether a killed API ever makes a job twice."""

from __future__ import annotations

import http.client
import json
import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import psutil

from app.demo import service
from bench import Size
from bench.report import Report
from bench.service import TRIVIAL, processes_of

CLIENTS = 4
WARM_JOBS = 500
"""Jobs until caches are full and allocators have settled; memory counts from there."""

KEYS = 4
"""Requests under way at a kill, each with its own key."""

LONGEST_S = 300.0
"""A client gives up after this long: a reservation of a dead process holds for 30 s, and between
kills the API is up for moments only."""

_API = "from app.cli import main; main() api"
_PARTS = {"API": _API, "workers": "from workers.main", "Valkey": "valkey-server"}

SIZES: dict[Size, tuple[int, int]] = {
    "quick": (1000, 5),
    "default": (3500, 40),
    "full": (10_500, 40),
}
"""Jobs, and kills."""


def table(report: Report, size: Size) -> None:
    """Rows in "endurance": the subject, the figure, its value and unit, the goal."""
    n_jobs, n_kills = SIZES[size]
    with tempfile.TemporaryDirectory(prefix="umbel-bench-") as folder, service(folder) as url:
        _memory(report, url, n_jobs)
        _kills(report, url, n_kills)


def _memory(report: Report, url: str, n_jobs: int) -> None:
    """The growth of memory with the number of trivial jobs, by least squares over samples."""
    samples: list[tuple[int, dict[str, float]]] = []
    n_done = 0
    # The API loads all methods when they are listed, or a minute after its start, whatever it did.
    httpx.get(f"{url}/v1/methods", timeout=60).raise_for_status()
    for n_more in (WARM_JOBS, *[(n_jobs - WARM_JOBS) // 10] * 10):
        n_each = n_more // CLIENTS
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(_run, [url] * CLIENTS, [n_each] * CLIENTS))
        n_done += n_each * CLIENTS
        samples.append((n_done, {part: _resident_mb(word) for part, word in _PARTS.items()}))
    jobs = np.array([n for n, _ in samples]) / 1000
    what = f"{n_done:,} trivial jobs by {CLIENTS} clients"
    for part in _PARTS:
        resident = np.array([memory[part] for _, memory in samples])
        slope = float(np.polyfit(jobs, resident, 1)[0])
        # What Valkey keeps of each job is its record, until the job is deleted.
        most = None if part == "Valkey" else 1.0
        report.goal("endurance", what, f"{part}, growth", slope, "MB/1,000 jobs", most=most)
        report.goal("endurance", what, f"{part}, at the end", float(resident[-1]), "MB")


def _run(url: str, n_jobs: int) -> None:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    headers = {"Content-Type": "application/json", "Prefer": "wait=30"}
    for _ in range(n_jobs):
        connection.request("POST", "/v1/jobs", json.dumps(TRIVIAL), headers)
        job = json.loads(connection.getresponse().read())
        assert job["status"] == "succeeded", job


def _resident_mb(word: str) -> float:
    """Memory of the processes with `word` in their command line, without those they started."""
    total = 0
    for process in processes_of(word):
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return total / 1e6


def _kills(report: Report, url: str, n_kills: int, seed: int = 0) -> None:
    """Each client sends one request with one key until it is answered; the API is killed meanwhile,
    at a random moment within the time that it takes to accept a job."""
    rng = random.Random(seed)
    with ThreadPoolExecutor(n_kills * KEYS) as pool:
        answers = []
        for kill in range(n_kills):
            _await_live(url)
            names = [f"kill {seed} {kill} {number}" for number in range(KEYS)]
            answers += [pool.submit(_submit, url, name) for name in names]
            time.sleep(rng.uniform(0.0, 0.06))
            for process in processes_of(_API):
                process.kill()
        accepted = [answer.result() for answer in answers]
    n_jobs: dict[str, int] = dict.fromkeys((name for name, _ in accepted), 0)
    ids: dict[str, set[str]] = {name: set() for name in n_jobs}
    with httpx.Client(base_url=url, timeout=60) as client:
        page = "/v1/jobs?limit=100"
        while page:
            answer = client.get(page)
            for job in answer.json()["items"]:
                if job["name"] in n_jobs:
                    n_jobs[job["name"]] += 1
                    ids[job["name"]].add(job["id"])
            page = answer.links.get("next", {}).get("url", "")
    once = sum(ids[name] == {job} and n_jobs[name] == 1 for name, job in accepted)
    several = sum(n > 1 for n in n_jobs.values())
    what = f"{n_kills} kills of the API as it accepts {KEYS} keys"
    report.goal("endurance", what, "keys with one job", once, "keys", least=len(accepted))
    report.goal("endurance", what, "keys with more", several, "keys", most=0)


def _await_live(url: str) -> None:
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        try:
            httpx.get(f"{url}/livez", timeout=5)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the API does not come back")


def _submit(url: str, name: str) -> tuple[str, str]:
    """Repeat one request until it is answered; (name, id of the job)."""
    body = json.dumps({**TRIVIAL, "name": name})
    headers = {"Content-Type": "application/json", "Idempotency-Key": name.replace(" ", "-")}
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        try:
            answer = httpx.post(f"{url}/v1/jobs", content=body, headers=headers, timeout=60)
        except httpx.TransportError:
            pass
        else:
            if answer.status_code < 300:
                return name, str(answer.json()["id"])
            if answer.status_code not in (409, 503):
                raise RuntimeError(answer.text)
        threading.Event().wait(0.2)
    return name, "no answer"
