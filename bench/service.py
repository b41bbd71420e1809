"""The overhead of the service: latency of a trivial job, submissions, uploads, a whole L2H job, and
what holds up others. Every figure stands beside its goal.

All requests go over HTTP to a service started for this table, with its embedded defaults. Its data
are in a temporary folder. On ext4 a folder is slow for minutes after many files beside it were
removed (a new file takes up to 0.8 ms there, else 0.02: inodes removed lately are passed over one
by one), and a job makes a dozen files: TMPDIR=/somewhere/else helps.
"""

from __future__ import annotations

import http.client
import io
import json
import math
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass

import httpx
import numpy as np
import psutil

from app.demo import service
from bench import Size, stalls
from bench.report import Report
from models.inputs.data import Data
from models.registry import method
from models.running.progress import silent

TRIVIAL = {"method": "l2h", "inputs": {"logits": [[2.0, 0.0, 1.0], [0.0, 2.0, 1.0]]}}


@dataclass(frozen=True, slots=True)
class Load:
    """The load: trivial jobs in turn, bytes uploaded, jobs submitted concurrently."""

    in_turn: int
    upload: int
    submissions: int


_UNTIMED = 20
"""Jobs until each worker's process has done some."""

_SETTLED_WITHIN_S = 60.0
_LOOK_S = 1.0
_IDLE_CPU_S = 0.1
"""CPU time that a service with nothing to do takes in `_LOOK_S`, at most."""

LOADS: dict[Size, Load] = {
    "quick": Load(30, 256 << 20, 150),
    "default": Load(200, 2 << 30, 1500),
    "full": Load(200, 2 << 30, 1500),
}


def table(report: Report, size: Size) -> None:
    """Rows in "service": the subject, the figure, its value and unit."""
    load = LOADS[size]
    with tempfile.TemporaryDirectory(prefix="umbel-bench-") as folder:
        began = time.perf_counter()
        with service(folder) as url, httpx.Client(base_url=url, timeout=120) as client:
            _row(report, "service started", "ready after", time.perf_counter() - began, "s", most=2)
            first = timed(client) * 1e3
            _row(report, "first trivial job, POST to tree", "time", first, "ms", most=100)
            _settle()
            for _ in range(_UNTIMED):
                timed(client)
            _latency(report, client, load.in_turn)
            _l2h(report, client)
            _upload(report, client, load.upload)
            _submissions(report, url, 8, load.submissions, workers_idle=True)
            for clients in (4, 8, 16):
                _submissions(report, url, clients, load.submissions)
            stalls.rows(report, client, url)
    with (
        tempfile.TemporaryDirectory(prefix="umbel-bench-") as folder,
        service(folder, "--api-processes", "2") as url,
    ):
        _settle()
        for clients in (8, 16):
            _submissions(report, url, clients, load.submissions, two_apis=True)


def _row(
    report: Report,
    what: str,
    figure: str,
    value: float,
    unit: str,
    *,
    most: float | None = None,
    least: float | None = None,
) -> None:
    report.goal("service", what, figure, value, unit, most=most, least=least)


def timed(client: httpx.Client) -> float:
    """Seconds from the POST of a trivial job to its end."""
    began = time.perf_counter()
    answer = client.post("/v1/jobs", json=TRIVIAL, headers={"Prefer": "wait=30"})
    assert answer.json()["status"] == "succeeded", answer.text
    return time.perf_counter() - began


def percentile(values: list[float], percent: float) -> float:
    """The smallest value that so many percent do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(percent / 100 * len(ordered)) - 1)]


def _settle() -> None:
    """Wait until the service has started everything: after it is ready its second worker starts,
    and for seconds takes a core from what would be measured."""
    deadline = time.monotonic() + _SETTLED_WITHIN_S
    busy_s = math.inf
    while busy_s > _IDLE_CPU_S and time.monotonic() < deadline:
        before = _cpu_s()
        time.sleep(_LOOK_S)
        busy_s = _cpu_s() - before


def _cpu_s() -> float:
    """CPU seconds that the service's processes have taken."""
    seconds = 0.0
    for process in processes_of():
        with suppress(psutil.Error):
            seconds += sum(process.cpu_times()[:2])
    return seconds


def _latency(report: Report, client: httpx.Client, n: int) -> None:
    milliseconds = [timed(client) * 1e3 for _ in range(n)]
    what = f"trivial job, POST to tree, {n} in turn"
    _row(report, what, "median", statistics.median(milliseconds), "ms", most=25)
    _row(report, what, "p95", percentile(milliseconds, 95), "ms", most=50)


def _l2h(
    report: Report, client: httpx.Client, n: int = 50_000, k: int = 100, runs: int = 5
) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(k, size=n)
    logits = rng.normal(size=(n, k)).astype(np.float32)
    logits[np.arange(n), truth] += 4
    used = method("l2h")
    own = []
    for _ in range(runs):
        began = time.perf_counter()
        used.fit(Data({"logits": logits}), used.Params(), silent)
        own.append(time.perf_counter() - began)
    buffer = io.BytesIO()
    np.save(buffer, logits)
    dataset = client.post(
        "/v1/datasets?role=logits",
        content=buffer.getvalue(),
        headers={"Content-Type": "application/x-npy"},
    ).json()["id"]
    totals = []
    for _ in range(runs):
        began = time.perf_counter()
        job = client.post(
            "/v1/jobs",
            json={"method": "l2h", "inputs": {"logits": dataset}},
            headers={"Prefer": "wait=60"},
        ).json()
        assert job["status"] == "succeeded", job
        totals.append(time.perf_counter() - began)
    what = f"l2h on {n:,} x {k}, uploaded"
    _row(report, what, "median, POST to tree", statistics.median(totals) * 1e3, "ms")
    _row(report, what, "median, the method alone", statistics.median(own) * 1e3, "ms")


def _upload(report: Report, client: httpx.Client, size: int) -> None:
    columns = 1024
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (size // 4 // columns, columns)}
    )
    block = np.random.default_rng(0).bytes(4 << 20)

    def body() -> Iterator[bytes]:
        yield header.getvalue()
        for _ in range(size // len(block)):
            yield block

    api = processes_of("from app.cli import main; main() api")
    peak = _Peak(api)
    began = time.perf_counter()
    with peak:
        answer = client.post(
            "/v1/datasets", content=body(), headers={"Content-Type": "application/x-npy"}
        )
    seconds = time.perf_counter() - began
    assert answer.status_code == 201, answer.text
    client.delete(f"/v1/datasets/{answer.json()['id']}")
    what = f"upload of {size >> 20:,} MiB"
    _row(report, what, "rate", size / seconds / 1e6, "MB/s")
    _row(report, what, "memory of the API, most", peak.rss / 1e6, "MB")


def processes_of(*words: str) -> list[psutil.Process]:
    """The descendants of this process whose command line has all these words."""
    chosen = []
    for process in psutil.Process().children(recursive=True):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if all(word in line for word in words):
            chosen.append(process)
    return chosen


class _Peak:
    """The peak resident memory of some processes inside the `with` block."""

    def __init__(self, processes: list[psutil.Process]) -> None:
        self.rss = 0
        self._processes = processes
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.rss = max([self.rss, *(p.memory_info().rss for p in self._processes)])

    def __enter__(self) -> _Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@contextmanager
def _stopped_workers() -> Iterator[None]:
    """Meanwhile the service's workers take no job, and no time."""
    workers = processes_of("from workers.main")
    for process in workers:
        process.suspend()
    try:
        yield
    finally:
        for process in workers:
            process.resume()


def _submissions(
    report: Report,
    url: str,
    clients: int,
    n: int,
    *,
    workers_idle: bool = False,
    two_apis: bool = False,
) -> None:
    """Jobs accepted per second from many concurrent clients, while the workers run them or, where
    they are idle, before they do; by one process of the API, or two."""
    latencies: list[float] = []

    body = json.dumps(TRIVIAL).encode()

    def submit(number: int) -> list[str]:
        # The simplest client, because it shares the cores with the service.
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        ids = []
        for _ in range(n // clients):
            began = time.perf_counter()
            connection.request("POST", "/v1/jobs", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            latencies.append(time.perf_counter() - began)
            assert answer.status == 202, text
            ids.append(json.loads(text)["id"])
        return ids

    began = time.perf_counter()
    with _stopped_workers() if workers_idle else nullcontext(), ThreadPoolExecutor(clients) as pool:
        ids = [job for batch in pool.map(submit, range(clients)) for job in batch]
        accepted = time.perf_counter() - began
    with httpx.Client(base_url=url, timeout=60) as client:
        while client.get("/v1/jobs?status=queued&limit=1").json()["items"]:
            time.sleep(0.2)
        ended = time.perf_counter() - began
        statuses = {client.get(f"/v1/jobs/{job}").json()["status"] for job in ids[::50]}
    assert statuses == {"succeeded"}, statuses
    what = f"{len(ids):,} jobs submitted by {clients} clients"
    what += ", workers idle" if workers_idle else ""
    what += ", two API processes" if two_apis else ""
    goal = workers_idle
    _row(report, what, "rate", len(ids) / accepted, "/s", least=300 if goal else None)
    _row(report, what, "p99", percentile(latencies, 99) * 1e3, "ms", most=100 if goal else None)
    _row(report, what, "all succeeded after", ended, "s")
