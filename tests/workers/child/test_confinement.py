"""What the kernel refuses to the process of a job, attempted by a method in a real child."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.workers.child import system_calls_kit
from tests.workers.child.process_kit import child_pool, outcome, spec
from workers.child.confinement import missing, weaker
from workers.child.pool import ChildPool
from workers.child.run import opens_sockets
from workers.stores.objects.blobs import Link
from workers.work.job import Spec
from workers.work.sources import Source

EXTRA = Path(__file__).parents[1] / "extra"

pytestmark = pytest.mark.skipif(missing() is not None, reason=f"not confined: {missing()}")


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    """Children that know the methods of `extra`, on two threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UMBEL_REDIS_URL", "redis://:secret@nowhere:1")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(EXTRA), os.environ.get("PYTHONPATH", "")]))
        with child_pool(1, threads=2, later=True) as pool:
            pool.fill().result()
            yield pool


def attempts(pool: ChildPool, folder: Path, **params: object) -> dict[str, float]:
    """What came of what the method `intruder` tried: 1 where it got through, else minus errno."""
    path = folder / "features.npy"
    np.save(path, np.eye(3))
    child = pool.take()
    child.begin(spec(folder, "intruder", Source(role="features", kind="dataset", path=path,
                                                format="npy"), **params))  # fmt: skip
    done = outcome(child)
    assert done.error is None, done.error
    assert done.result is not None
    return dict(done.result["metrics"])


def test_a_job_opens_no_socket_and_no_other_process(pool: ChildPool, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as internet, socket.socket(
        socket.AF_UNIX
    ) as local:  # fmt: skip
        path = tmp_path / "socket"
        local.bind(str(path))
        local.listen()
        tried = attempts(pool, tmp_path, port=internet.getsockname()[1], path=str(path))
    assert tried.pop("pair") == 1.0
    assert tried.pop("file") == 1.0
    refused = {-float(error) for error in (1, 13)}
    assert {name: result for name, result in tried.items() if result not in refused} == {}
    assert len(tried) == 9


def test_the_same_attempts_succeed_where_sockets_are_allowed(
    pool: ChildPool, tmp_path: Path
) -> None:
    """So it is the filter that refuses."""
    with socket.create_server(("127.0.0.1", 0)) as internet:
        tried = attempts(pool, tmp_path, port=internet.getsockname()[1], opens=True)
    assert tried["internet"] == 1.0
    assert tried["thread"] == 1.0
    assert tried["program"] == 1.0
    assert tried["trace"] < 0


def test_sockets_are_for_remote_inputs_and_for_fits_of_several_processes(tmp_path: Path) -> None:
    near = Source(role="features", kind="dataset", path=tmp_path, format="npy")
    link = Link(url="http://127.0.0.1/x", size=1, etag="e")
    far = near.model_copy(update={"path": None, "link": link})
    grown = near.model_copy(update={"kind": "job", "before": (None, far)})

    def of(method: str, source: Source, **params: object) -> Spec:
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        return spec(folder, method, source, **params)

    assert not opens_sockets(of("kmeans", near))
    assert opens_sockets(of("kmeans", far))
    assert opens_sockets(of("hmmc", grown))
    assert not opens_sockets(of("ghhc", near, processes=1))
    two = of("ghhc", near, processes=2)
    assert opens_sockets(two)
    request = two.request.model_copy(
        update={
            "kind": "compare",
            "options": {
                "runs": [{"method": "kmeans"}, {"method": "ghhc", "params": {"processes": 2}}]
            },
        }
    )
    assert opens_sockets(two.model_copy(update={"request": request}))


@pytest.mark.parametrize("sockets", [False, True])
def test_no_other_call_than_those_of_jobs_is_made(sockets: bool) -> None:
    program = [sys.executable, system_calls_kit.__file__, str(sockets)]
    path = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(program, capture_output=True, check=True, env=environment)
    results = json.loads(done.stdout)

    assert len(results["named"]) > 60
    assert set(results["named"].values()) == {errno.EPERM}
    assert set(results["rest"].values()) == {errno.EPERM, errno.ENOSYS}
    assert set(results["namespaces"]) == {errno.EPERM}
    assert results["clone3"] == results["x32"] == results["negative"] == errno.ENOSYS
    assert results["interrupt"] in (None, errno.EPERM)
    assert results["limits"] == results["priority"] == errno.EPERM
    assert set(results["scheduling"]) == set(results["typing"]) == {errno.EPERM}
    assert results["datagrams"] == errno.EACCES
    assert set(results["uses"].values()) == {0}
    if weaker() is None:
        assert results["memory"] == results["environment"] == errno.EACCES
        assert results["signal"] == errno.EPERM


def test_a_process_with_closed_memory_shows_it_to_no_other_of_its_user() -> None:
    """Also where the kernel has no Landlock."""
    code = (
        "import os; from tests.workers.child.system_calls_kit import become_nobody, error_of\n"
        "from workers.child.confinement import close_memory, open_memory\n"
        "def look(): return [error_of(lambda: os.open(f'/proc/{os.getppid()}/{name}', how))\n"
        "    for name, how in (('mem', os.O_RDWR), ('environ', os.O_RDONLY))]\n"
        "become_nobody()\n"
        "for change in (open_memory, close_memory):\n"
        "    change()\n"
        "    if os.fork() == 0: print(look(), flush=True); os._exit(0)\n"
        "    os.wait()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split("\n")[:2] == ["[0, 0]", "[13, 13]"]
