"""A large upload goes through the API in constant memory."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest

from tests.e2e.conftest import Service, running

BLOCK = 4 << 20
COLUMNS = 1024
MOST_RSS = 200_000_000


def _npy(size: int) -> Iterator[bytes]:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (size // 4 // COLUMNS, COLUMNS)}
    )
    yield header.getvalue()
    block = np.random.default_rng(0).bytes(BLOCK)
    for _ in range(size // BLOCK):
        yield block


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Service]:
    """A service whose memory no other test has filled."""
    with running(tmp_path / "data", workers=1) as service:
        yield service


@pytest.mark.parametrize(
    "n_bytes", [128 << 20, pytest.param(2 << 30, marks=pytest.mark.slow)], ids=["128 MiB", "2 GiB"]
)
def test_a_large_upload_leaves_the_api_small(fresh: Service, n_bytes: int) -> None:
    (api,) = fresh.named("app.cli", " api ")
    peak, over = 0, threading.Event()

    def watch(process: psutil.Process) -> None:
        nonlocal peak
        while not over.wait(0.02):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch, args=(api,))
    watcher.start()
    try:
        answer = httpx.post(
            f"{fresh.url}/v1/datasets",
            content=_npy(n_bytes),
            headers={"Content-Type": "application/x-npy"},
            timeout=110,
        )
    finally:
        over.set()
        watcher.join()
    assert answer.status_code == 201, answer.text
    assert answer.json()["bytes"] > n_bytes
    assert answer.json()["shape"] == [n_bytes // 4 // COLUMNS, COLUMNS]
    assert 0 < peak < MOST_RSS
    assert fresh.client.delete(f"/v1/datasets/{answer.json()['id']}").status_code == 204
