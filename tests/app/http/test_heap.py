"""Freed memory goes back to the system, whatever still lies around it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_HOLES = """
import os, sys
from app.http.heap import return_what_is_freed
if sys.argv[1] == "set":
    return_what_is_freed()
def mib():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
# The first that is freed raises the bound from which glibc maps memory.
large = b"x" * (16 << 20)
del large
held = [b"x" * (1 << 20) for _ in range(100)]
held.append(bytearray(1 << 19))
before = mib()
held = [each for number, each in enumerate(held) if number % 10 == 9 or number == 100]
print(before - mib())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_holes_go_back_to_the_system() -> None:
    def freed(how: str) -> int:
        command = [sys.executable, "-c", _HOLES, how]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert freed("set") >= 85


def test_arrow_shares_the_heap_of_the_api() -> None:
    """Its usual allocator kept 24 MB after 60 broken-off reads of a tree of 100,000 leaves."""
    code = """
import contextlib
import app.cli
with contextlib.suppress(SystemExit):
    app.cli.main(["api"])
import pyarrow
print(pyarrow.default_memory_pool().backend_name)
"""
    names = ("UMBEL_REDIS_URL", "UMBEL_STORE_URL", "ARROW_DEFAULT_MEMORY_POOL")
    env = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert done.stdout.split() == ["system"], done
    assert "UMBEL_REDIS_URL" in done.stderr
