"""Jobs of several tenants, methods and seeds in processes that stay: each is answered as by a
process that has done nothing before, and the process is as it was."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.registry import built_in
from tests.workers.child.process_kit import child_pool, spec
from tests.workers.waiting_kit import PATIENCE_S, gone, until
from umbel.testing import ROLES
from workers.child.messages import ChildMessage
from workers.child.pool import Child, ChildPool
from workers.work.job import Spec
from workers.work.sources import Source

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes stay on Linux only")

MIB = 1 << 20
METHODS = (
    *("birch", "class-tree", "gmm", "hkm", "hsc", "kmeans", "l2h", "lda", "minibatch-kmeans"),
    *("multinomial", "point-tree", "scc"),
)
"""Short ones, of linear algebra, loops, trees and counts."""


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with child_pool(3, threads=1, jobs=10_000) as pool:
        pool.fill().result()
        yield pool


def job(folder: Path, tenant: str, method: str, **params: object) -> Spec:
    folder.mkdir()
    own = built_in()[method]
    sources = []
    for role in ("features", "logits"):
        if role in own.inputs and (own.inputs[role].required or role == "features"):
            value = np.round(np.abs(ROLES[role]))
            path = folder / f"{role}.json"
            path.write_text(json.dumps(value.tolist()))
            sources.append(Source(role=role, kind="inline", path=path))
    if "seed" not in own.Params.model_fields:
        params.pop("seed", None)
    made = spec(folder, method, sources[0], **{**own.example, **params})
    request = made.request.model_copy(update={"tenant": tenant})
    return made.model_copy(update={"request": request, "sources": tuple(sources)})


def messages(child: Child) -> list[ChildMessage]:
    """All, to the last one."""
    found: list[ChildMessage] = []
    while not found or (found[-1].outcome is None and found[-1].transient is None):
        message = child.receive(PATIENCE_S)
        assert message is not None
        found.append(message)
    return found


def answer(pool: ChildPool, work: Spec, pids: set[int] | None = None) -> dict[str, Any]:
    """Outcome, stages of progress and files; the process is released."""
    child = pool.begin(work)
    if pids is not None:
        pids.add(child.pid)
    got = messages(child)
    pool.release(child, work.request.tenant)
    files = {
        str(path.relative_to(work.folder)): path.read_bytes()
        for path in work.folder.rglob("*")
        if path.is_file()
    }
    last = got[-1].outcome
    assert last is not None
    assert not any((work.folder.parent / "tmp").iterdir()), "a temporary file is left"
    stages = {message.advance.stage for message in got if message.advance is not None}
    assert str(work.folder) not in last.model_dump_json()
    return {"outcome": last, "files": files, "stages": stages}


def fresh(pool: ChildPool, folder: Path, method: str, **params: object) -> dict[str, Any]:
    """The answer of a process that has done nothing before."""
    return answer(pool, job(folder, folder.name, method, **params))


def state(pid: int) -> dict[str, Any]:
    """What the kernel knows of a process: its open files, confinement and limits."""
    about = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if ":\t" in line
    )
    names = ("Seccomp", "Seccomp_filters", "NoNewPrivs", "CapEff", "CapPrm", "SigCgt", "SigIgn")
    files = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    return {
        "files": sorted(name for name in files),
        "folder": os.readlink(f"/proc/{pid}/cwd"),
        "nice": os.getpriority(os.PRIO_PROCESS, pid),
        "limits": [
            line
            for line in Path(f"/proc/{pid}/limits").read_text().splitlines()
            if "data size" not in line
        ],
        **{name: about[name] for name in names if name in about},
    }


def test_each_job_of_a_sequence_is_answered_as_by_a_fresh_process(
    pool: ChildPool, tmp_path: Path
) -> None:
    works: list[tuple[str, dict[str, object]]] = [
        (method, {"seed": seed}) for method in METHODS for seed in (0, 7)
    ]
    alone = {
        number: fresh(pool, tmp_path / f"fresh-{number}", name, **params)
        for number, (name, params) in enumerate(works)
    }
    order = random.Random(3).sample(range(len(works)), len(works))
    pids: dict[str, set[int]] = {"ada": set(), "bob": set()}
    states: dict[int, dict[str, Any]] = {}
    for step, number in enumerate(order):
        tenant = ("ada", "bob")[step % 3 == 0]
        name, params = works[number]
        work = job(tmp_path / f"kept-{step}", tenant, name, **params)
        assert answer(pool, work, pids[tenant]) == alone[number], (name, params)
        for kept in pool._kept:
            now = state(kept.child.pid)
            assert states.setdefault(kept.child.pid, now) == now, name
    assert not pids["ada"] & pids["bob"]
    assert sum(map(len, pids.values())) < len(order) // 2, "they have stayed"


@pytest.mark.parametrize("how", ["refused", "cancelled", "no memory"])
def test_after_a_job_that_failed_the_next_has_a_fresh_process(tmp_path: Path, how: str) -> None:
    with child_pool(2, threads=1, jobs=100, memory_bytes=200 * MIB) as pool:
        expected = fresh(pool, tmp_path / "fresh", "kmeans", seed=5)
        pids: set[int] = set()
        assert answer(pool, job(tmp_path / "a", "ada", "kmeans", seed=5), pids) == expected
        if how == "no memory":
            work = job(tmp_path / "b", "ada", "hac", linkage="average")
            path = work.folder / "many.npy"
            np.save(path, np.random.default_rng(0).normal(size=(12_000, 8)))
            source = Source(role="features", kind="dataset", path=path, format="npy")
            work = work.model_copy(update={"sources": (source,)})
        else:
            work = job(tmp_path / "b", "ada", "kmeans", n_clusters=4000)
        child = pool.begin(work)
        assert {child.pid} == pids
        if how != "cancelled":
            outcome = messages(child)[-1].outcome
            assert outcome is not None
            assert outcome.error is not None
        pool.release(child, "ada")
        until(lambda: gone(child.pid))
        assert answer(pool, job(tmp_path / "c", "ada", "kmeans", seed=5), pids) == expected
        assert len(pids) == 2
