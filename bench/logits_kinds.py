"""L2H on every kind of logits: what a fit costs in reads of the array, and beside the paper's code.

Planted logits (`synthetic`) by rank and confidence, by number of classes and type, by imbalance of
the classes; ways to give the rows (pieces, two threads, growing, best classes only); real logits.
Everything is measured on one thread but where two are named, in processes forked from this one, on
a file in the page cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench import OUT, ROOT, Size, real_data, synthetic
from bench.baselines import hoisted
from bench.measure import measured, read_once
from bench.report import Report
from bench.synthetic import Kind
from models.arrays import Array
from models.inputs.data import Data, Earlier
from models.inputs.rows import ArrayRows
from models.registry import method
from models.running.progress import Alone

TABLE = "l2h_kinds"
GOAL = 25
RUNS = 3
NOISE = 1.1

RANKS, CONFIDENCES = (8, 32, 64, 256), (0.1, 0.3, 0.5, 0.74, 0.95)
CLASSES, TYPES = (10, 30, 100, 300, 1_000, 3_000, 10_000), ("float16", "float32", "float64")
IMBALANCES = (0.0, 0.5, 1.0, 2.0)

_VALUES: dict[Size, int] = {"quick": 2_000_000, "default": 24_000_000, "full": 120_000_000}
"""Logits of an array; but at least 1.2 rows a class, and at most `_MOST_ROWS` rows."""
_MOST_ROWS = 600_000

LEGEND = f"""\
reads: CPU seconds of a fit over NumPy's for the maximum over the bytes of the file, in blocks of
1 MiB: the time to read the array once. The goal is at most {GOAL}.
speedup: CPU seconds of the appendix's loop, means hoisted, over the fit's.
empty: classes that are no row's largest logit; the appendix has no rule for these."""

REAL = {
    "TinyImageNet": "tinyimagenet_efflite0_logits.npy",
    "languages": "lang_py3langid_udhr_logits.npy",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """An array of planted logits. `part` is the picture that it belongs to."""

    part: str
    n_classes: int
    kind: Kind
    dtype: str = "float32"


def cells(size: Size) -> list[Cell]:
    """The arrays to be measured."""
    quick = size == "quick"
    usual = Kind(rank=32, noise=NOISE, confidence=0.5)
    ranks, confidences = (RANKS[1:3], CONFIDENCES[::2]) if quick else (RANKS, CONFIDENCES)
    classes = (10, 100, 1_000) if quick else CLASSES
    imbalances = IMBALANCES[::2] if quick else IMBALANCES
    return [
        *(
            Cell("rank and confidence", 1_000, Kind(rank, NOISE, confidence))
            for rank in ranks
            for confidence in confidences
        ),
        *(Cell("classes and type", k, usual, dtype) for dtype in TYPES for k in classes),
        *(
            Cell("classes and imbalance", k, Kind(32, NOISE, 0.5, imbalance))
            for imbalance in imbalances
            for k in (100, 1_000)
        ),
    ]


def table(report: Report, size: Size) -> None:
    """A row for each array and each way of giving it, in "l2h_kinds"."""
    report.note(TABLE, LEGEND)
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="logits-", dir=OUT) as folder:
        path = Path(folder) / "logits.npy"
        for cell in cells(size):
            n_points = _n_points(cell.n_classes, size)
            planted = synthetic.write(path, n_points, cell.n_classes, cell.dtype, kind=cell.kind)
            _row(
                report,
                cell.part,
                np.load(path, mmap_mode="r"),
                _fit,
                rank=cell.kind.rank,
                confidence=cell.kind.confidence,
                imbalance=cell.kind.imbalance,
                accuracy=planted.accuracy,
            )
        synthetic.write(path, _n_points(1_000, size), 1_000, kind=Kind(32, NOISE, 0.5))
        _forms(report, np.load(path, mmap_mode="r"))
    files = {"sample of the project": ROOT / "app" / "sample" / "logits.npy"}
    for name, file in REAL.items():
        real = real_data(file)
        if real is None:
            report.left_out(TABLE, file)
        else:
            files[name] = real
    for name, path in files.items():
        _row(report, name, np.load(path, mmap_mode="r"), _fit)
    rows = report.tables[TABLE]
    over = [row for row in rows if row["reads"] > GOAL]
    report.note(TABLE, f"{len(rows) - len(over)} of {len(rows)} rows cost at most {GOAL} reads.")


def _n_points(n_classes: int, size: Size) -> int:
    return min(_MOST_ROWS, max(_VALUES[size] // n_classes, 6 * n_classes // 5))


def _fit(logits: Array, **inputs: Any) -> None:
    used = method("l2h")
    used.fit(Data({"logits": logits, **inputs}), used.Params())


def _forms(report: Report, logits: Array) -> None:
    """Rows for ways to give the same logits. Each way does all that its job does."""
    used = method("l2h")
    n_points = len(logits)

    def threads(logits: Array) -> None:
        used.fit(Data({"logits": logits}), used.Params(), threads=2)

    def pieces(logits: Array) -> None:
        data, params = Data({"logits": logits}), used.Params()
        compute = partial(_piece, used, data, params)
        used.fit(data, params, crew=Alone(compute, 4))

    growable = used.Params.model_validate({"growable": True})
    old = logits[: n_points * 2 // 3]
    before = used.fit(Data({"logits": old}), growable)
    assert before.state is not None
    earlier = Earlier(
        "l2h", growable.model_dump(), before.tree, before.state, {"logits": [ArrayRows(old)]}
    )

    def growing(logits: Array) -> None:
        used.fit(Data({"logits": logits, "base": earlier}), growable)

    top = np.sort(np.argpartition(-np.asarray(logits), 10, axis=1)[:, :10], axis=1)
    best = np.take_along_axis(np.asarray(logits), top, axis=1)
    every = {"rank": 32, "confidence": 0.5}
    ways: Mapping[str, tuple[Array, Callable[[Array], None]]] = {
        "as one file": (logits, _fit),
        "two threads": (logits, threads),
        "four pieces, as of four workers": (logits, pieces),
        "growing by the last third": (logits[len(old) :], growing),
        "ten best classes of a row": (
            best,
            partial(_fit, top_classes=top.astype(np.int32)),
        ),
    }
    for name, (rows, fit) in ways.items():
        _row(report, name, rows, fit, compared=name == "as one file", **every)


def _piece(used: Any, data: Data, params: Any, piece: Any, progress: Any) -> Any:
    return used.piece(data, params, piece, progress)


def _row(
    report: Report,
    what: str,
    logits: Array,
    fit: Callable[[Array], None],
    compared: bool = True,
    **about: Any,
) -> None:
    # Compiled code is loaded before processes are forked.
    fit(logits)
    read = measured(lambda: read_once(logits), RUNS)
    cost = measured(lambda: fit(logits), RUNS, threads=2)
    appendix = None
    if compared:
        wide = logits.astype(np.float32) if logits.dtype == np.float16 else logits
        appendix = measured(lambda: hoisted(np.ascontiguousarray(wide)), 1, seconds=30).cpu_s
    named = dict.fromkeys(("rank", "confidence", "imbalance", "accuracy")) | about
    report.row(
        TABLE,
        what=what,
        n=logits.shape[0],
        k=logits.shape[1],
        dtype=str(logits.dtype),
        **named,
        empty=logits.shape[1] - len(np.unique(np.argmax(logits, axis=1))) if compared else None,
        read_s=read.cpu_s,
        cpu_s=cost.cpu_s,
        wall_s=cost.wall_s,
        reads=cost.cpu_s / read.cpu_s,
        speedup=appendix and appendix / cost.cpu_s,
    )
