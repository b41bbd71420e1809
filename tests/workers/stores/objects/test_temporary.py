"""What processes leave in a store's folder when they are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from workers.assembly import Assembly
from workers.stores.objects.local import LocalBlobs
from workers.stores.objects.temporary import STALE_S, TemporaryFolder

WRITER = """
import asyncio, sys
from pathlib import Path
from workers.stores.objects.local import LocalBlobs

async def chunks():
    for _ in range(3):
        yield bytes(5 << 20)
    print("written", flush=True)
    await asyncio.sleep(600)
    yield b""

asyncio.run(LocalBlobs(Path(sys.argv[1])).put_stream("a/b", chunks()))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@contextmanager
def uploading(root: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of storing an object; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "written\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def left(root: Path) -> list[Path]:
    return list((root / ".tmp").iterdir())


def test_files_of_a_killed_process_are_removed_and_those_of_a_live_one_stay(root: Path) -> None:
    blobs = LocalBlobs(root)
    with uploading(root) as killed, uploading(root) as live:
        blobs.remove_leftovers()
        assert len(left(root)) == 2
        # Silence is no sign of death.
        for path in left(root):
            os.utime(path, (0, 0))
        blobs.remove_leftovers()
        assert len(left(root)) == 2
        killed.kill()
        killed.wait()
        blobs.remove_leftovers()
        assert len(left(root)) == 1
        live.kill()
        live.wait()
    LocalBlobs(root)
    assert left(root) == []
    assert list(blobs.keys("")) == []


def test_a_sweep_removes_them(root: Path, assembly: Assembly) -> None:
    with uploading(root) as killed:
        killed.kill()
    assert left(root)
    assembly.ledger.sweep()
    assert not left(root)


def test_sweeps_look_for_them_now_and_then(
    root: Path, assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.jobs.ledger.LEFTOVERS_S", 3600.0)
    folder = root / ".tmp" / "deleted"
    assembly.ledger.sweep()
    folder.mkdir()
    assembly.ledger.sweep()
    assert folder.exists()
    monkeypatch.setattr(assembly.ledger, "_leftovers_at", 0.0)
    assembly.ledger.sweep()
    assert not folder.exists()


@pytest.mark.parametrize("name", ["0123456789abcdef", "otherboot.0123456789abcdef"])
def test_files_of_other_machines_go_by_age(root: Path, name: str) -> None:
    folder = TemporaryFolder(root, mark="thisboot")
    folder.make()
    path = root / name
    path.write_bytes(b"half")
    folder.remove_leftovers()
    assert path.exists()
    old = time.time() - STALE_S - 60
    os.utime(path, (old, old))
    folder.remove_leftovers()
    assert not path.exists()


def test_without_a_mark_files_go_by_age(root: Path) -> None:
    folder = TemporaryFolder(root, mark="")
    folder.make()
    file = folder.create()
    os.close(file.number)
    folder.remove_leftovers()
    assert file.path.exists()


def test_a_cleanup_disturbs_nothing_that_is_being_written(root: Path) -> None:
    blobs, cleaner = LocalBlobs(root), LocalBlobs(root)
    over = threading.Event()

    def clean() -> None:
        while not over.is_set():
            cleaner.remove_leftovers()

    threads = [threading.Thread(target=clean) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(100):
            content = b"%d" % number * 100
            blobs.put(f"a/{number}", content)
            blobs.put(f"b/{number}", content, create=True)
            assert blobs.get(f"a/{number}") == blobs.get(f"b/{number}") == content
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert left(root) == []
