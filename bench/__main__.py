"""`python -m bench`: all or the named tables, as text on stdout, `bench.json` and plots."""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from importlib.util import find_spec

from bench import OUT, Size, machine
from bench.report import Report

TABLES = (
    *("l2h", "gpu", "metrics", "trees", "service", "wrapped", "hyperbolic"),
    *("quality", "purity", "margins", "sphere", "calibration", "tasks", "rmlr"),
)
_NAMED = frozenset(TABLES[TABLES.index("hyperbolic") :])
"""Tables that are made only if they are named."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of {', '.join(TABLES)}")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="small data, under a minute")
    sizes.add_argument("--full", action="store_true", help="with 1,281,167 x 1000 logits (5.1 GB)")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tables) - set(TABLES))
    if unknown:
        parser.error(f"there is no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    size: Size = "quick" if arguments.quick else "full" if arguments.full else "default"

    modules = {
        name: import_module(f"bench.{name}")
        for name in arguments.tables or [t for t in TABLES if t not in _NAMED]
    }
    report = Report(machine.describe())
    print("\n".join(machine.lines(report.machine)))
    for name, module in modules.items():
        began = time.perf_counter()
        report.heading(name)
        module.table(report, size)
        print(f"\n({name}: {time.perf_counter() - began:.0f} s)", flush=True)
        report.write(OUT / "bench.json")
    print(f"\nWrote {OUT / 'bench.json'}")
    if "l2h" in report.tables:
        if find_spec("matplotlib") is None:
            print("No plot: matplotlib is not installed (the extra `bench` has it)")
        else:
            from bench.plot import l2h

            l2h(report.tables["l2h"], OUT / "l2h.png")
            print(f"Wrote {OUT / 'l2h.png'}")


if __name__ == "__main__":
    main()
