"""`umbel compile`: compile before the first use what would be compiled then."""

from __future__ import annotations

import os
import time

from workers.child.compiling import alone, keep_in
from workers.settings import WorkerSettings


def compile_parts(*, everything: bool) -> int:
    """Compile for common methods or all, or find that the cache holds it; the exit status.

    Prints what is compiled, and the seconds that it took. A method that fails is the operator's to
    know: its error ends the command.
    """
    if (kept := keep_in(os.environ, WorkerSettings().scratch_dir)) is not None:
        print(kept)
    from models.compiled import parts

    began = time.monotonic()
    with alone():
        for name, load in parts(everything=everything):
            print(f"{name} ...", end="", flush=True)
            since = time.monotonic()
            load()
            print(f" {time.monotonic() - since:.1f} s")
    print(f"compiled in {time.monotonic() - began:.1f} s")
    return 0
