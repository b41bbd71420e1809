"""A comparison: several methods and seeds on the same inputs, each measured, as one table.

Every run with one seed is a piece of the job, so several workers share the runs. A run that fails
has its problem in the table and the others go on.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from models.arrays import Arrays
from models.data import Value
from models.errors import UsageError
from models.method import Crew, Piece
from models.progress import Progress
from models.registry import method
from workers.child.fit import Plan, run_plan
from workers.errors import problem_of
from workers.model import Step

MEASURED_ON = ("labels", "hierarchy")
"""Inputs that metrics look at and methods are not given."""


class Contender(BaseModel):
    """One row of the table: a method with its parameters."""

    model_config = ConfigDict(frozen=True)

    method: str
    params: dict[str, Any] = {}
    preprocess: tuple[dict[str, Any], ...] = ()
    then: Step | None = None

    @property
    def draws(self) -> bool:
        """Whether a step of it takes a seed."""
        steps = [self.method, *([] if self.then is None else [self.then.method])]
        return any("seed" in method(one).Params.model_fields for one in steps)

    def plan(self, seed: int) -> Plan:
        """With so much added to each step's seed."""
        then = self.then
        if then is not None:
            then = Step(method=then.method, params=_seeded(then.params, seed))
        return Plan(self.method, _seeded(self.params, seed), self.preprocess, then)


def _seeded(params: dict[str, Any], seed: int) -> dict[str, Any]:
    return {**params, "seed": params["seed"] + seed} if "seed" in params else params


class Asked(BaseModel):
    """What is to be compared: `workers.model.Request.options` of a comparison.

    seeds : how often a method that draws is run. metrics, cut : as of an evaluation.
    """

    model_config = ConfigDict(frozen=True)

    runs: tuple[Contender, ...]
    seeds: int = 5
    metrics: tuple[str, ...] | None = None
    cut: dict[str, Any] | None = None

    def pieces(self) -> list[Piece]:
        return [
            {"run": number, "seed": seed}
            for number, one in enumerate(self.runs)
            for seed in range(self.seeds if one.draws else 1)
        ]


class Bench:
    """Computes runs on the inputs."""

    def __init__(self, asked: Asked, values: dict[str, Value], threads: int) -> None:
        self._asked, self._values, self._threads = asked, values, threads

    def compute(self, piece: Piece, progress: Progress) -> Arrays:
        """One run with one seed; its figures as JSON in an array of bytes."""
        run = self._asked.runs[int(piece["run"])]
        try:
            figures = self._run(run.plan(int(piece["seed"])), progress)
        except (UsageError, MemoryError) as error:
            figures = {"error": problem_of(error)}
        return {"figures": np.frombuffer(json.dumps(figures).encode(), dtype=np.uint8)}

    def _run(self, plan: Plan, progress: Progress) -> dict[str, Any]:
        from models.metrics.catalogue import METRICS, evaluate

        taken = method(plan.method).inputs
        given = {
            role: value
            for role, value in self._values.items()
            if role in taken and role not in MEASURED_ON
        }

        began = time.perf_counter()
        done = run_plan(plan, given, progress, self._threads)
        seconds = time.perf_counter() - began

        truth: dict[str, Any] = {
            role: value for role, value in self._values.items() if role in MEASURED_ON
        }
        # Distances between all rows are not measured unless a metric that is asked for needs them.
        needed = {role for name in self._asked.metrics or () if name in METRICS
                  for role in METRICS[name].needs}  # fmt: skip
        for role in ("features", "distances", "similarity"):
            if role in self._values and (role in needed or not truth):
                truth[role] = self._values[role]
        measured = evaluate(
            done.fitted.tree,
            **truth,
            metrics=self._asked.metrics,
            cut=self._asked.cut,
            measured=done.metrics,
        )
        return {
            "seconds": seconds,
            "metrics": {
                name: value
                for name, value in measured.metrics.items()
                if value is not None and math.isfinite(value)
            },
            "warnings": [*done.warnings, *measured.warnings],
        }


def compare(asked: Asked, crew: Crew) -> dict[str, Any]:
    """The table, a row for each run, and which row is best by each metric."""
    pieces = asked.pieces()
    found: list[dict[str, Any]] = [{}] * len(pieces)
    for number, arrays in crew.compute(pieces):
        found[number] = json.loads(arrays["figures"].tobytes())
    table = []
    for number, group in groupby(
        zip(pieces, found, strict=True), key=lambda pair: int(pair[0]["run"])
    ):
        table.append(_row(asked.runs[number], [figures for _, figures in group]))
    return {"table": table, "best": _best(table)}


def _row(run: Contender, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    good = [figures for figures in found if "error" not in figures]
    names = list(dict.fromkeys(name for figures in good for name in figures["metrics"]))
    values = {name: [one["metrics"][name] for one in good if name in one["metrics"]]
              for name in names}  # fmt: skip
    seconds = [figures["seconds"] for figures in good]
    failed = next((figures["error"] for figures in found if "error" in figures), None)
    return {
        **run.model_dump(mode="json"),
        "seeds": len(found),
        "metrics": {name: _spread(one) for name, one in values.items()},
        "values": values,
        "seconds": _spread(seconds) if seconds else None,
        "warnings": list(dict.fromkeys(note for figures in good for note in figures["warnings"])),
        "error": failed,
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    """Mean, and standard deviation of the sample; 0 of a single value."""
    return {
        "mean": statistics.fmean(values),
        "std": statistics.stdev(values) if len(values) > 1 else 0.0,
    }


def _best(table: Sequence[dict[str, Any]]) -> dict[str, int]:
    """By metric the number of the first row with the best mean, of those that ran with all seeds;
    metrics of which no value is better than another have none."""
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
