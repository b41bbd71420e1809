"""Benchmarks: one module per table of numbers; `python -m bench [table ...]` prints them.

A module has `table(report: Report, size: Size) -> None`, measures with `bench.measure.measured` and
says what came of it with `report.row`. `bench/__main__.py` lists the modules.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

# As in a worker: see workers.child.template.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

Size = Literal["quick", "default", "full"]
"""How much is measured: in a minute, in a quarter of an hour, or with data of 5 GB as well."""

ROOT = Path(__file__).parent.parent
OUT = ROOT / "bench-output"


def real_data(name: str) -> Path | None:
    """A file in the folder that UMBEL_TEST_DATA names, as the tests find it; None if absent."""
    path = Path(os.environ.get("UMBEL_TEST_DATA", ROOT / ".." / "shared" / "data")) / name
    return path if path.exists() else None
