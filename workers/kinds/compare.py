"""`compare`: several methods and seeds on the same inputs, each measured, as one table.

Every run with one seed is a piece of the job, so several workers share the runs. A failed run
leaves its problem in the table, and the others continue.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from models.arrays import Arrays, Float, Int
from models.errors import UsageError
from models.inputs.data import Value, as_matrix
from models.registry import method
from models.roles import role_of
from models.running.progress import Piece, Progress, silent
from workers.artifacts import results
from workers.errors import problem_of
from workers.kinds.fit import write_fit
from workers.kinds.kind import Lane, NamedKind, Options, Size, lane_by_cost
from workers.model import MethodStep, Request, run_id
from workers.work.crew import Crew
from workers.work.job import OUTCOME, RUNS, Job, Outcome, Spec, with_tree
from workers.work.named_columns import RowIds, implied, names_taken
from workers.work.plan import Plan, PlanResult, StepProgress, run_plan
from workers.work.sources import Source, reading_warnings, values_of


class Contender(BaseModel):
    """One row of the table: a method with its parameters."""

    model_config = ConfigDict(frozen=True)

    method: str
    params: dict[str, Any] = {}
    preprocess: tuple[dict[str, Any], ...] = ()
    then: MethodStep | None = None

    @property
    def draws(self) -> bool:
        """Whether one of its steps takes a seed."""
        steps = [self.method, *([] if self.then is None else [self.then.method])]
        return any("seed" in method(method_id).Params.model_fields for method_id in steps)

    def plan(self, seed: int) -> Plan:
        """Its plan with `seed` added to the seed of each step."""
        then = self.then
        if then is not None:
            then = MethodStep(method=then.method, params=_seeded(then.params, seed))
        return Plan(self.method, _seeded(self.params, seed), self.preprocess, then)


def _seeded(params: dict[str, Any], seed: int) -> dict[str, Any]:
    return {**params, "seed": params["seed"] + seed} if "seed" in params else params


class ComparisonOptions(Options):
    """The comparison to make.

    seeds : how often a method with a seed is run. metrics, cut : as for an evaluation.
    keep_trees : whether the tree and model of each run, with its first seed, are kept.
    """

    runs: tuple[Contender, ...]
    seeds: int = 5
    metrics: tuple[str, ...] | None = None
    cut: dict[str, Any] | None = None
    keep_trees: bool = False

    def pieces(self) -> list[Piece]:
        return [
            {"run": number, "seed": seed}
            for number, contender in enumerate(self.runs)
            for seed in range(self.seeds if contender.draws else 1)
        ]


Write = Callable[[int, PlanResult, Mapping[str, Value]], Mapping[str, bytes]]
"""write(number of the run, its result, its inputs): the files to keep of it, by name."""

_FILE = "file:"

CODE, PURITY = "code", "purity"
"""The class and the purity of each row of a piece."""
MOST_ROWS, MOST_VALUES, MOST_STEPS = 100_000, 20_000_000, 500_000_000
"""Rows, values of all pieces together and steps for one tree, up to which runs are compared row by
row."""

UNLIKE = 1.25
"""The ratio of the most to the fewest leaves from which values of `lhd` are not compared."""


class ComparisonRuns:
    """The runs of a comparison, each with one seed on the same inputs.

    values : by role. sources : where the values are from, and so names. rows : their ids. write :
    needed if the comparison keeps trees.
    """

    def __init__(
        self,
        options: ComparisonOptions,
        values: Mapping[str, Value],
        threads: int,
        sources: Sequence[Source] = (),
        rows: RowIds | None = None,
        write: Write | None = None,
    ) -> None:
        self._options, self._sources, self._threads = options, sources, threads
        self._rows = rows
        self._values = values
        self._write = write if options.keep_trees else None

    def compute(self, piece: Piece, progress: Progress) -> Arrays:
        """The figures of one run with one seed, as JSON in an array of bytes, and what is kept of
        it, an array of bytes for each file."""
        contender = self._options.runs[int(piece["run"])]
        kept: dict[str, bytes] = {}
        by_row: Arrays = {}
        try:
            result, inputs, figures = self._run(contender.plan(int(piece["seed"])), progress)
            by_row = self._by_row(result)
            if self._write is not None and piece["seed"] == 0:
                files = self._write(int(piece["run"]), result, inputs)
                kept = {f"{_FILE}{name}": content for name, content in files.items()}
        except (UsageError, MemoryError) as error:
            figures = {"error": problem_of(error)}
        contents = {"figures": json.dumps(figures).encode(), **kept}
        packed = {name: np.frombuffer(part, dtype=np.uint8) for name, part in contents.items()}
        return {**packed, **by_row}

    def _by_row(self, result: PlanResult) -> Arrays:
        """The class and the purity of each row, where they are compared row by row."""
        from models.metrics.inputs import classes_of
        from models.metrics.row_purity import row_purity

        labels: Any = self._values.get("labels")
        tree = result.fitted.tree
        most = min(MOST_ROWS, MOST_VALUES // len(self._options.pieces()))
        if labels is None or tree.n_points > most:
            return {}
        try:
            code = classes_of(labels, tree.n_points).code
        except UsageError:
            # Labels that no metric could read; the metrics that were requested say so.
            return {}
        n_shared = int((np.bincount(code) > 1).sum())
        if n_shared * (tree.n_points + tree.n_nodes) > MOST_STEPS:
            return {}
        return {CODE: code, PURITY: row_purity(tree, code)}

    def _run(
        self, plan: Plan, progress: Progress
    ) -> tuple[PlanResult, dict[str, Value], dict[str, Any]]:
        from models.metrics.catalogue import METRICS, evaluate

        roles = method(plan.method).inputs
        inputs = {
            role: value
            for role, value in self._values.items()
            if role in roles and not role_of(role).measured
        }
        taken = names_taken(method(plan.method))
        inputs |= implied(self._sources, inputs, taken, plan.preprocess, self._rows)

        began = time.perf_counter()
        result = run_plan(plan, inputs, progress, self._threads)
        seconds = time.perf_counter() - began

        truth: dict[str, Any] = {
            role: value for role, value in self._values.items() if role_of(role).measured
        }
        # Distances between all rows are measured only if a requested metric needs them.
        needed = {
            role
            for name in self._options.metrics or ()
            if name in METRICS
            for role in METRICS[name].needs
        }
        for role in ("features", "distances", "similarity"):
            if role in self._values and (role in needed or not truth):
                truth[role] = as_matrix(self._values[role])
        measured = evaluate(
            result.fitted.tree,
            **truth,
            metrics=self._options.metrics,
            cut=self._options.cut,
            measured=result.metrics,
        )
        figures = {
            "seconds": seconds,
            "metrics": {
                name: value
                for name, value in measured.metrics.items()
                if value is not None and math.isfinite(value)
            },
            "lhd_leaves": measured.lhd_leaves,
            "warnings": [
                *reading_warnings(self._values),
                *result.warnings,
                *measured.warnings,
            ],
        }
        return result, inputs, figures


class _Compare(NamedKind[ComparisonOptions]):
    name = "compare"
    noun = "comparison"
    prefix = "cmp"
    Options = ComparisonOptions

    def lane(self, request: Request) -> Lane:
        return lane_by_cost(request)

    def shown(self, job_id: str, result: dict[str, Any]) -> dict[str, Any]:
        return result

    def opens_sockets(self, request: Request) -> bool:
        return any(run.plan(0).opens_sockets for run in self.options(request).runs)

    def runs(self, request: Request) -> list[Request]:
        return [
            _run_request(request, number, run)
            for number, run in enumerate(self.options(request).runs)
        ]

    def seconds(
        self, options: ComparisonOptions, params: Mapping[str, Any], size: Size
    ) -> float | None:
        """None: `models.method.Method.seconds` of its methods."""
        return None

    def run(self, job: Job, options: ComparisonOptions) -> Outcome:
        spec = job.spec
        job.reading()
        rows = RowIds(spec.sources)
        write = partial(_run_files, spec, options, rows)
        values = values_of(spec.sources)
        runs = ComparisonRuns(options, values, spec.threads, spec.sources, rows, write)
        if spec.piece is not None:
            results.save_arrays(runs.compute(spec.piece, silent), spec.folder)
            return Outcome()
        within = StepProgress(job.progress, 0, 1).within
        crew = Crew(runs.compute, within, coordinator=job.coordinator)
        return Outcome(result={"comparison": compare(options, crew, spec.folder / RUNS)})


KIND = _Compare()


def _run_request(comparison: Request, number: int, run: Contender) -> Request:
    """The run of this number, with its first seed, as a request for a fit."""
    roles = method(run.method).inputs
    return Request(
        id=run_id(comparison.id, number),
        tenant=comparison.tenant,
        kind="fit",
        queue=comparison.queue,
        method=run.method,
        inputs={role: ref for role, ref in comparison.inputs.items() if role in roles},
        params=run.params,
        preprocess=run.preprocess,
        then=run.then,
        name=comparison.name,
        description=comparison.description,
        tags=comparison.tags,
        created_at=comparison.created_at,
        request_id=comparison.request_id,
        key=comparison.key,
    )


def _run_files(
    spec: Spec,
    options: ComparisonOptions,
    rows: RowIds,
    number: int,
    result: PlanResult,
    given: Mapping[str, Value],
) -> dict[str, bytes]:
    """The files of a comparison's run in the form of a fit's, and its outcome."""
    run = options.runs[number]
    request = spec.request.model_copy(
        update={"id": run_id(spec.request.id, number), "method": run.method, "then": run.then}
    )
    with TemporaryDirectory(dir=spec.folder.parent) as place:
        folder = Path(place)
        own = spec.model_copy(update={"request": request, "folder": folder})
        members = write_fit(own, result, given, rows.ids)
        outcome = with_tree(own, result.fitted.tree, request.method, members, result.warnings)
        (folder / OUTCOME).write_text(outcome.model_dump_json())
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def compare(options: ComparisonOptions, crew: Crew, runs: Path | None = None) -> dict[str, Any]:
    """The table, a row for each run, and which row is best by each metric.

    runs : the folder for what is kept: the files of run k are written to its folder `k`; None:
    nothing is.
    """
    pieces = options.pieces()
    figures: list[dict[str, Any]] = [{}] * len(pieces)
    by_run: dict[int, list[Float]] = {}
    code: Int | None = None
    for number, arrays in crew.compute(pieces):
        figures[number] = json.loads(arrays["figures"].tobytes())
        if PURITY in arrays:
            code = np.asarray(arrays[CODE])
            by_run.setdefault(int(pieces[number]["run"]), []).append(np.asarray(arrays[PURITY]))
        for name, content in arrays.items():
            if runs is not None and name.startswith(_FILE):
                path = runs / str(pieces[number]["run"]) / name.removeprefix(_FILE)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.tobytes())
                figures[number]["kept"] = True
    table = []
    for number, group in groupby(
        zip(pieces, figures, strict=True), key=lambda pair: int(pair[0]["run"])
    ):
        table.append(_row(options.runs[number], [of_seed for _, of_seed in group]))
    fewest, most = _lhd_leaves(figures)
    is_unlike = most >= UNLIKE * fewest
    if is_unlike:
        for row in table:
            if "lhd" in row["metrics"]:
                row["warnings"].append(
                    "By chance alone `lhd` falls as the leaves of a tree grow in number: they are "
                    f"{fewest:,} to {most:,} among the runs, so no run is best by it."
                )
    best = _best(table)
    return {
        "table": table,
        "best": {name: row for name, row in best.items() if not (is_unlike and name == "lhd")},
        "differences": [] if code is None else differences(by_run, code),
    }


def differences(by_run: Mapping[int, Sequence[Float]], code: Int) -> list[dict[str, Any]]:
    """Each run against the one with the highest dendrogram purity, on the same rows.

    by_run : (n_rows,) the purity of each row, by seed. code : (n_rows,) the class of each row. The
    p-values of all runs together are adjusted by Holm's method.

    Source: Yang and Liu, "A re-examination of text categorization methods" (1999); Holm, "A simple
    sequentially rejective multiple test procedure" (1979).
    """
    from models.metrics.classification.evaluation import tested_ranks, tested_signs
    from models.metrics.row_purity import class_purity

    purity = {run: np.mean(of_seeds, axis=0) for run, of_seeds in sorted(by_run.items())}
    pairs = np.bincount(code)[code] - 1.0
    if len(purity) < 2 or not pairs.any():
        return []
    known = pairs > 0
    best = max(purity, key=lambda run: float(purity[run][known] @ pairs[known]))
    others = [run for run in purity if run != best]
    signs, ranks = [], []
    for run in others:
        gain = purity[run][known] - purity[best][known]
        signs.append(tested_signs(int((gain > EVEN).sum()), int((gain < -EVEN).sum())))
        apart = class_purity(purity[run], code) - class_purity(purity[best], code)
        apart = apart[~np.isnan(apart)]
        ranks.append(tested_ranks(np.where(np.abs(apart) > EVEN, apart, 0.0)))
    adjusted = [holm([one.p_value for one in tests]) for tests in (signs, ranks)]
    return [
        {
            "run": run,
            "than": best,
            **{
                name: {"n_better": one.n_better, "n_worse": one.n_worse, "p_value": p_value}
                for name, one, p_value in (
                    ("rows", signs[place], adjusted[0][place]),
                    ("classes", ranks[place], adjusted[1][place]),
                )
            },
        }
        for place, run in enumerate(others)
    ]


EVEN = 1e-12
"""Purities that differ by no more are even: the rest is rounding."""


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, adjusted so that the chance of any false finding is bounded:
    the i-th smallest of n is multiplied by n - i + 1, and none is below a smaller one's."""
    adjusted, least = [0.0] * len(p_values), 0.0
    for place, number in enumerate(np.argsort(p_values, kind="stable").tolist()):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = least
    return adjusted


def _lhd_leaves(figures: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The fewest and the most leaves of the trees that `lhd` looked at; 1 and 1 without any."""
    leaves = [of_seed.get("lhd_leaves") for of_seed in figures]
    counts = [count for count in leaves if count is not None]
    return min(counts, default=1), max(counts, default=1)


def _row(contender: Contender, figures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A row of the table, from the figures for each seed."""
    good = [of_seed for of_seed in figures if "error" not in of_seed]
    names = list(dict.fromkeys(name for of_seed in good for name in of_seed["metrics"]))
    values = {
        name: [of_seed["metrics"][name] for of_seed in good if name in of_seed["metrics"]]
        for name in names
    }
    seconds = [of_seed["seconds"] for of_seed in good]
    error = next((of_seed["error"] for of_seed in figures if "error" in of_seed), None)
    return {
        **contender.model_dump(mode="json"),
        "seeds": len(figures),
        "metrics": {name: _spread(of_seeds) for name, of_seeds in values.items()},
        "values": values,
        "seconds": _spread(seconds) if seconds else None,
        "warnings": list(dict.fromkeys(text for of_seed in good for text in of_seed["warnings"])),
        "error": error,
        "kept": any(of_seed.get("kept", False) for of_seed in figures),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    """Mean, and standard deviation of the sample; 0 of a single value."""
    return {
        "mean": statistics.fmean(values),
        "std": statistics.stdev(values) if len(values) > 1 else 0.0,
    }


def _best(table: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The number of the first row with the best mean, by metric, among rows that ran with all
    seeds. A metric without a better direction has none."""
    from models.metrics.catalogue import METRICS

    best: dict[str, int] = {}
    for number, row in enumerate(table):
        if row["error"] is not None:
            continue
        for name, spread in row["metrics"].items():
            sign = {"higher": 1.0, "lower": -1.0}.get(METRICS[name].better)
            if sign is None:
                continue
            if (
                name not in best
                or sign * spread["mean"] > sign * (table[best[name]]["metrics"][name]["mean"])
            ):
                best[name] = number
    return best
