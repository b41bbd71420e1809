"""`python -m bench`: all or the named tables, as text on stdout, `bench.json` and plots."""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from importlib.util import find_spec

from bench import OUT, Chosen, Size, machine
from bench.report import Report

TABLES = (
    *("l2h", "gpu", "metrics", "trees", "service", "wrapped", "hyperbolic"),
    *("quality", "purity", "linkage", "words", "margins", "sphere", "calibration", "tasks", "rmlr"),
    *("classifiers", "labelled", "views", "supervision", "completion"),
    *("attributes", "splits", "momentum", "l2h_tables", "logits_kinds", "deep"),
    *(
        "turns",
        "endurance",
        "consensus",
        "support",
        "trust",
        "sure",
        "drift",
        "hac_defaults",
        "levels",
    ),
    *("defaults", "gpu_steps"),
    *("client", "costs", "class_trees", "placements", "names", "layers", "papers"),
    *("new_clusters", "points", "taxonomy", "choices"),
)
_NAMED = frozenset(TABLES[TABLES.index("hyperbolic") :])
"""Tables that are made only if they are named."""
CHOOSING = (
    "hyperbolic",
    "linkage",
    "margins",
    "splits",
    "momentum",
    "l2h_tables",
    "deep",
    "papers",
    "new_clusters",
    "taxonomy",
    "choices",
    "points",
)
"""Tables of which sets, systems and the number of seeds can be chosen."""
_OF_CHOSEN = f"for {', '.join(CHOOSING)}"
PLOTTED = ("l2h", "l2h_kinds", "few_shot", "attributes", "leaves_and_branching")
"""Tables with a picture, a function of `bench.plot`."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of {', '.join(TABLES)}")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="small data, under a minute")
    sizes.add_argument("--full", action="store_true", help="with 1,281,167 x 1000 logits (5.1 GB)")
    parts = parser.add_mutually_exclusive_group()
    for part, made in (
        ("few-shot", "F1 by the number of training rows"),
        ("speed", "times"),
        ("scale", "training with 12,294 classes"),
    ):
        parts.add_argument(
            f"--{part}",
            dest="part",
            action="store_const",
            const=part.replace("-", "_"),
            help=f"of the table classifiers only {made}",
        )
    parser.add_argument("--sets", metavar="A,B", help=f"only these data sets; {_OF_CHOSEN}")
    parser.add_argument(
        "--systems", metavar="A;B", help=f"only rows whose names start so; {_OF_CHOSEN}"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help=f"how many seeds; {_OF_CHOSEN}")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.tables) - set(TABLES))
    if unknown:
        parser.error(f"there is no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    if arguments.part and arguments.tables != ["classifiers"]:
        parser.error("--few-shot, --speed and --scale are parts of the table classifiers alone")
    chosen = Chosen(
        None if arguments.sets is None else tuple(arguments.sets.split(",")),
        None if arguments.systems is None else tuple(arguments.systems.split(";")),
        arguments.seeds,
    )
    choosing = bool(arguments.tables) and set(arguments.tables) <= set(CHOOSING)
    if (chosen != Chosen() and not choosing) or not chosen.possible:
        parser.error(f"--sets, --systems and --seeds (1 or more) are {_OF_CHOSEN}")
    size: Size = "quick" if arguments.quick else "full" if arguments.full else "default"

    modules = {
        name: import_module(f"bench.{name}")
        for name in arguments.tables or [t for t in TABLES if t not in _NAMED]
    }
    if arguments.part:
        modules["classifiers"] = import_module(f"bench.classifiers.{arguments.part}")
    report = Report(machine.describe())
    print("\n".join(machine.lines(report.machine)))
    for name, module in modules.items():
        began = time.perf_counter()
        report.heading(name)
        if name in CHOOSING:
            module.table(report, size, chosen)
        else:
            module.table(report, size)
        print(f"\n({name}: {time.perf_counter() - began:.0f} s)", flush=True)
        report.write(OUT / "bench.json")
    print(f"\nWrote {OUT / 'bench.json'}")
    plotted = [name for name in PLOTTED if name in report.tables]
    if plotted and find_spec("matplotlib") is None:
        print("No plot: matplotlib is not installed (the extra `bench` has it)")
        return
    for name in plotted:
        draw = getattr(import_module("bench.plot"), name)
        draw(report.tables[name], OUT / f"{name}.png")
        print(f"Wrote {OUT / f'{name}.png'}")


if __name__ == "__main__":
    main()
