"""Sweeps over weights and precisions until they settle, with checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from models.arrays import Arrays
from models.method import Checkpoint
from models.running.progress import Progress, held_progress

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Sweep(Generic[S]):
    """The outcome of one sweep.

    state : what the next one starts from. values : of the curve, one for each half-step.
    change : how far the sweep moved; 0 at a fixed point.
    """

    state: S
    values: tuple[float, ...]
    change: float


class Inference(Protocol[S]):
    """What is repeated."""

    def first(self) -> S:
        """The state before the first sweep."""
        ...

    def sweep(self, state: S, progress: Progress) -> Sweep[S]: ...

    def arrays(self, state: S) -> Arrays:
        """All of the state, for a checkpoint."""
        ...

    def restored(self, arrays: Arrays) -> S: ...


@dataclass(frozen=True, slots=True)
class Alternation(Generic[S]):
    """Sweeps that were made.

    curve : all their values. changes : of each sweep.
    """

    state: S
    curve: tuple[float, ...] = ()
    changes: tuple[float, ...] = ()

    @property
    def n_sweeps(self) -> int:
        return len(self.changes)

    def settled(self, tol: float) -> bool:
        return bool(self.changes) and self.changes[-1] <= tol


def alternated(
    inference: Inference[S], tol: float, max_iter: int, progress: Progress, checkpoint: Checkpoint
) -> Alternation[S]:
    """Sweeps until one changes at most `tol`, or `max_iter` in all.

    Goes on from the checkpoint, which is saved after each sweep.
    """
    done = _restored(inference, checkpoint.load())
    whole, within = held_progress(progress)
    reached = 0.0
    while done.n_sweeps < max_iter and not done.settled(tol):
        reached = max(reached, _share_done(done, tol, max_iter))
        whole(reached, "sweeps", f"sweep {done.n_sweeps + 1}")
        sweep = inference.sweep(done.state, within)
        done = replace(
            done,
            state=sweep.state,
            curve=(*done.curve, *sweep.values),
            changes=(*done.changes, sweep.change),
        )
        checkpoint.save(
            {
                **inference.arrays(done.state),
                "curve": np.array(done.curve),
                "changes": np.array(done.changes),
            }
        )
    return done


def _restored(inference: Inference[S], arrays: Arrays | None) -> Alternation[S]:
    if arrays is None:
        return Alternation(inference.first())
    curve, changes = (tuple(arrays[name].tolist()) for name in ("curve", "changes"))
    return Alternation(inference.restored(arrays), curve, changes)


def _share_done(done: Alternation[S], tol: float, max_iter: int) -> float:
    """By the number of sweeps, or as if changes shrank by a constant factor to `tol`."""
    by_number = done.n_sweeps / max_iter
    if not done.changes or done.changes[0] <= tol:
        return by_number
    shrunk = np.log(done.changes[0] / max(done.changes[-1], tol)) / np.log(done.changes[0] / tol)
    return max(by_number, float(shrunk))
