"""`python -m tests.simulation`: schedules until the time or their number is over."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path

from tests.simulation.schedule_kit import Simulation, results_in
from tests.workers.conftest import Server


def main() -> int:
    """The exit status: 1 if a rule was broken; its schedule is printed, made shorter."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=20_000, help="no more than so many")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin none after this")
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="umbel-") as name:
        server = Server(Path(name))
        server.start()
        try:
            simulation = Simulation(server.url, results_in(Path(name)))
            began, n_done = time.monotonic(), 0
            while n_done < arguments.schedules and time.monotonic() - began < arguments.seconds:
                failure = simulation.run(arguments.seed + n_done)
                n_done += 1
                if failure is not None:
                    print(simulation.shorter(failure))
                    return 1
            minutes = (time.monotonic() - began) / 60
            print(f"{n_done} schedules hold, {n_done / max(minutes, 1e-9):.0f} a minute")
        finally:
            server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
