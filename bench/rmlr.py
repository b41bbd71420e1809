"""Ways to minimise multiclass logistic regression: the distance from the optimum by iteration and
by time, as in figures 4.2 and 4.3 of their source.

Features are standardised, with a constant column, and C = 1. `after_n`: the relative difference of
the true objective from its minimum after n iterations; `in_1s`: after a second, on one thread.
`to_1e6` and `to_1e6_s`: the iterations and seconds until it is 1e-6. Iterations are sweeps over all
classes for LC (log-concavity), DM (double majorization) and ADMM, steps for the others. 'LC joint'
is L-BFGS on the weights and shifts of LC's convex bound together. scikit-learn reports only its
end: its figures are from the loosest of several tolerances that reaches the difference.

Result: LC as published needs hundreds of sweeps or more. With its weights centred after each sweep
it needs tens to hundreds, with Anderson's mixing on top 10 to 40; jointly with the shifts it is the
slowest of all. L-BFGS on the weights alone is the fastest in time. DM ends 5 to 25 per cent above
the optimum.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.5.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from threadpoolctl import threadpool_limits

from bench import Size, real_data
from bench.report import Report
from models.arrays import Array, Float, Int
from models.method import Checkpoint
from models.methods.classifiers.softmax.admm import minimize_by_splitting
from models.methods.classifiers.softmax.bounds import BOUNDS
from models.methods.classifiers.softmax.objective import (
    Effort,
    Minimum,
    SoftmaxObjective,
    by_gap,
    minimize_jointly,
)
from models.methods.classifiers.softmax.sweeps import Acceleration, descend
from models.running.progress import Progress, silent

SETS: dict[Size, tuple[str, ...]] = {
    "quick": ("glass", "vehicle"),
    "default": ("glass", "vehicle", "segment", "ImCLEF07A"),
    "full": ("glass", "vehicle", "segment", "letter", "pendigits", "20ng3000", "ImCLEF07A"),
}
MOST_ITERATIONS: dict[Size, int] = {"quick": 300, "default": 300, "full": 3000}
TOLERANCE = 1e-8
ITERATIONS = (10, 30, 100, 300)
SECONDS = (0.1, 1.0, 10.0)
DIFFERENCES = (1e-4, 1e-6)


@dataclass(frozen=True, slots=True)
class Path:
    """An algorithm's way: after iteration n + 1, the seconds so far and the objective."""

    seconds: Float
    objective: Float


@dataclass(slots=True)
class _Clock:
    """A progress that notes when each number of iterations was reached."""

    max_iter: int
    began: float
    reached: dict[int, float]

    def __call__(self, fraction: float, stage: str, message: str = "") -> None:
        now = time.perf_counter() - self.began
        self.reached.setdefault(round(fraction * self.max_iter), now)


def table(report: Report, size: Size) -> None:
    for name in SETS[size]:
        rows = standardised(name)
        if rows is None:
            report.left_out("rmlr", name)
            continue
        with threadpool_limits(1):
            _compare(report, name, *rows, MOST_ITERATIONS[size])


def standardised(name: str) -> tuple[Float, Int] | None:
    """Features with mean 0 and deviation 1, a constant column, and class codes."""
    files = {"ImCLEF07A": "ImCLEF07A_Train.arff", "20ng3000": "20ng3000_minilm.npy"}
    path = real_data(files.get(name, f"bench_{name}.npz"))
    if path is None:
        return None
    if path.suffix == ".arff":
        lines = path.read_text().partition("@DATA\n")[2].split()
        features = np.array([line.split(",")[:-1] for line in lines], dtype=np.float64)
        labels = np.array([line.rpartition("@")[2] for line in lines])
    elif path.suffix == ".npy":
        features = np.load(path).astype(np.float64)
        labels = np.load(path.with_name("20ng3000_labels.npy"))
    else:
        with np.load(path, allow_pickle=True) as arrays:
            features, labels = arrays["X"].astype(np.float64), arrays["y"]
    deviation = features.std(axis=0)
    deviation[deviation == 0] = 1.0
    features = (features - features.mean(axis=0)) / deviation
    code = np.unique(labels, return_inverse=True)[1]
    return np.column_stack([features, np.ones(len(features))]), code


def _compare(report: Report, name: str, design: Float, code: Int, max_iter: int) -> None:
    objective = SoftmaxObjective(design, code, int(code.max()) + 1, 1.0)
    ends = by_gap(objective, 1e-12)
    least = minimize_jointly(objective, ends, 20_000, silent, Checkpoint()).objective
    rows = ((called, _columns(path, least)) for called, path in _paths(objective, least, max_iter))
    for called, columns in chain(rows, [("scikit-learn", scikit_learn(objective, least))]):
        report.row(
            "rmlr",
            what=f"{name}: {called}",
            n=objective.n_rows,
            columns=objective.n_columns,
            classes=objective.n_classes,
            **columns,
        )


def _columns(path: Path, least: float) -> dict[str, float | int | None]:
    difference = np.maximum(path.objective / least - 1.0, 0.0)
    columns: dict[str, float | int | None] = {}
    for n in ITERATIONS:
        columns[f"after_{n}"] = _at(difference, n)
    for seconds in SECONDS:
        columns[f"in_{seconds:g}s"] = _at(difference, int((path.seconds <= seconds).sum()))
    for wanted in DIFFERENCES:
        near = np.flatnonzero(difference <= wanted)
        first = (int(near[0]) + 1, float(path.seconds[near[0]])) if near.size else None
        columns |= _reached(wanted, first)
    return {**columns, "end": float(difference[-1])}


def _reached(wanted: float, first: tuple[int, float] | None) -> dict[str, float | int | None]:
    """The columns of the iterations and seconds to a difference; None if it was not reached."""
    name = f"to_{wanted:.0e}".replace("e-0", "e")
    n_iter, seconds = first or (None, None)
    return {name: n_iter, f"{name}_s": seconds}


def _at(difference: Float, number: int) -> float | None:
    """The difference after so many iterations, or at the end if that came before."""
    return float(difference[min(number, len(difference)) - 1]) if number else None


def _paths(objective: SoftmaxObjective, least: float, max_iter: int) -> Iterator[tuple[str, Path]]:
    effort = Effort(TOLERANCE, max_iter)

    def sweeps(bound: str, acceleration: Acceleration) -> Callable[[Progress], Minimum]:
        return lambda progress: descend(
            objective, BOUNDS[bound], acceleration, effort, progress, Checkpoint()
        )

    yield "LC", _followed(sweeps("log-concavity", "none"), max_iter)
    yield "LC centering", _followed(sweeps("log-concavity", "centering"), max_iter)
    yield "LC anderson", _followed(sweeps("log-concavity", "anderson"), max_iter)
    yield "LC joint", joint(objective, least, max_iter)
    yield "DM anderson", _followed(sweeps("double-majorization", "anderson"), max_iter)
    yield (
        "ADMM",
        _followed(
            lambda progress: minimize_by_splitting(objective, effort, progress, Checkpoint()),
            max_iter,
        ),
    )
    yield (
        "L-BFGS",
        _followed(
            lambda progress: minimize_jointly(
                objective, by_gap(objective, TOLERANCE), max_iter, progress, Checkpoint()
            ),
            max_iter,
        ),
    )


def _followed(minimize: Callable[[Progress], Minimum], max_iter: int) -> Path:
    clock = _Clock(max_iter, time.perf_counter(), {})
    minimum = minimize(clock)
    end = time.perf_counter() - clock.began
    steps, values = zip(*minimum.curves["objective"], strict=True)
    # Sweeps that were undone have no value of their own.
    objective = np.interp(np.arange(1, minimum.n_iter + 1), steps, values)
    seconds = [clock.reached.get(n, end) for n in range(1, minimum.n_iter + 1)]
    return Path(np.array(seconds), objective)


def joint(objective: SoftmaxObjective, least: float, max_iter: int) -> Path:
    """L-BFGS on LC's bound in weights and shifts at once.

    Every step is followed by the true objective, whose time is not counted.
    """
    from scipy.optimize import OptimizeResult, minimize

    K, Q, N = objective.n_classes, objective.n_columns, objective.n_rows
    C, design, sums = objective.C, objective.design, objective.class_sums
    seconds: list[float] = []
    values: list[float] = []
    spent = 0.0

    def evaluate(flat: Array) -> tuple[float, Array]:
        nonlocal spent
        began = time.perf_counter()
        weights, shift = flat[: K * Q].reshape(K, Q), flat[K * Q :]
        with np.errstate(over="ignore"):
            cells = np.exp(design @ weights.T - shift[:, None])
        rows = cells.sum(axis=1)
        value = objective.linear(weights) + C * float((rows + shift - 1.0).sum())
        gradient = weights + C * (np.asarray(cells.T @ design) - sums)
        spent += time.perf_counter() - began
        return value, np.concatenate([gradient.ravel(), C * (1.0 - rows)])

    def after_step(intermediate_result: OptimizeResult) -> None:
        seconds.append(spent)
        values.append(objective.value(intermediate_result.x[: K * Q].reshape(K, Q)))
        if values[-1] <= least * (1.0 + DIFFERENCES[-1] / 10):
            raise StopIteration

    start = np.concatenate([np.zeros(K * Q), np.full(N, np.log(K))])
    minimize(
        evaluate,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=after_step,
        options={"maxcor": 10, "maxiter": max_iter, "maxfun": 10**6, "ftol": 0.0, "gtol": 0.0},
    )
    return Path(np.array(seconds), np.array(values))


def scikit_learn(objective: SoftmaxObjective, least: float) -> dict[str, float | int | None]:
    """The columns of LogisticRegression, from fits with smaller and smaller tolerances."""
    from sklearn.linear_model import LogisticRegression

    columns: dict[str, float | int | None] = {f"after_{n}": None for n in ITERATIONS}
    columns |= {f"in_{seconds:g}s": None for seconds in SECONDS}
    for wanted in DIFFERENCES:
        difference, exponent = np.inf, 1
        while difference > wanted and exponent < 12:
            exponent += 1
            model = LogisticRegression(
                fit_intercept=False, C=objective.C, tol=10.0**-exponent, max_iter=20_000
            )
            began = time.perf_counter()
            model.fit(objective.design, objective.code)
            seconds = time.perf_counter() - began
            difference = max(objective.value(np.asarray(model.coef_)) / least - 1.0, 0.0)
        columns |= _reached(wanted, (int(model.n_iter_[0]), seconds))
    return {**columns, "end": difference}
