"""`python -m tests.chaos`: rolling restarts, a storm on S3, and storms until the time is over."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.chaos.faults_kit import FAULTS, S3_FAULTS
from tests.chaos.parts_kit import Parts
from tests.chaos.rolling_kit import Rolled, roll
from tests.chaos.storm_kit import Reckoning, Storm, failures
from tests.e2e.topology_kit import weed


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A folder on a separate file system in memory; without the right to mount, a plain one."""
    with tempfile.TemporaryDirectory(prefix="umbel-chaos-") as name:
        folder = Path(name)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", name]
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
        try:
            yield folder
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", name], check=False)


def storm(
    seed: int,
    n_jobs: int,
    pause_s: float,
    *,
    on_s3: bool,
    moves_clock: bool = True,
    n_kills: int = 0,
) -> Reckoning:
    with small_disk(512) as folder, ExitStack() as stack:
        s3 = None
        if on_s3:
            # Its volumes are larger than the small disk.
            own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="umbel-chaos-")))
            s3 = stack.enter_context(weed(own))
        parts = Parts(folder, s3=s3, moves_clock=moves_clock, keeper=True)
        try:
            result = Storm(parts, seed, S3_FAULTS if on_s3 else FAULTS).run(
                n_jobs, pause_s, n_kills=n_kills
            )
            if failures(result):
                print(parts.log(), file=sys.stderr)
        finally:
            left = parts.stop()
        result.orphans += left
        return result


def restarts(n_rolls: int) -> Rolled:
    with tempfile.TemporaryDirectory(prefix="umbel-chaos-") as name:
        parts = Parts(Path(name), api_processes=2)
        try:
            result = roll(parts, n_rolls)
            if result.failures():
                print(parts.log(), file=sys.stderr)
        finally:
            parts.stop()
        return result


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=540.0, help="begin no storm after this")
    parser.add_argument("--rolls", type=int, default=20, help="rolling restarts, before the storms")
    parser.add_argument("--s3-jobs", type=int, default=100, help="jobs of the one storm on S3")
    parser.add_argument("--jobs", type=int, default=500, help="jobs of every other storm")
    parser.add_argument("--kills", type=int, default=0, help="the least of every other storm")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between faults")
    parser.add_argument(
        "--steady-clock", action="store_true", help="move no clock, so that all is faster"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first storm")
    arguments = parser.parse_args()
    moves_clock = not arguments.steady_clock
    began, seed, bad = time.monotonic(), arguments.seed, 0
    totals = dict.fromkeys(("jobs", "kills", "lost", "doubled"), 0)
    if arguments.rolls:
        rolled = restarts(arguments.rolls)
        bad += report("rolling restarts", rolled, rolled.failures())
    if arguments.s3_jobs:
        result = storm(
            seed, arguments.s3_jobs, arguments.pause, on_s3=True, moves_clock=moves_clock
        )
        bad += report("storm on S3", result, failures(result))
        add(totals, result)
    while arguments.jobs and time.monotonic() - began < arguments.seconds:
        result = storm(
            seed,
            arguments.jobs,
            arguments.pause,
            on_s3=False,
            moves_clock=moves_clock,
            n_kills=arguments.kills,
        )
        bad += report(f"seed {seed}", result, failures(result))
        add(totals, result)
        seed += 1
    print(" / ".join(f"{n} {name}" for name, n in totals.items()))
    sys.exit(1 if bad else 0)


def report(title: str, result: Reckoning | Rolled, wrong: Sequence[str]) -> int:
    """Print what came of it; returns how much was wrong."""
    print(f"{title}\n{result}\n", flush=True)
    for text in wrong[:20]:
        print(f"  {text}", flush=True)
    return len(wrong)


def add(totals: dict[str, int], result: Reckoning) -> None:
    totals["jobs"] += result.n_jobs
    totals["kills"] += result.n_kills
    totals["lost"] += len(result.lost)
    totals["doubled"] += len(result.doubled)


if __name__ == "__main__":
    main()
