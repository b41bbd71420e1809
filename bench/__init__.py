"""Benchmarks: one module per table; `python -m bench [table ...]` prints them.

A module has `table(report: Report, size: Size) -> None`, measures with `bench.measure.measured` and
reports with `report.row`. `bench/__main__.py` lists the modules. Long tables also take a `Chosen`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# As in a worker: see workers.child.template.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

Size = Literal["quick", "default", "full"]
"""How much is measured: for a minute, for a quarter of an hour, or also with data of 5 GB."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The part of a table that is made; None: all of it.

    sets : data sets. systems : what the names of rows start with. n_seeds : how many seeds.
    """

    sets: tuple[str, ...] | None = None
    systems: tuple[str, ...] | None = None
    n_seeds: int | None = None

    @property
    def possible(self) -> bool:
        """Whether there is at least one seed."""
        return self.n_seeds is None or self.n_seeds > 0

    def sets_of(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The sets that are chosen, else the usual ones."""
        return usual if self.sets is None else self.sets

    def seeds_of(self, usual: int) -> int:
        """The number of seeds that is chosen, else the usual one."""
        return usual if self.n_seeds is None else self.n_seeds

    def systems_of(self, names: Iterable[str]) -> list[str]:
        """The chosen ones of the names."""
        return [name for name in names if self.systems is None or name.startswith(self.systems)]


ROOT = Path(__file__).parent.parent
OUT = ROOT / "bench-output"


def real_data(name: str) -> Path | None:
    """A file in the folder that UMBEL_TEST_DATA names, as for the tests; None if absent."""
    path = Path(os.environ.get("UMBEL_TEST_DATA", ROOT / ".." / "shared" / "data")) / name
    return path if path.exists() else None
