"""An answer of a million nodes does not delay small requests."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from tests.e2e.client import Api
from tests.e2e.conftest import PATIENCE_S

FORMS = (
    ".json",
    ".nwk",
    ".nex",
    ".hclust.json",
    ".linkage.npy",
    ".arrow",
    ".svg",
    "/assignments",
    "/assignments.csv",
    "/view?max_nodes=20000",
    "/view?max_nodes=20000&color_by=cluster:50",
    "/cut?k=1000&limit=10000",
    "/nodes/0/members.csv",
    "/nodes/0/members?limit=1000",
    "/search?q=99",
)
BOUND_S = 1.0
"""Longest time of a small request on a busy machine of two cores; on an idle one below 0.25 s."""
ATTEMPTS = 3


def newick(n_leaves: int) -> str:
    """A balanced binary tree, so every form can hold it."""
    level = [f"leaf{number}:1" for number in range(n_leaves)]
    while len(level) > 1:
        odd = level[len(level) & ~1 :]
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [f"({left},{right}):1" for left, right in pairs] + odd
    return level[0] + ";"


@contextmanager
def polled(url: str, path: str) -> Iterator[list[float]]:
    """The seconds that each of a series of small requests takes."""
    took: list[float] = []
    done = threading.Event()

    def poll() -> None:
        with httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
            # At least one request, however soon the large answer arrives.
            while not took or not done.is_set():
                began = time.monotonic()
                assert client.get(path).status_code == 200
                took.append(time.monotonic() - began)
                time.sleep(0.01)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(poll)
        try:
            yield took
        finally:
            done.set()
        running.result()


def imported(api: Api, text: str) -> str:
    answer = api.client.post(
        "/v1/trees",
        content=text.encode(),
        headers={"Content-Type": "text/x-nh", "Prefer": "wait=60"},
    )
    if answer.status_code == 202:
        job = api.ended(answer.json()["id"])
        assert job["status"] == "succeeded", job
        return str(job["result"]["tree"])
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def read(url: str, path: str) -> int:
    """The number of bytes of an answer."""
    with httpx.Client(base_url=url, timeout=300.0) as client, client.stream("GET", path) as answer:
        assert answer.status_code == 200, path
        return sum(len(piece) for piece in answer.iter_bytes())


@pytest.mark.parametrize(
    "n_leaves", [100_000, pytest.param(500_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_large_answers_do_not_delay_small_requests(api: Api, n_leaves: int) -> None:
    url = str(api.client.base_url)
    text = newick(n_leaves)
    for _ in range(ATTEMPTS):
        with polled(url, "/livez") as importing:
            tree = imported(api, text)
        if max(importing) < BOUND_S:
            break
    report("import", importing, url)
    for form in FORMS:
        # An answer that held up small requests would do so each time, where another program takes
        # the cores only now and then.
        for _ in range(ATTEMPTS):
            with polled(url, "/livez") as took:
                assert read(url, f"/v1/trees/{tree}{form}") > 100
            if max(took) < BOUND_S:
                break
        report(form, took, url)


@pytest.mark.slow
def test_many_large_answers_at_once_leave_room_for_small_trees(api: Api) -> None:
    url = str(api.client.base_url)
    large, small = imported(api, newick(100_000)), imported(api, "((rose,tulip)flower,oak);")
    with ThreadPoolExecutor(50) as pool:
        with (
            polled(url, "/livez") as alive,
            polled(url, f"/v1/trees/{small}") as looked,
        ):
            streams = [pool.submit(read, url, f"/v1/trees/{large}.nwk") for _ in range(50)]
            time.sleep(5.0)
        report("50 at once, /livez", alive, url, 2)
        report("50 at once, a small tree", looked, url, 4)
        sizes = {stream.result() for stream in streams}
    assert len(sizes) == 1


def report(name: str, took: list[float], url: str, times: float = 1) -> None:
    """Print how long the small requests took, and assert that none took longer than so many times
    the bound."""
    middle, worst = statistics.median(took), max(took)
    print(f"{name}: {len(took)} small requests, median {middle * 1e3:.0f} ms, worst "
          f"{worst * 1e3:.0f} ms")  # fmt: skip
    if worst >= times * BOUND_S:
        # On a machine that others keep busy they take long without any large answer, too.
        with polled(url, "/livez") as alone:
            time.sleep(3.0)
        assert worst < 5 * times * max(alone), name
