"""How a run climbs its objective, and the state of a run that a checkpoint keeps.

EM, variational inference (over rows, a hierarchy or time) and the batch versions of both differ in
what an iteration does. When a run is saved and when it ends is decided here, once for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from models.arrays import Arrays, Float
from models.running.progress import Progress, subprogress


class ParameterEstimate(Protocol):
    """What a run improves: a mixture, or a posterior with its priors. Immutable."""

    def arrays(self, prefix: str = "") -> dict[str, Float]: ...


E = TypeVar("E", bound=ParameterEstimate)
C = TypeVar("C", bound="Climb[Any]")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Climb(Generic[E]):
    """A run, under way or ended.

    objective : after each iteration; once the run has ended, the last value is that of `estimate`.
    ended : whether it converged.
    reseeded : number of clusters that lost their rows and got a new mean; None where that never
        happens.
    """

    estimate: E
    objective: tuple[float, ...] = ()
    ended: bool = False
    reseeded: int | None = None

    @property
    def gain(self) -> float:
        """The rise of the objective in the last iteration; infinite in the first one."""
        return self.objective[-1] - self.objective[-2] if len(self.objective) > 1 else np.inf

    def reached(self: C, objective: float) -> C:
        """The same run with the objective of one more iteration."""
        return replace(self, objective=(*self.objective, objective))

    def arrays(self, prefix: str) -> dict[str, Float]:
        """The state of the run for a checkpoint; the names begin with `prefix`."""
        reseeded = [] if self.reseeded is None else [float(self.reseeded)]
        return {
            **self.estimate.arrays(prefix),
            f"{prefix}objective": np.array(self.objective),
            f"{prefix}facts": np.array([float(self.ended), *reseeded]),
        }


def restored(read: Callable[[Arrays, str], E], arrays: Arrays, prefix: str) -> Climb[E] | None:
    """The run saved by `Climb.arrays`, its estimate read by `read`; None if there is none."""
    if f"{prefix}objective" not in arrays:
        return None
    ended, *reseeded = arrays[f"{prefix}facts"].tolist()
    return Climb(
        read(arrays, prefix),
        tuple(arrays[f"{prefix}objective"].tolist()),
        bool(ended),
        int(reseeded[0]) if reseeded else None,
    )


@dataclass(frozen=True, slots=True)
class Iteration(Generic[C]):
    """The outcome of one iteration.

    run : the run with the objective of this iteration.
    gain : the rise that is tested for convergence.
    advance : gives the run that the next iteration starts from; called only if there is one.
    unsettled : whether the run continues however small the gain.
    on_trial : whether the next iteration may undo the result of `advance`, which is then not saved.
    """

    run: C
    gain: float
    advance: Callable[[], C]
    unsettled: bool = False
    on_trial: bool = False


def climb(
    run: C,
    iterate: Callable[[C, Progress], Iteration[C]],
    *,
    least_gain: float,
    max_iter: int,
    progress: Progress,
    save: Callable[[C], None],
    unit: str = "iteration",
) -> C:
    """The run after it converged, or after `max_iter` iterations in all.

    It has converged when an iteration gains at most `least_gain`. save : called with the run after
    each iteration but the last. unit : the name of an iteration in progress messages.
    """
    while True:
        n_done = len(run.objective)
        start, stop = (n / (max_iter + 1) for n in (n_done, n_done + 1))
        iteration = iterate(run, subprogress(progress, start, stop, f"{unit} {n_done + 1}"))
        run = iteration.run
        converged = iteration.gain <= least_gain and not iteration.unsettled
        if converged or len(run.objective) >= max_iter:
            return replace(run, ended=converged)
        run, on_trial = iteration.advance(), iteration.on_trial
        # Its arrays are as large as the run's.
        del iteration
        if not on_trial:
            save(run)


def alternating(
    expect: Callable[[E, Progress], tuple[S, float]], update: Callable[[E, S], E]
) -> Callable[[Climb[E], Progress], Iteration[Climb[E]]]:
    """Iterations of coordinate ascent.

    expect : gives the sums over rows under an estimate, and the objective.
    update : gives the best estimate for given sums, starting from the previous one.
    """

    def iterate(run: Climb[E], progress: Progress) -> Iteration[Climb[E]]:
        sums, objective = expect(run.estimate, progress)
        after = run.reached(objective)

        def advance() -> Climb[E]:
            return replace(after, estimate=update(after.estimate, sums))

        return Iteration(after, after.gain, advance)

    return iterate
