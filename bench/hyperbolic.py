"""The cost of `ghhc` on many points: seconds of each stage, seconds of 1,000 steps, memory.

The points of whole fits are in a mapped file. The time of a step must not depend on the number of
points and must grow at most linearly with the number of nodes, so steps are also measured alone, by
CPU time of one thread, which a busy machine changes least. A step of the expected cost looks at all
nodes to find those that its batch can reach, then only at these, whose number grows with all nodes
(docs/decisions/expected-cost.md). The temperature, which a fit searches once for 100 steps or more,
is found before.

Result: 15.3, 65.6 and 329 ms for 1,000, 4,000 and 16,000 nodes, each node 1.07 and 1.34 times as
much as of 1,000; 1.08 times as much on 16 times the points.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import OUT, Chosen, Size
from bench.measure import measured
from bench.report import Report
from models.inputs.data import Data
from models.inputs.rows import ArrayRows
from models.method import Fitted
from models.methods.hyperbolic.ghhc import GHHCParams
from models.registry import method
from models.running.progress import silent


class Case(NamedTuple):
    """A fit: its numbers of points, columns, nodes, steps, and processes that share the steps."""

    n_points: int
    n_features: int
    n_nodes: int
    n_steps: int
    processes: int = 1


CASES: dict[Size, tuple[Case, ...]] = {
    "quick": (Case(5_000, 32, 64, 100), Case(20_000, 32, 256, 100), Case(20_000, 32, 256, 100, 2)),
    "default": (Case(200_000, 128, 1_000, 100), Case(200_000, 128, 1_000, 100, 2)),
    "full": (Case(1_000_000, 128, 5_000, 1_000), Case(1_000_000, 128, 5_000, 1_000, 2)),
}
"""Whole fits."""

STEPS: dict[Size, tuple[Case, ...]] = {
    "quick": (Case(2_000, 32, 256, 5), Case(32_000, 32, 256, 5), Case(2_000, 32, 1_024, 5)),
    "default": (
        Case(8_000, 128, 1_000, 5),
        Case(128_000, 128, 1_000, 5),
        Case(8_000, 128, 4_000, 5),
        Case(8_000, 128, 16_000, 2),
    ),
    "full": (Case(8_000, 128, 5_000, 5), Case(128_000, 128, 5_000, 5), Case(8_000, 128, 50_000, 2)),
}
"""Steps alone. The others are compared with the first."""
REPEATS = 7
THREADS = 2
"""Threads of all processes of a fit; steps alone use one."""

GOAL_BYTES = 4e9
"""The goal for the memory of the largest case."""
GOAL_RATIO = 1.3
"""The goal for the time of a step on more points, or for each node on more nodes."""

_MOVING = "moving nodes"
_GROUPS = 1_000


class _Clock:
    """Seconds that a fit spends in each stage, from its progress reports."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._at, self._stage = time.perf_counter(), "checking"

    def __call__(self, fraction: float, stage: str, message: str = "") -> None:
        now = time.perf_counter()
        self.seconds[self._stage] += now - self._at
        self._at, self._stage = now, stage


def table(report: Report, size: Size, chosen: Chosen) -> None:
    """Steps alone in "hyperbolic_steps", whole fits with seeds from one draw in "hyperbolic", their
    goals in "hyperbolic_goals". The systems are 'steps' and 'fits'."""
    parts = chosen.systems_of(("steps", "fits"))
    took = [_steps(report, case) for case in STEPS[size]] if "steps" in parts else []
    fits = CASES[size] if "fits" in parts else ()
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="points-", dir=OUT) as folder:
        path = Path(folder) / "features.npy"
        peaks = [_fit(report, case, path) for case in fits]
    for case, seconds in zip(STEPS[size][1:], took[1:], strict=False):
        factor, what, growth_of_nodes = case.n_points / STEPS[size][0].n_points, "points", 1.0
        if case.n_nodes != STEPS[size][0].n_nodes:
            factor = growth_of_nodes = case.n_nodes / STEPS[size][0].n_nodes
            what = "nodes, each"
        ratio = seconds / took[0] / growth_of_nodes
        _goal(report, f"a step on {factor:g} times the {what}", ratio, GOAL_RATIO, "")
    for case, peak in zip(fits, peaks, strict=True):
        if case.n_points >= 1_000_000 and case.processes == 1:
            what = f"memory of {case.n_points:,} points, {case.n_nodes:,} nodes"
            _goal(report, what, peak / 1e9, GOAL_BYTES / 1e9, " GB")


def _goal(report: Report, what: str, value: float, goal: float, unit: str) -> None:
    goal_text = f"at most {goal:g}{unit}"
    report.row("hyperbolic_goals", what=what, value=value, goal=goal_text, met=value <= goal)


def _steps(report: Report, case: Case) -> float:
    """CPU seconds of a step on one thread: the minimum of some runs, as other processes disturb."""

    def work() -> float:
        import torch

        from models.methods.hyperbolic.ball.descent import Descent
        from models.methods.hyperbolic.ball.expected_cost_torch import temperature_for
        from models.methods.hyperbolic.ball.parameters import training_of
        from models.methods.hyperbolic.ball.points import Pool
        from models.methods.hyperbolic.ball.training import take_steps
        from models.methods.hyperbolic.ball.triples import PoolTriples

        torch.set_num_threads(1)
        rng = np.random.default_rng(0)
        shape = (case.n_nodes, case.n_features)
        nodes = _at_norm(rng.standard_normal(shape), rng.uniform(0.1, 0.9, (case.n_nodes, 1)))
        points = _at_norm(rng.standard_normal((case.n_points, case.n_features)), 0.9)
        near = rng.integers(case.n_points, size=(case.n_points, 5), dtype=np.int32)
        pool = Pool(torch.from_numpy(points), near, np.arange(case.n_points))
        effort = training_of(GHHCParams())
        assert effort.perplexity is not None
        mover = Descent(torch.from_numpy(nodes), "sgd", effort.learning_rate, effort.max_norm)
        no_others: Any = None
        triples = PoolTriples(no_others, pool, effort.batch_size, REPEATS, 0, 1)
        least = np.inf
        with torch.no_grad():
            drawn = pool.points[: 3 * effort.batch_size]
            temperature = temperature_for(drawn, mover.points, effort.perplexity)
            objective = replace(effort.objective, temperature=temperature)
            effort = replace(effort, objective=objective, perplexity=None)
            for number in range(REPEATS):
                triples.begin_round(number, silent)
                before = time.process_time()
                take_steps(triples, mover, effort, 0, case.n_steps, [0, number], lambda step: None)
                least = min(least, (time.process_time() - before) / case.n_steps)
        return float(least)

    seconds = measured(work, runs=1).result
    report.row(
        "hyperbolic_steps",
        n=case.n_points,
        d=case.n_features,
        nodes=case.n_nodes,
        cpu_ms=1000 * seconds,
        us_a_node=1e6 * seconds / case.n_nodes,
    )
    return seconds


def _at_norm(values: np.ndarray, norm: Any) -> np.ndarray:
    values *= norm / np.linalg.norm(values, axis=1, keepdims=True)
    return values.astype(np.float32)


def _fit(report: Report, case: Case, path: Path) -> int:
    """Report one case; the peak memory of the fit's own process, in bytes."""
    _write(path, case)
    ghhc = method("ghhc")
    options = {"n_internal": case.n_nodes, "max_iter": case.n_steps, "n_init": 1}
    params = ghhc.Params.model_validate({**options, "processes": case.processes})

    def fit() -> tuple[dict[str, float], Fitted]:
        clock = _Clock()
        rows = ArrayRows(np.load(path, mmap_mode="r"))
        result = ghhc.fit(Data({"features": rows}), params, clock, threads=THREADS)
        return dict(clock.seconds), result

    took = measured(fit, runs=1, threads=THREADS)
    seconds, result = took.result
    report.row(
        "hyperbolic",
        n=case.n_points,
        d=case.n_features,
        nodes=case.n_nodes,
        steps=case.n_steps,
        processes=case.processes,
        s_per_1000_steps=1000 * seconds[_MOVING] / case.n_steps,
        reading_s=seconds["reading features"] + seconds["reading points"],
        neighbours_s=seconds["neighbours"],
        seeds_s=sum(took for stage, took in seconds.items() if "seeds" in stage),
        placing_s=seconds["placing points"],
        wall_s=took.wall_s,
        peak_bytes=took.peak_bytes,
        cost_of_seeds=result.metrics["cost_of_seeds"],
        cost=result.metrics["cost"],
        threads=THREADS,
    )
    return took.peak_bytes


def _write(path: Path, case: Case) -> None:
    """Write float32 points of a two-level mixture: around centres that are around centres."""
    rng = np.random.default_rng(0)
    shape = (case.n_points, case.n_features)
    high = rng.standard_normal((30, case.n_features), dtype=np.float32)
    low = rng.standard_normal((_GROUPS, case.n_features), dtype=np.float32)
    low = 0.7 * low + high[rng.integers(30, size=_GROUPS)]
    points = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    for start in range(0, case.n_points, 1 << 15):
        rows = points[start : start + (1 << 15)]
        rows[:] = rng.standard_normal(rows.shape, dtype=np.float32)
        rows *= 0.7
        rows += low[rng.integers(_GROUPS, size=len(rows))]
    points.flush()
