"""Coordinate ascent of a lower bound: a run of it, and how it climbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from models.arrays import Arrays, Float
from models.progress import Progress, subprogress


class Factors(Protocol):
    """q of all but the assignments, and the priors."""

    def arrays(self, prefix: str = "") -> dict[str, Float]: ...


Q = TypeVar("Q", bound=Factors)
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Ascent(Generic[Q]):
    """A run; `objective` is the lower bound after each iteration, the last one `posterior`'s."""

    posterior: Q
    objective: tuple[float, ...] = ()
    ended: bool = False

    def arrays(self, prefix: str) -> dict[str, Float]:
        return {
            **self.posterior.arrays(prefix),
            f"{prefix}objective": np.array(self.objective),
            f"{prefix}facts": np.array([float(self.ended)]),
        }


def restored(of: Callable[[Arrays, str], Q], arrays: Arrays, prefix: str) -> Ascent[Q] | None:
    """What `Ascent.arrays` kept, its posterior read by `of`; None where nothing was."""
    if f"{prefix}objective" not in arrays:
        return None
    objective = tuple(arrays[f"{prefix}objective"].tolist())
    return Ascent(of(arrays, prefix), objective, bool(arrays[f"{prefix}facts"][0]))


@dataclass(frozen=True, slots=True)
class Ladder(Generic[Q, S]):
    """How a run climbs.

    expect : a posterior's assignments, as what they sum to, and the lower bound with them.
    update : every other factor at its maximum given those.
    tol : of the bound's rise, in nats a row, of which there are `n_counted`.
    """

    expect: Callable[[Q, Progress], tuple[S, float]]
    update: Callable[[Q, S], Q]
    n_counted: float
    max_iter: int
    tol: float

    def climb(
        self, one: Ascent[Q], progress: Progress, save: Callable[[Ascent[Q]], None]
    ) -> Ascent[Q]:
        """Until the bound rises by no more than `tol` for each row."""
        posterior, objective, most = one.posterior, list(one.objective), self.max_iter
        while True:
            at = len(objective)
            within = subprogress(
                progress, at / (most + 1), (at + 1) / (most + 1), f"iteration {at + 1}"
            )
            sums, bound = self.expect(posterior, within)
            objective.append(bound)
            gain = objective[-1] - objective[-2] if at else np.inf
            ended = gain <= self.tol * self.n_counted
            if ended or len(objective) >= most:
                return Ascent(posterior, tuple(objective), ended)
            posterior = self.update(posterior, sums)
            save(Ascent(posterior, tuple(objective)))
