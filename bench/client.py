"""What the Python client adds: from `import` to a tree in a separate process, and the cost of a
call beside the same request by httpx alone.

The service is started for this table on the same machine. CPU seconds are the client
process's; wall seconds have the service's work in them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import numpy as np

from app.demo import service
from bench import ROOT, Size
from bench.report import Report
from umbel_client import Umbel

N_ROWS, N_CLASSES = 10_000, 200

FRESH = """
import json, time
began, used = time.perf_counter(), time.process_time()
import numpy as np
from umbel_client import Umbel
imported, imported_s = time.perf_counter(), time.process_time()
logits = np.load({file!r})
tree = Umbel({url!r}).run("l2h", logits=logits, progress=False)
print(json.dumps({{
    "import": imported - began, "import CPU": imported_s - used,
    "tree": time.perf_counter() - began, "tree CPU": time.process_time() - used,
    "n_leaves": tree.n_leaves,
}}))
"""

_CALLS: Mapping[Size, int] = {"quick": 50, "default": 300, "full": 300}
_FRESH: Mapping[Size, int] = {"quick": 3, "default": 9, "full": 9}


def table(report: Report, size: Size) -> None:
    """Rows in "client": the subject, the figure, its value and unit, and the goal."""
    with tempfile.TemporaryDirectory(prefix="umbel-bench-") as folder, service(folder) as url:
        file = Path(folder) / "logits.npy"
        np.save(file, planted())
        _fresh(report, url, file, _FRESH[size])
        _calls(report, url, _CALLS[size])


def planted() -> np.ndarray:
    """(N_ROWS, N_CLASSES) float32 logits of a classifier with a true class for each row."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(N_ROWS, N_CLASSES)).astype(np.float32)
    logits[np.arange(N_ROWS), rng.integers(N_CLASSES, size=N_ROWS)] += 4
    return logits


def _fresh(report: Report, url: str, file: Path, runs: int) -> None:
    """A process that has nothing loaded."""
    script = FRESH.format(file=str(file), url=url)
    path = os.pathsep.join([str(ROOT / "client"), os.environ.get("PYTHONPATH", "")])
    command, env = [sys.executable, "-c", script], {**os.environ, "PYTHONPATH": path}
    # The first job after a start loads what later ones have.
    rows = [
        json.loads(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
        for _ in range(runs + 1)
    ][1:]
    assert rows[0]["n_leaves"] == N_CLASSES
    what = f"l2h of {N_ROWS:,} x {N_CLASSES} logits by a new process"
    for figure, most in (("import", None), ("import CPU", None), ("tree", 0.5), ("tree CPU", None)):
        value = statistics.median(row[figure] for row in rows)
        report.goal("client", what, figure, value, "s", most=most)


def _calls(report: Report, url: str, n: int) -> None:
    """The same request by the client and by httpx, in turn."""
    with Umbel(url) as umbel, httpx.Client(base_url=url) as plain:
        pairs = [
            (_timed(umbel.version), _timed(lambda: plain.get("/v1/version"))) for _ in range(n)
        ]
    # The first ones open connections.
    pairs = pairs[n // 10 :]
    for at, clock in enumerate(("wall", "CPU")):
        by_client = statistics.median(pair[0][at] for pair in pairs) * 1e3
        beside = statistics.median(pair[1][at] for pair in pairs) * 1e3
        report.goal("client", "a call", f"{clock} by the client", by_client, "ms", most=5)
        report.goal("client", "a call", f"{clock} by httpx alone", beside, "ms")


def _timed(call: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu
