"""The schedules of one of several processes, each over its own Valkey."""

from __future__ import annotations

import logging
import tempfile
import time
import traceback
from argparse import Namespace
from pathlib import Path
from typing import Any

from tests.simulation.schedule_kit import SCENARIOS, Simulation, results_in
from tests.workers.conftest import Server


def share(number: int, arguments: Namespace, found: Any, stop: Any) -> None:
    """Every n-th schedule of n processes. Puts their number and what one of them broke, "" for
    nothing; after that none is begun."""
    logging.disable(logging.CRITICAL)
    until, n_done, text = time.monotonic() + arguments.seconds, 0, ""
    try:
        with tempfile.TemporaryDirectory(prefix="umbel-") as name:
            server = Server(Path(name), durable=False)
            server.start()
            try:
                results = results_in(Path(name))
                simulations = [Simulation(server.url, results, also=also) for also in SCENARIOS]
                for place in range(number, arguments.schedules, arguments.processes):
                    if stop.is_set() or time.monotonic() > until:
                        break
                    simulation = simulations[place % len(simulations)]
                    failure = simulation.run(arguments.seed + place)
                    n_done += 1
                    if failure is not None:
                        stop.set()
                        text = str(simulation.shorter(failure))
                        break
            finally:
                server.stop()
    except BaseException:
        stop.set()
        text = traceback.format_exc()
    finally:
        found.put((n_done, text))
