"""Whether a process has ended is seen by its lock, however it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.http import lives
from app.http.lives import Lives
from workers.stores.objects.temporary import boot_mark

ANOTHER = """
import sys
from pathlib import Path
from app.http.lives import Lives
own = Lives(Path(sys.argv[1]))
print(own.name, flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.skipif(not boot_mark(), reason="boots of this machine have no mark")


@contextmanager
def another(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process beside this one, with its name."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", ANOTHER, str(folder)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def test_a_killed_process_is_dead_a_stopped_one_is_not(tmp_path: Path) -> None:
    own = Lives(tmp_path)
    with another(tmp_path) as (name, process):
        assert name
        assert not own.is_dead(name)
        process.send_signal(signal.SIGSTOP)
        assert not own.is_dead(name)
        process.kill()
        process.wait()
        assert own.is_dead(name)
        # Also once a third one has begun.
        third = Lives(tmp_path)
        assert own.is_dead(name)
        assert third.is_dead(name)
        assert not third.is_dead(own.name)
        third.close()
        assert own.is_dead(third.name)
    own.close()


def test_of_processes_elsewhere_nothing_is_known(tmp_path: Path) -> None:
    own = Lives(tmp_path)
    mark, _, token = own.name.partition(".")
    unlocked = f"{'0' * len(mark)}.{token}"
    (tmp_path / unlocked).write_bytes(b"1")
    outside = tmp_path.parent / f"{mark}.{'1' * 32}"
    outside.write_bytes(b"1")
    os.symlink(outside, tmp_path / outside.name)
    for name in ("", own.name, unlocked, f"{mark}.{'2' * 32}", f"../{outside.name}", outside.name):
        assert not own.is_dead(name)
    own.close()


def test_files_of_the_dead_are_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Lives(tmp_path)
    Lives(tmp_path).close()
    dead = {path.name for path in tmp_path.iterdir()} - {own.name}
    Lives(tmp_path).close()
    assert dead < {path.name for path in tmp_path.iterdir()}
    monkeypatch.setattr(lives, "KEPT_S", -1.0)
    Lives(tmp_path).close()
    left = {path.name for path in tmp_path.iterdir()}
    assert not left & dead
    assert own.name in left
    own.close()


def test_what_is_no_life_is_left_alone(tmp_path: Path) -> None:
    """A link leads to what somebody else keeps."""
    folder = tmp_path / "lives"
    folder.mkdir()
    kept = tmp_path / "kept"
    kept.write_bytes(b"1")
    (folder / "notes.txt").write_bytes(b"1")
    (folder / f"{boot_mark()}.{'1' * 32}").symlink_to(kept)
    Lives(folder).close()
    assert kept.read_bytes() == (folder / "notes.txt").read_bytes() == b"1"


def test_without_a_folder_a_process_has_no_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    own = Lives(tmp_path / "file")
    assert own.name == ""
    assert not own.is_dead("")
    own.close()
