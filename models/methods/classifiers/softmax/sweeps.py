"""Block descent on a bound of the objective: the weights of all classes, then the shifts of rows.

The thesis's algorithm 2. A sweep minimises the bound F(W, a) over the weights W, each class by
itself, and then over the shifts a, each row by itself. F never rises.

With `centering`, the mean of all weights is taken from each between the two halves. Neither the
loss nor F's cells change by it (see `bounds`), and the penalty falls: the minimum has mean zero.
Block descent alone takes this direction in steps that are tiny, as all classes move together in it
and each is held back by the shifts. With `anderson`, the shifts that the next sweep starts from are
extrapolated as well; a sweep from them that ends its first half above F is undone, and the next
one starts from the shifts that were not extrapolated.

Sweeps end where J (or the least of F over shifts, if the bound is loose) is shown to be within
`tol` of its minimum (`objective.gap`). The thesis's criterion, the norm of F's gradient between the
halves, is |1 - sum_k slope_ik| over the rows i: a half-sweep gains at least about C / 2 times its
square, so that the gap, which costs as much as a step, is computed only once that is small.

Source: Gopal, "Large-scale Structured Learning" (2014), §4.3, algorithm 2. Its norm is printed as
that of a sum over rows, whose terms cancel.

Cost of a sweep: two to five steps of Newton's method for each class (`bounds`), for double
majorization also O(N D K). Memory: the weights 16 times, preconditioners twice, 25 values a row and
7 arrays of the scores of a block of classes.

`Anderson` gives the point that the next step of a fixed-point iteration starts from, by Anderson's
mixing. It takes the affine combination of the last steps x_j -> g(x_j) whose residuals g(x_j) - x_j
cancel best, and mixes the g(x_j) in the same shares. It does not make any objective fall by itself:
the caller checks the step from the mixed point, and calls `clear` if it undoes the step.

Source of the mixing: Walker and Ni, "Anderson Acceleration for Fixed-Point Iterations" (2011). Its
cost: O(n m^2) for m of `DEPTH` steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from models.arrays import Array, Arrays, Float
from models.method import Checkpoint
from models.methods.classifiers.softmax.bounds import (
    BlockProblem,
    Bound,
    Preconditioner,
    minimize_block,
)
from models.methods.classifiers.softmax.objective import (
    Curve,
    Effort,
    Minimum,
    SoftmaxObjective,
    gap,
    newton_steps,
)
from models.running.progress import Progress

DEPTH = 10
"""Steps that are remembered, besides the last. From 5 to 20 make little difference."""

LEAST_SINGULAR = 1e-10
"""Singular values of the differences below this share of the largest are left out."""


class Anderson:
    """The last steps of an iteration in n numbers.

    points, images : rows of (n,).
    """

    def __init__(self, points: Iterable[Array] = (), images: Iterable[Array] = ()) -> None:
        self.points: list[Array] = list(points)
        self.images: list[Array] = list(images)

    def mixed(self, point: Float, image: Float) -> Float:
        """The next point, after a step from `point` to `image`, which are remembered."""
        self.points = [*self.points, point][-DEPTH - 1 :]
        self.images = [*self.images, image][-DEPTH - 1 :]
        if len(self.points) == 1:
            return image
        images = np.array(self.images)
        residuals = images - np.array(self.points)
        shares, *_ = np.linalg.lstsq(
            np.diff(residuals, axis=0).T, residuals[-1], rcond=LEAST_SINGULAR
        )
        return np.asarray(image - shares @ np.diff(images, axis=0))

    def clear(self) -> None:
        """Forget all steps."""
        self.points, self.images = [], []


Acceleration: TypeAlias = Literal["none", "centering", "anderson"]

CLASS_SHARE = 0.1
"""The norm of the gradient that the classes together may leave, as a share of the final one."""

MOST_NEWTON = 5
"""Steps of Newton's method on J that try to end sweeps."""

FURTHEST = 30.0
"""Extrapolated shifts farther than this from the others would overflow, and are not used."""


@dataclass(slots=True)
class _State:
    """Where block descent stands.

    weights : (n_classes, n_columns). shift : (n_rows,) that the next sweep starts from. tight :
        (n_rows,) the tightest for the weights; equal to `shift` unless that is extrapolated.
    bound, objective : F and J at weights and tight.
    """

    weights: Float
    shift: Float
    tight: Float
    bound: float
    objective: float
    n_sweeps: int = 0
    steps: Anderson = field(default_factory=Anderson)
    curves: dict[str, Curve] = field(
        default_factory=lambda: {"bound": [], "objective": [], "gradient": []}
    )

    @property
    def extrapolated(self) -> bool:
        return self.shift is not self.tight

    def arrays(self) -> Arrays:
        """The state for a checkpoint."""
        return {
            "weights": self.weights,
            "shift": self.shift,
            "tight": self.tight,
            "facts": np.array(
                [self.bound, self.objective, float(self.n_sweeps), float(self.extrapolated)]
            ),
            "points": _stacked(self.steps.points, self.shift.size),
            "images": _stacked(self.steps.images, self.shift.size),
            **{
                f"curve.{name}": np.array(curve).reshape(-1, 2)
                for name, curve in self.curves.items()
            },
        }

    @staticmethod
    def of(arrays: Arrays) -> _State:
        bound, objective, n_sweeps, extrapolated = arrays["facts"].tolist()
        tight = np.array(arrays["tight"])
        return _State(
            np.array(arrays["weights"]),
            np.array(arrays["shift"]) if extrapolated else tight,
            tight,
            bound,
            objective,
            int(n_sweeps),
            Anderson(arrays["points"], arrays["images"]),
            {name.removeprefix("curve."): [(int(step), value) for step, value in array.tolist()]
             for name, array in arrays.items() if name.startswith("curve.")},
        )  # fmt: skip


def _stacked(rows: list[Array], width: int) -> Array:
    return np.array(rows).reshape(-1, width)


def descend(
    objective: SoftmaxObjective,
    bound: Bound,
    acceleration: Acceleration,
    effort: Effort,
    progress: Progress,
    checkpoint: Checkpoint,
) -> Minimum:
    """The minimum of a bound over weights and shifts.

    Curves: `bound`, F after each half of a sweep (numbered from 1; an undone sweep has none);
    `objective`, J after each sweep; `gradient`, the norm of F's gradient between the halves.
    """
    saved = checkpoint.load()
    descent = _Descent(objective, bound, acceleration, effort, progress)
    state = descent.start() if saved is None else _State.of(saved)
    norm = np.inf
    while state.n_sweeps < effort.max_iter:
        if _renews(state.n_sweeps):
            if state.n_sweeps:
                checkpoint.save(state.arrays())
            descent.renew(state)
        if not descent.sweep(state):
            continue
        if descent.nearly(state):
            norm = descent.gradient_norm(state)
            if gap(norm) <= effort.tol * abs(state.bound):
                break
            if bound.exact and _renews(state.n_sweeps) and (objective.units != 1.0).any():
                # Sweeps see no further than the rounding of F, which is coarse for large units.
                for weights, value, gradient in newton_steps(objective, state.weights, MOST_NEWTON):
                    if objective.gap(gradient) <= effort.tol * abs(value):
                        norm, state.weights = objective.norm(gradient), weights
                        state.bound = state.objective = value
                        break
                if gap(norm) <= effort.tol * abs(state.bound):
                    break
    else:
        norm = descent.gradient_norm(state)
    return Minimum(
        objective.plain(state.weights),
        state.bound,
        state.objective,
        norm,
        state.n_sweeps,
        gap(norm) <= effort.tol * abs(state.bound),
        state.curves,
    )


def _renews(n_sweeps: int) -> bool:
    """Whether preconditioners are made anew after this number of sweeps.

    What a resumed fit does depends on the saved state alone if it is saved just then.
    """
    return n_sweeps in (0, 1, 2, 4, 7) or n_sweeps % 10 == 0


@dataclass(slots=True)
class _Descent:
    objective: SoftmaxObjective
    bound: Bound
    acceleration: Acceleration
    effort: Effort
    progress: Progress
    preconditioners: list[Preconditioner] = field(default_factory=list)

    def start(self) -> _State:
        """All weights 0, with the tightest shifts for that."""
        n_rows, weights = self.objective.n_rows, self.objective.zeros()
        shift = np.full(n_rows, self.bound.first_shift(self.objective.n_classes))
        slopes = np.ones(n_rows)
        tightened = self.bound.tightened(self.objective, weights, shift, slopes)
        C = self.objective.C
        return _State(weights, shift, shift, C * tightened.log_bound, C * tightened.log_sum)

    def renew(self, state: _State) -> None:
        """Make the preconditioners anew."""
        self.preconditioners = []
        for classes in self.objective.class_blocks():
            self._report(state.n_sweeps, f"sweep {state.n_sweeps + 1}")
            self.preconditioners.append(
                Preconditioner.at(
                    self._block(classes, state.shift),
                    state.weights[classes],
                    self.objective.n_classes,
                )
            )

    def sweep(self, state: _State) -> bool:
        """One sweep, in place; False if it was undone."""
        objective, number = self.objective, state.n_sweeps
        state.n_sweeps += 1
        weights, slopes = np.empty_like(state.weights), np.zeros(objective.n_rows)
        value = 0.0
        floor = self._class_floor(state)
        for classes, preconditioner in zip(
            objective.class_blocks(), self.preconditioners, strict=True
        ):
            self._report(number, f"sweep {number + 1}")
            step = minimize_block(
                self._block(classes, state.shift), state.weights[classes], preconditioner, floor
            )
            weights[classes] = step.weights
            slopes += step.slopes
            value += step.value
        half = value + objective.C * float((state.shift + self.bound.offset).sum())
        if state.extrapolated and not half <= state.bound:
            state.shift = state.tight
            state.steps.clear()
            return False
        shift = state.shift
        if self.acceleration != "none":
            mean = weights.mean(axis=0)
            weights -= mean
            shift = shift - np.asarray(objective.design @ mean)
        tightened = self.bound.tightened(objective, weights, shift, slopes)
        linear = objective.linear(weights)
        state.weights, state.tight = weights, tightened.shift
        state.bound = linear + objective.C * tightened.log_bound
        state.objective = linear + objective.C * tightened.log_sum
        state.curves["bound"] += [(2 * number + 1, half), (2 * number + 2, state.bound)]
        state.curves["objective"].append((number + 1, state.objective))
        state.curves["gradient"].append(
            (number + 1, objective.C * float(np.linalg.norm(1.0 - slopes)))
        )
        state.shift = state.tight
        if self.acceleration == "anderson":
            mixed = state.steps.mixed(shift, state.tight)
            if np.abs(mixed - state.tight).max() <= FURTHEST:
                state.shift = mixed
        return True

    def nearly(self, state: _State) -> bool:
        """Whether the last half-sweep gained no more than the gap may be."""
        last = state.curves["gradient"][-1][1]
        return 0.5 * last**2 / self.objective.C <= self.effort.tol * abs(state.bound)

    def gradient_norm(self, state: _State) -> float:
        """The norm of the gradient, in the weights, of F at its least over the shifts."""
        total = 0.0
        for classes in self.objective.class_blocks():
            block, weights = self._block(classes, state.tight), state.weights[classes]
            slopes = self.bound.cells(block.gaps(weights)).slope
            gradient = block.gradient(weights, slopes, np.arange(len(weights)))
            total += self.objective.norm(gradient) ** 2
        return float(np.sqrt(total))

    def _block(self, classes: slice, shift: Float) -> BlockProblem:
        objective = self.objective
        return BlockProblem(
            objective.design,
            objective.class_sums[classes],
            shift,
            self.bound,
            objective.C,
            objective.ridge,
        )

    def _class_floor(self, state: _State) -> float:
        """The norm of a class's gradient that the final gap allows with room to spare."""
        final = np.sqrt(2.0 * self.effort.tol * abs(state.bound))
        return float(
            CLASS_SHARE * final / np.sqrt(self.objective.n_classes) / self.objective.units.max()
        )

    def _report(self, n_done: int, message: str) -> None:
        self.progress(n_done / self.effort.max_iter, "sweeps", message)
