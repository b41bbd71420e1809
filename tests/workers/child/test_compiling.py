"""Compiled code: where it is kept, that one process compiles it, and that jobs show it."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import psutil
import pytest
from numba.core.caching import _CacheLocator

import models
from models.methods.logits.merging.loops import few
from tests.workers.child.process_kit import child_pool, spec
from tests.workers.waiting_kit import PATIENCE_S, until
from workers.child import template
from workers.child.compiling import keep_in
from workers.work.sources import Source

LOOP = """
from numba import njit

@njit(cache=True)
def double(x):
    return 2 * x
"""

COMPILE = """
import sys
from pathlib import Path
from workers.child.compiling import alone

news = Path(sys.argv[1])
with alone(news):
    from loop import double
    assert double(2) == 4
    print("compiled" if news.exists() else "loaded")
assert not news.exists()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a module with a compiled function, and its own cache."""
    (tmp_path / "loop.py").write_text(LOOP)
    return tmp_path


def compiling(folder: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-c", COMPILE, str(folder / "news")],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache")},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_cold_cache_is_announced_and_a_warm_one_is_not(folder: Path) -> None:
    for expected in ("compiled", "loaded"):
        process = compiling(folder)
        assert process.communicate(timeout=PATIENCE_S)[0].split() == [expected]
        assert process.returncode == 0


def test_one_process_at_a_time_compiles(folder: Path) -> None:
    cache = folder / "cache" / _CacheLocator.get_suitable_cache_subpath(str(folder / "loop.py"))
    cache.mkdir(parents=True)
    with (cache / "compiling.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = compiling(folder)
        until((folder / "news").exists)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
        assert not list(cache.glob("loop*")), "it waits"
    assert process.communicate(timeout=PATIENCE_S)[0].split() == ["compiled"]
    assert list(cache.glob("loop*")), "it is the folder that numba uses"


def test_code_is_kept_where_something_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    environment = {"HOME": str(file / "home")}
    assert keep_in(environment, tmp_path) is None, "beside the source"

    monkeypatch.setattr(models, "__path__", [str(file / "models")])
    cached = {"HOME": str(tmp_path / "home")}
    assert keep_in(cached, tmp_path) is None
    assert keep_in({**environment, "NUMBA_CACHE_DIR": str(tmp_path / "x")}, tmp_path) is None

    line = keep_in(environment, tmp_path / "scratch")
    folder = tmp_path / "scratch" / "compiled"
    assert environment["NUMBA_CACHE_DIR"] == str(folder)
    assert line is not None
    assert str(folder) in line
    assert folder.stat().st_mode & 0o777 == 0o700

    # What others may write is not executed.
    folder.chmod(0o777)
    del environment["NUMBA_CACHE_DIR"]
    assert keep_in(environment, tmp_path / "scratch") is not None
    elsewhere = Path(environment["NUMBA_CACHE_DIR"])
    assert elsewhere != folder
    elsewhere.rmdir()


def test_what_is_not_cached_is_left_to_the_jobs(tmp_path: Path) -> None:
    code = (
        "from models import compiled; list(compiled.load_cached()); "
        "from models.metrics.loops import nodes; import numpy as np; "
        "print(nodes.heavy_children.signatures)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "int32" in done.stdout
    # No file of l2h, which comes first; the import of `nodes` compiles its own.
    assert {path.name.split(".")[0] for path in tmp_path.rglob("*.nbi")} == {"nodes"}


def compiled_but_for(module: ModuleType, cache: Path) -> None:
    """Copy into a cache what other tests have compiled beside the sources, without the functions of
    a module, so that not all must be compiled again: it takes half a minute."""
    assert module.__file__ is not None
    for path in Path(*models.__path__).rglob("__pycache__/*.nb[ic]"):
        if path.name.partition(".")[0] != Path(module.__file__).stem:
            name = _CacheLocator.get_suitable_cache_subpath(str(path.parent.with_name("x.py")))
            (cache / name).mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, cache / name)


def test_a_template_compiles_little_and_a_job_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    compiled_but_for(few, tmp_path / "cache")
    path = tmp_path / "logits.npy"
    np.save(path, np.eye(4, dtype=np.float32))
    job = spec(tmp_path, "l2h", Source(role="logits", kind="dataset", path=path, format="npy"))
    with child_pool(1, threads=1, fresh=True, later=True) as pool:
        filled = pool.fill()
        until(template.compiling)
        filled.result()
        assert not template.compiling()

        child = pool.take()
        child.begin(job)
        shown = []
        while (message := child.receive(PATIENCE_S)) is not None and message.outcome is None:
            shown.append(message.advance)
        assert message is not None
        assert message.outcome is not None
        assert message.outcome.error is None
        assert "compiling, once" in {advance.message for advance in shown if advance is not None}
        child.kill()


def has(pid: int | None, library: str) -> bool:
    return any(library in mapped.path for mapped in psutil.Process(pid).memory_maps())


def test_the_rest_is_loaded_into_the_template_and_new_children() -> None:
    with child_pool(2, threads=1, fresh=True, later=True, memory_bytes=1 << 30) as pool:
        pool.fill().result()
        early = pool.take()
        waiting = [child.pid for child in pool._waiting]
        assert not has(template.pid(), "sklearn")
        pool.complete().result(PATIENCE_S)
        late = pool.take()
        assert late.pid not in waiting
        assert has(template.pid(), "sklearn")
        assert has(late.pid, "sklearn")
        assert psutil.Process(template.pid()).num_threads() == 1
        assert early.alive()
        # It may load by itself what it lacks. A process is there before its limit is.
        until(lambda: bounded(early.pid) and bounded(late.pid))
        assert 100 < (room(early.pid) - room(late.pid)) >> 20 < 160
        early.kill()
        late.kill()


def bounded(pid: int) -> bool:
    return resource.prlimit(pid, resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY


def room(pid: int) -> int:
    """The bytes that a process may allocate beyond those that it has."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    (data,) = (int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
    return resource.prlimit(pid, resource.RLIMIT_DATA)[0] - data
