"""Benchmarks: one module per table; `python -m bench [table ...]` prints them.

A module has `table(report: Report, size: Size) -> None`, measures with `bench.measure.measured` and
reports with `report.row`. `bench/__main__.py` lists the modules.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

# As in a worker: see workers.child.template.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

Size = Literal["quick", "default", "full"]
"""How much is measured: for a minute, for a quarter of an hour, or also with data of 5 GB."""

ROOT = Path(__file__).parent.parent
OUT = ROOT / "bench-output"


def real_data(name: str) -> Path | None:
    """A file in the folder that UMBEL_TEST_DATA names, as for the tests; None if absent."""
    path = Path(os.environ.get("UMBEL_TEST_DATA", ROOT / ".." / "shared" / "data")) / name
    return path if path.exists() else None
