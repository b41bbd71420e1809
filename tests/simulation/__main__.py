"""`python -m tests.simulation`: schedules until the time or their number is over."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.simulation.share_kit import share


def main() -> int:
    """The exit status: 1 if a rule was broken; its schedule is printed, made shorter."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=20_000, help="no more than so many")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin none after this")
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="each with its own Valkey"
    )
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    found, stop = context.Queue(), context.Event()
    began = time.monotonic()
    processes = [
        context.Process(target=share, args=(number, arguments, found, stop))
        for number in range(arguments.processes)
    ]
    for process in processes:
        process.start()
    n_done, wrong = 0, 0
    for _ in processes:
        n_own, text = found.get()
        n_done += n_own
        if text:
            wrong += 1
            print(text, flush=True)
    for process in processes:
        process.join()
    rate = 60 * n_done / (time.monotonic() - began)
    print(f"{n_done} schedules, {wrong} broke a rule, {rate:.0f} a minute")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
