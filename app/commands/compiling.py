"""`umbel compile`: compile before the first use what would be compiled then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable

from models.compiled import Compilation, compilations
from workers.child.compiling import alone, keep_in
from workers.settings import WorkerSettings


def compile_all(*, everything: bool) -> int:
    """Compile for common methods or for all, or find that the cache holds it; the exit status."""
    if (kept := keep_in(os.environ, WorkerSettings().scratch_dir)) is not None:
        print(kept)
    with alone():
        return compile_each(compilations(everything=everything))


def compile_each(named: Iterable[Compilation]) -> int:
    """Load or compile each, with a line of what it is for and the seconds that it took.

    The exit status is 1 where one failed, and 0 otherwise.
    """
    failed = 0
    began = time.monotonic()
    for name, load in named:
        print(f"{name} ...", end="", flush=True)
        since = time.monotonic()
        try:
            load()
        except Exception as error:
            failed += 1
            print(f" failed: {error!r}", file=sys.stderr, flush=True)
        else:
            print(f" {time.monotonic() - since:.1f} s", flush=True)
    print(f"compiled in {time.monotonic() - began:.1f} s" + f", {failed} failed" * bool(failed))
    return int(failed > 0)
