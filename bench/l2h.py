"""L2H over N, K and number type: against the paper's own code and one read of the array.

All contenders read the same memory-mapped npy file, which is in the page cache, in processes that
have not touched it before. Compiled code is compiled beforehand.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from scipy.special import softmax

from bench import OUT, Size, logits_kinds, real_data, synthetic
from bench.baselines import as_printed, exact, hoisted, trimmed
from bench.measure import Measured, measured, read_once
from bench.report import Report
from models.arrays import Array, Int
from models.inputs.data import Data
from models.metrics.hierarchical import dendrogram_purity
from models.metrics.inputs import classes_of
from models.registry import method
from models.tree.tree import Tree, sizes

READ, SINGLE, DOUBLE = "one read", "umbel", "umbel, 2 threads"
RUNS = 5
LEGEND = """\
One read: NumPy's maximum over the bytes of the file in blocks of 1 MiB, one thread.
extra: anonymous memory over what was there before, and as a share of the logits.
reads: CPU seconds over one read's.
speedup: CPU seconds of "appendix, means hoisted" over these; the appendix runs in the type of the
logits, on float16 in float32.
same_merges: how many of the K - 1 merges agree with the array's first row after the read; in
float32 the appendix may swap close ones. Empty where a class has no point, for which the appendix
defines no merge."""


@dataclass(frozen=True, slots=True)
class Case:
    """An array of planted logits, and the contenders besides Umbel: keys of `RIVALS`."""

    n_points: int
    n_classes: int
    dtype: str = "float32"
    rivals: tuple[str, ...] = ("hoisted",)

    @property
    def n_bytes(self) -> int:
        return self.n_points * self.n_classes * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{self.n_points:,} x {self.n_classes:,} {self.dtype}"


@dataclass(frozen=True, slots=True)
class Rival:
    """A baseline: its name in the tables, its code, its largest number of runs."""

    name: str
    run: Callable[[Array], Int]
    runs: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The measurements on one array; `rivals` in the order of the case."""

    read: Measured[int]
    rivals: dict[str, Measured[Int]]
    single: Measured[Tree]
    double: Measured[Tree]


RIVALS = {
    "exact": Rival("reference, float64 in blocks", exact, 1),
    "hoisted": Rival("appendix, means hoisted", lambda x: hoisted(_wide(x)), 3),
    "trimmed": Rival("appendix, hoisted and trimmed", lambda x: trimmed(_wide(x)), 3),
    "printed": Rival("appendix, as printed", lambda x: as_printed(_wide(x)), 1),
}

_ALL = ("exact", "hoisted", "trimmed")
HEADLINE: dict[Size, Case] = {
    "quick": Case(10_000, 1_000, rivals=_ALL),
    "default": Case(120_000, 1_000, rivals=_ALL),
    "full": Case(120_000, 1_000, rivals=_ALL),
}
"""The array of the goals."""

_DEFAULT = (
    Case(10_000, 1_000, rivals=("hoisted", "printed")),
    Case(60_000, 1_000),
    HEADLINE["default"],
    Case(480_000, 1_000),
    Case(60_000, 10),
    Case(60_000, 100),
    Case(60_000, 10_000, rivals=("exact", "hoisted")),
    Case(60_000, 1_000, "float16"),
    Case(60_000, 1_000, "float64"),
)
CASES: dict[Size, tuple[Case, ...]] = {
    "quick": (
        Case(2_000, 1_000),
        HEADLINE["quick"],
        Case(10_000, 10),
        Case(10_000, 100, rivals=("hoisted", "printed")),
        Case(10_000, 1_000, "float16"),
        Case(10_000, 1_000, "float64"),
    ),
    "default": _DEFAULT,
    "full": (*_DEFAULT, Case(1_281_167, 1_000)),
}

REAL = ("tinyimagenet_efflite0_logits.npy", "lang_py3langid_udhr_logits.npy")


def table(report: Report, size: Size) -> None:
    """Costs in "l2h" (`LEGEND`), the arrays themselves in "l2h_logits", goals in "l2h_goals"."""
    report.note("l2h", LEGEND)
    OUT.mkdir(exist_ok=True)
    about: list[dict[str, Any]] = []
    headline = None
    with tempfile.TemporaryDirectory(prefix="logits-", dir=OUT) as folder:
        _compile(Path(folder), {case.dtype for case in CASES[size]})
        for planned in CASES[size]:
            case, lacking = _what_fits(planned, Path(folder))
            if lacking:
                report.note("l2h", lacking)
            if case is None:
                continue
            path = Path(folder) / "logits.npy"
            planted = synthetic.write(path, case.n_points, case.n_classes, case.dtype)
            outcome = _compare(report, "planted", path, case, planted.never_predicted == 0)
            about.append(_about_planted(case, planted, outcome.single.result))
            if case == HEADLINE[size]:
                headline = outcome
            path.unlink()
    real_files = {name: real_data(name) for name in REAL}
    for name, real in real_files.items():
        if real is None:
            report.left_out("l2h", name)
        else:
            report.note("l2h", f"Real logits: {name}.")
            about.append(_real(report, real))
    report.heading("l2h: the logits")
    for row in about:
        report.row("l2h_logits", **row)
    if headline is not None:
        report.heading(f"l2h: goals, on {HEADLINE[size]}")
        _goals(report, headline, HEADLINE[size])
    report.heading("l2h: every kind of logits")
    logits_kinds.table(report, size)


def _wide(logits: Array) -> Array:
    return logits.astype(np.float32) if logits.dtype == np.float16 else logits


def fit(logits: Array, threads: int) -> Tree:
    """Umbel's tree, including checks of the input and the tree."""
    used = method("l2h")
    return used.fit(Data({"logits": logits}), used.Params(), threads=threads).tree


def merges_of(tree: Tree) -> Int:
    """(K - 1, 2) SciPy ids that each merge of a tree of `fit` joins, the lower one first."""
    n_classes = tree.n_leaves
    ids = np.where(tree.n_children > 0, n_classes - 1 + tree.height.astype(np.int64), 0)
    ids[tree.leaves] = [int(name) for name in tree.name[tree.leaves]]
    merges = np.full((n_classes - 1, 2), -1, dtype=np.int64)
    start, child = tree.children
    for node in np.flatnonzero(tree.n_children).tolist():
        merges[ids[node] - n_classes] = np.sort(ids[child[start[node] : start[node + 1]]])
    return merges


def _compile(folder: Path, dtypes: Iterable[str]) -> None:
    """Compile everything before processes are forked from this one."""
    path = folder / "small.npy"
    for dtype in dtypes:
        for n_points, n_classes in ((2_000, 10), (20_000, 200)):
            synthetic.write(path, n_points, n_classes, dtype)
            _warm(path)
    path.unlink()


def _warm(path: Path) -> None:
    for threads in (1, 2):
        fit(np.load(path, mmap_mode="r"), threads)


def _what_fits(case: Case, folder: Path) -> tuple[Case | None, str]:
    """The case, reduced to what fits into the machine, and a sentence on what is omitted.

    The file is to stay in the page cache; the appendix holds two more arrays of its shape, three
    where the logits are float16.
    """
    memory = psutil.virtual_memory().available
    if shutil.disk_usage(folder).free < 1.1 * case.n_bytes or memory < 1.2 * case.n_bytes:
        size = case.n_bytes / 1e9
        return None, f"Left out: {case} need {size:.1f} GB on the disk and in memory."
    itemsize = np.dtype(case.dtype).itemsize
    arrays = 2 if itemsize >= 4 else 3
    needed = case.n_bytes + 1.1 * arrays * max(4, itemsize) * case.n_points * case.n_classes
    if case.rivals and memory < needed:
        without = f"Left out on {case}: the appendix, which needs {needed / 1e9:.1f} GB of memory."
        return replace(case, rivals=()), without
    return case, ""


def _compare(report: Report, name: str, path: Path, case: Case, comparable: bool) -> Outcome:
    """Measure all contenders on one array and print their rows.

    comparable : whether every class has points, so that the appendix defines the merges.
    """
    logits = np.load(path, mmap_mode="r")
    read = measured(lambda: read_once(logits), RUNS)
    rivals: dict[str, Measured[Int]] = {}

    def row(what: str, cost: Measured[Any], merges: Int | None = None) -> None:
        reference = rivals.get("hoisted")
        same = None
        if rivals and merges is not None and comparable:
            truth = next(iter(rivals.values())).result
            same = int((np.sort(merges) == np.sort(truth)).all(axis=1).sum())
        report.row(
            "l2h",
            logits=name,
            n=case.n_points,
            k=case.n_classes,
            dtype=case.dtype,
            what=what,
            cpu_s=cost.cpu_s,
            wall_s=cost.wall_s,
            extra_bytes=cost.peak_bytes,
            extra_share=cost.peak_bytes / case.n_bytes,
            reads=cost.cpu_s / read.cpu_s,
            speedup=reference and reference.cpu_s / cost.cpu_s,
            same_merges=same,
            runs=cost.runs,
        )

    row(READ, read)
    for key in case.rivals:
        rival = RIVALS[key]
        rivals[key] = measured(partial(rival.run, logits), rival.runs, seconds=30)
        # The merges of the others are compared with the first one's.
        row(rival.name, rivals[key], rivals[key].result if len(rivals) > 1 else None)
    single = measured(lambda: fit(logits, 1), RUNS)
    row(SINGLE, single, merges_of(single.result))
    double = measured(lambda: fit(logits, 2), RUNS, threads=2)
    row(DOUBLE, double, merges_of(double.result))
    return Outcome(read, rivals, single, double)


def _about_planted(case: Case, planted: synthetic.Statistics, tree: Tree) -> dict[str, Any]:
    # Every class counts once, whatever its number of points.
    leaf = np.empty(case.n_classes, dtype=np.int32)
    leaf[[int(name) for name in tree.name[tree.leaves]]] = tree.leaves
    even = replace(tree, leaf_of_point=leaf, size=sizes(tree.parent, leaf), extra={})
    purity = dendrogram_purity(even, classes_of(planted.group, case.n_classes)).value
    return {
        "logits": "planted",
        "n": case.n_points,
        "k": case.n_classes,
        "dtype": case.dtype,
        "logits_bytes": case.n_bytes,
        "accuracy": planted.accuracy,
        "mean_confidence": planted.mean_confidence,
        "never_predicted": planted.never_predicted,
        "top_groups": planted.n_groups,
        "purity_by_top_groups": purity,
    }


def _real(report: Report, path: Path) -> dict[str, Any]:
    logits = np.load(path)
    n_points, n_classes = logits.shape
    case = Case(n_points, n_classes, str(logits.dtype))
    never = case.n_classes - len(np.unique(logits.argmax(axis=1)))
    name = path.name.removesuffix("_logits.npy")
    _warm(path)
    _compare(report, name, path, case, never == 0)
    return {
        "logits": name,
        "n": case.n_points,
        "k": case.n_classes,
        "dtype": case.dtype,
        "logits_bytes": case.n_bytes,
        "accuracy": None,
        "mean_confidence": float(softmax(logits, axis=1).max(axis=1).mean()),
        "never_predicted": never,
        "top_groups": None,
        "purity_by_top_groups": None,
    }


def _goals(report: Report, outcome: Outcome, case: Case) -> None:
    truth = np.sort(outcome.rivals["exact"].result)
    same = min(
        int((merges_of(run.result) == truth).all(axis=1).sum())
        for run in (outcome.single, outcome.double)
    )
    rows: list[tuple[str, float, str, bool | None]] = []

    def at_least(what: str, value: float, least: float) -> None:
        rows.append((what, value, f"at least {least:g}", value >= least))

    def at_most(what: str, value: float, most: float) -> None:
        rows.append((what, value, f"at most {most:g}", value <= most))

    at_least(
        "appendix hoisted / umbel, CPU", outcome.rivals["hoisted"].cpu_s / outcome.single.cpu_s, 25
    )
    rows.append(
        (
            "appendix trimmed / umbel, CPU",
            outcome.rivals["trimmed"].cpu_s / outcome.single.cpu_s,
            "",
            None,
        )
    )
    at_most("umbel / one read, CPU", outcome.single.cpu_s / outcome.read.cpu_s, 12)
    at_most("extra memory / logits", outcome.single.peak_bytes / case.n_bytes, 0.08)
    at_least("merges as in float64", same, case.n_classes - 1)
    at_least("umbel, one thread / two, wall", outcome.single.wall_s / outcome.double.wall_s, 1.7)
    for what, value, goal, met in rows:
        report.row("l2h_goals", what=what, value=value, goal=goal, met=met)
