"""Recursive regularization by blocks of classes, on generated documents of DMOZ-2010's shape.

12,294 classes below 3,064 nodes, 128,710 documents of about 72 words of 381,580. A word of a
document is drawn from all words, or from the words of its class or of a node above. The service is
started with two workers; a row for each sweep has the objective and the time since the job began,
the last row the whole time, the largest memory of any of the workers' processes and the size of the
model. `quick` is a sixteenth of all.

`--scale` of the table `classifiers`, by `rr-lr` alone unless `--full`: hours.
"""

from __future__ import annotations

import io
import re
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import psutil
import scipy.sparse as sp

from app.demo import service
from bench import Size
from bench.report import Report
from models.arrays import Int

METHODS: dict[Size, tuple[str, ...]] = {
    "quick": ("rr-lr", "rr-svm"),
    "default": ("rr-lr",),
    "full": ("rr-lr", "rr-svm"),
}
PARAMS = {"block_size": 128, "tol": 1e-2, "max_iter": 30}


@dataclass(frozen=True, slots=True)
class Shape:
    n_classes: int
    n_inner: int
    n_documents: int
    n_words: int


DMOZ = Shape(12_294, 3_064, 128_710, 381_580)
SHAPES: dict[Size, Shape] = {"quick": Shape(768, 192, 8_044, 24_000), "default": DMOZ, "full": DMOZ}

WORDS_OF_A_NODE = 60
LENGTH = 80
OWN_SHARE = 0.5
"""The share of a document's words that are of its class or of a node above."""


def table(report: Report, size: Size) -> None:
    shape = SHAPES[size]
    features, code, paths = documents(shape)
    for name in METHODS[size]:
        with (
            tempfile.TemporaryDirectory(prefix="umbel-bench-") as folder,
            service(folder, "--workers", "2") as url,
            httpx.Client(base_url=url, timeout=600.0) as client,
        ):
            inputs = {
                "features": uploaded(client, features),
                "labels": [f"c{number}" for number in code.tolist()],
                "hierarchy": paths,
            }
            followed(report, client, name, inputs)


def documents(shape: Shape, seed: int = 0) -> tuple[sp.csr_matrix, Int, list[str]]:
    """Documents in rows of length 1, the class of each, and the path of each class."""
    rng = np.random.default_rng(seed)
    parent = tree(shape, rng)
    above: list[list[int]] = []
    for node, up in enumerate(parent.tolist()):
        above.append([node] if up < 0 else [*above[up], node])
    # Each class has a document; sizes fall as in a directory, most classes have a few.
    weight = 1.0 / np.arange(1, shape.n_classes + 1) ** 0.6
    more = rng.choice(shape.n_classes, shape.n_documents - shape.n_classes, p=weight / weight.sum())
    code = rng.permutation(np.concatenate([np.arange(shape.n_classes), more]))
    frequency = 1.0 / np.arange(1, shape.n_words + 1) ** 1.05
    frequency /= frequency.sum()
    topics = rng.integers(shape.n_words, size=(parent.size, WORDS_OF_A_NODE))
    rows = []
    for class_ in code.tolist():
        n_own = rng.binomial(LENGTH, OWN_SHARE)
        path = np.array(above[shape.n_inner + class_][1:])
        # The nearer, the likelier.
        nearness = np.arange(1, path.size + 1, dtype=float)
        node = rng.choice(path, n_own, p=nearness / nearness.sum())
        place = (WORDS_OF_A_NODE * rng.random(n_own) ** 2).astype(np.int64)
        rows.append(topics[node, place])
    common = rng.choice(shape.n_words, LENGTH * code.size, p=frequency).reshape(code.size, LENGTH)
    words = [
        np.concatenate([own, others[own.size :]]) for own, others in zip(rows, common, strict=True)
    ]
    start = np.arange(code.size + 1) * LENGTH
    counts = sp.csr_matrix(
        (np.ones(start[-1], dtype=np.float32), np.concatenate(words), start),
        shape=(code.size, shape.n_words),
    )
    counts.sum_duplicates()
    seen = np.bincount(counts.indices, minlength=shape.n_words)
    inverse = np.log(code.size / np.maximum(seen, 1)).astype(np.float32)
    counts.data = np.log1p(counts.data) * inverse[counts.indices]
    length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(np.maximum(length, 1e-12), np.diff(counts.indptr))
    names = [f"n{node}" for node in range(shape.n_inner)]
    names += [f"c{number}" for number in range(shape.n_classes)]
    paths = ["/".join(names[node] for node in path[1:]) for path in above[shape.n_inner :]]
    return counts, code, paths


def tree(shape: Shape, rng: np.random.Generator) -> Int:
    """(n_inner + n_classes,) the parent of each node, the root first, then inner nodes, then
    classes; each inner node has at least two children, and classes are up to six edges deep."""
    parent, depth = [-1], [0]
    for node in range(1, shape.n_inner):
        while True:
            above = 0 if node < 16 else int(node * rng.random() ** 1.5)
            if depth[above] < 5:
                break
        parent.append(above)
        depth.append(depth[above] + 1)
    n_children = np.bincount(parent[1:], minlength=shape.n_inner)
    needed = np.repeat(np.arange(shape.n_inner), np.maximum(2 - n_children, 0))
    popular = rng.pareto(1.5, shape.n_inner)
    n_more = shape.n_classes - needed.size
    others = rng.choice(shape.n_inner, n_more, p=popular / popular.sum())
    return np.concatenate([parent, np.sort(np.concatenate([needed, others]))])


def uploaded(client: httpx.Client, features: sp.csr_matrix) -> str:
    buffer = io.BytesIO()
    sp.save_npz(buffer, features, compressed=False)
    content = {"Content-Type": "application/x-npz"}
    answer = client.post("/v1/datasets", content=buffer.getvalue(), headers=content)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def followed(report: Report, client: httpx.Client, name: str, inputs: dict[str, Any]) -> None:
    """A row for each sweep of a job, and one for its end."""
    memory = _Memory()
    with memory:
        body = {"method": name, "inputs": inputs, "params": PARAMS}
        answer = client.post("/v1/jobs", json=body)
        assert answer.status_code == 202, answer.text
        began, sweep, job = time.monotonic(), 1, answer.json()
        while job["status"] in ("queued", "running"):
            time.sleep(1.0)
            job = client.get(f"/v1/jobs/{job['id']}").json()
            message = (job["progress"] or {}).get("message") or ""
            at = re.match(r"sweep (\d+)", message)
            if at and int(at[1]) > sweep:
                sweep = int(at[1])
                report.row(
                    "scale",
                    method=name,
                    sweeps=sweep - 1,
                    seconds=time.monotonic() - began,
                    memory_gb=memory.most / 1e9,
                )
    assert job["status"] == "succeeded", job
    for number, (_, objective) in enumerate(job["result"]["curves"]["objective"]):
        report.row("scale", method=name, sweeps=number + 1, objective=objective)
    for warning in job["warnings"]:
        report.note("scale", warning)
    model = client.get(f"/v1/models/{job['result']['model']}").json()
    report.row(
        "scale",
        method=name,
        sweeps=int(job["result"]["metrics"]["n_iter"]),
        seconds=time.monotonic() - began,
        memory_gb=memory.most / 1e9,
        model_mb=model["bytes"] / 1e6,
    )


class _Memory:
    """The largest resident memory of a process below this one, while in the `with` block.

    most : bytes, without pages that are shared.
    """

    def __init__(self) -> None:
        self.most = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(2.0):
            for process in psutil.Process().children(recursive=True):
                try:
                    self.most = max(self.most, process.memory_full_info().uss)
                except psutil.Error:
                    continue

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
