"""`python -m tests.chaos`: storms one after the other until the time is over, and their table."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.parts_kit import Parts
from tests.chaos.storm_kit import Reckoning, Storm, failures


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A folder on a file system of its own in memory; without the right to mount, a plain one."""
    with tempfile.TemporaryDirectory(prefix="umbel-chaos-") as name:
        folder = Path(name)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", name]
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
        try:
            yield folder
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", name], check=False)


def storm(seed: int, n_jobs: int, pause_s: float) -> Reckoning:
    with small_disk(256) as folder:
        parts = Parts(folder)
        try:
            result = Storm(parts, seed).run(n_jobs, pause_s)
            if failures(result):
                print(parts.log(), file=sys.stderr)
        finally:
            left = parts.stop()
        result.orphans += left
        return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=540.0, help="begin no storm after this")
    parser.add_argument("--jobs", type=int, default=500, help="jobs of a storm")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between faults")
    parser.add_argument("--seed", type=int, default=0, help="of the first storm")
    asked = parser.parse_args()
    began, seed, bad = time.monotonic(), asked.seed, 0
    totals = dict.fromkeys(("jobs", "kills", "lost", "doubled"), 0)
    while seed == asked.seed or time.monotonic() - began < asked.seconds:
        result = storm(seed, asked.jobs, asked.pause)
        print(f"seed {seed}\n{result}\n", flush=True)
        for text in failures(result)[:20]:
            print(f"  {text}", flush=True)
        bad += len(failures(result))
        totals["jobs"] += result.n_jobs
        totals["kills"] += result.n_kills
        totals["lost"] += len(result.lost)
        totals["doubled"] += len(result.doubled)
        seed += 1
    print(" / ".join(f"{n} {name}" for name, n in totals.items()))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
