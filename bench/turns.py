"""What one tenant waits for while another has filled the queue.

All requests go over HTTP to a service started for this table, with two workers.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx

from app.demo import service
from app.http.environment_keys import new_key
from bench import Size
from bench.report import Report
from bench.service import TRIVIAL

QUEUED: dict[Size, int] = {"quick": 200, "default": 2_000, "full": 10_000}
_N = 8
_CLIENTS = 8
_LONGEST_S = 60.0


def table(report: Report, size: Size) -> None:
    """Rows in "turns": the work of a tenant, what waits, and the times until it is done."""
    (busy_key, busy_line), (key, line) = new_key("busy"), new_key("other")
    with (
        tempfile.TemporaryDirectory(prefix="umbel-bench-") as folder,
        _environment("UMBEL_API_KEYS", f"{busy_line},{line}"),
        service(folder, "--workers", "2") as url,
        httpx.Client(
            base_url=url, timeout=120, headers={"Authorization": f"Bearer {key}"}
        ) as client,
    ):
        for work in (_job, _inspection, _import):
            _rows(report, work, client, "nothing")
        _fill(url, busy_key, QUEUED[size])
        for work in (_job, _inspection, _import):
            _rows(report, work, client, f"{QUEUED[size]:,} jobs of another tenant")


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    earlier = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if earlier is None:
            del os.environ[name]
        else:
            os.environ[name] = earlier


def _rows(
    report: Report, work: Callable[[httpx.Client], None], client: httpx.Client, waiting: str
) -> None:
    seconds = []
    for _ in range(_N):
        began = time.perf_counter()
        work(client)
        seconds.append(time.perf_counter() - began)
    report.row(
        "turns",
        work=(work.__doc__ or "").rstrip("."),
        waiting=waiting,
        median_ms=statistics.median(seconds) * 1e3,
        most_ms=max(seconds) * 1e3,
    )


def _job(client: httpx.Client) -> None:
    """A trivial fit."""
    answer = client.post("/v1/jobs", json=TRIVIAL, headers={"Prefer": "wait=60"})
    assert answer.json()["status"] == "succeeded", answer.text


def _inspection(client: httpx.Client) -> None:
    """An uploaded CSV of 8 bytes."""
    until = time.perf_counter() + _LONGEST_S
    answer = client.post(
        "/v1/datasets", content=b"1,2\n3,4\n", headers={"Content-Type": "text/csv"}
    )
    while answer.json()["status"] == "inspecting":
        assert time.perf_counter() < until, answer.text
        time.sleep(0.01)
        answer = client.get(f"/v1/datasets/{answer.json()['id']}")
    assert answer.json()["status"] == "ready", answer.text


def _import(client: httpx.Client) -> None:
    """An imported tree of two leaves."""
    answer = client.post(
        "/v1/trees",
        content=b"(a,b);",
        headers={"Content-Type": "text/x-nh", "Prefer": "wait=60"},
    )
    assert answer.status_code == 201, answer.text


def _fill(url: str, key: str, n_jobs: int) -> None:
    """Submit jobs faster than they run."""
    body = json.dumps(TRIVIAL).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}

    def submit(n_own: int) -> None:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=120)
        for _ in range(n_own):
            connection.request("POST", "/v1/jobs", body, headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 202, text

    with ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(submit, [n_jobs // _CLIENTS] * _CLIENTS))
