"""The turns of classes and inner nodes, and what is kept between them.

Weights that a sweep starts from are kept as `CompressedRows`, on a tree what nodes add to their
parents', and with the hinge loss the dual
variables of the classes. A sweep is saved when it ends, and a lost worker costs its block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.arrays import Arrays
from models.method import Checkpoint, Run
from models.methods.classifiers.classes.classifier import Trained
from models.methods.classifiers.classes.compressed import CompressedRows
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import PathSums
from models.methods.classifiers.recursive.blocks.block import (
    BlockedClasses,
    dual_sum,
    first_row,
    under,
)
from models.methods.classifiers.recursive.blocks.inner_nodes import InnerNodes
from models.methods.classifiers.recursive.inputs import Effort, LossName
from models.running.progress import Crew, Piece, Progress

FIRST_TOL = {"hinge": 0.1, "logistic": 1e-3}
"""How exactly the classes of the first sweep are trained, as a share of their objectives."""

TIGHTEST = 1e-3
"""The share of this that remains in the end."""

OF_CHANGE = 0.1
"""Where inner nodes search, how exactly classes are trained as a share of the last sweep's change:
more exact ones cost a second step each and lead no further."""


@dataclass(frozen=True)
class BlockFit:
    """The end of the sweeps.

    weights : of the classes, in their order. objectives : after each sweep.
    converged : whether the objective settled, as far as it does.
    rise : the share by which the last sweep raised it, if that ended the sweeps; else 0.
    """

    weights: PathSums
    objectives: list[float]
    converged: bool
    rise: float = 0.0


def minimize(
    problem: Problem,
    blocked: BlockedClasses,
    loss: LossName,
    effort: Effort,
    crew: Crew,
    progress: Progress,
    checkpoint: Checkpoint,
) -> BlockFit:
    """Sweeps end when one changes the objective by at most `tol` times it, or raises it although
    the classes are trained as exactly as they ever are and inner nodes tried no step, or after
    `max_iter`.

    The pieces are `block.piece`. Cost of a sweep: that of the classes, each O(nnz) times a few
    passes, and on a graph a copy of the compressed weights for each colour; memory a block's, and
    the weights of inner nodes, with the logistic loss on a tree about eight times.
    """
    state, converged, rise = State.start(problem, blocked, checkpoint), False, 0.0
    while not converged and len(state.objectives) < effort.max_iter:
        exact = _tightening(len(state.objectives)) == TIGHTEST
        objective = sweep(state, effort, FIRST_TOL[loss], crew, progress)
        previous = state.objectives[-1] if state.objectives else np.inf
        tried = state.inner.last is not None
        state.objectives.append(objective)
        converged = abs(previous - objective) <= effort.tol * objective
        if exact and not tried and not converged and objective > previous:
            converged, rise = True, (objective - previous) / objective
        if not converged and len(state.objectives) < effort.max_iter:
            state.move_inner()
            checkpoint.save(state.arrays())
    return BlockFit(state.class_weights(problem), state.objectives, converged, rise)


def _tightening(n_sweeps: int) -> float:
    """How exactly the next sweep trains its classes, as a share of the first one."""
    return float(max(TIGHTEST, 3.0**-n_sweeps))


def allowed(state: State, first_tol: float) -> float:
    """How exactly the next sweep trains its classes, as a share of their objectives."""
    objectives = state.objectives
    if state.inner.last is None or len(objectives) < 2:
        return first_tol * _tightening(len(objectives))
    change = abs(objectives[-2] / objectives[-1] - 1.0)
    return float(np.clip(OF_CHANGE * change, TIGHTEST * first_tol, first_tol))


def sweep(state: State, effort: Effort, first_tol: float, crew: Crew, progress: Progress) -> float:
    """Train each block once; returns the objective."""
    n_sweeps, n_blocks, n_done = len(state.objectives), len(state.blocked.blocks), 0
    tol, inner = allowed(state, first_tol), state.inner.penalty
    # In the order of blocks, whichever ends first: a kill must not change the sums' rounding.
    objectives = np.zeros(n_blocks)
    for blocks in state.blocked.turns:
        pieces: list[Piece] = [
            {
                "C": effort.C,
                "block": block,
                "sweep": n_sweeps,
                "tol": tol,
                "seed": effort.seed,
            }
            for block in blocks
        ]
        for number, arrays in crew.compute(pieces, state.shared()):
            objectives[blocks[number]] = state.keep(blocks[number], arrays)
            n_done += 1
            fraction = 1.0 - 1.0 / (1.0 + 0.2 * (n_sweeps + n_done / n_blocks))
            progress(fraction, "fitting", f"sweep {n_sweeps + 1}, block {n_done}/{n_blocks}")
    return inner + float(objectives.sum())


class State:
    """blocks : what each block keeps."""

    def __init__(self, blocked: BlockedClasses, inner: InnerNodes, objectives: list[float]) -> None:
        self.blocked, self.inner, self.objectives = blocked, inner, objectives
        self.blocks: list[Arrays] = [{} for _ in blocked.blocks]

    @classmethod
    def start(cls, problem: Problem, blocked: BlockedClasses, checkpoint: Checkpoint) -> State:
        saved, n_columns = checkpoint.load(), problem.n_columns
        if saved is None:
            return cls(blocked, InnerNodes.equal(blocked, first_row(problem)), [])
        inner = InnerNodes.of_arrays(blocked, saved, n_columns)
        state = cls(blocked, inner, saved["objectives"].tolist())
        state.blocks = [under(f"{block}.", saved) for block in range(len(state.blocks))]
        return state

    def shared(self) -> Arrays:
        """What the pieces of a turn read."""
        own = {
            f"{block}.{name}": array
            for block, kept in enumerate(self.blocks)
            for name, array in kept.items()
        }
        return {**self.inner.weights.arrays("inner."), **own}

    def arrays(self) -> Arrays:
        objectives = np.array(self.objectives)
        return {**self.shared(), **self.inner.arrays(), "objectives": objectives}

    def keep(self, block: int, arrays: Arrays) -> float:
        """Take what a piece returned; gives its part of the objective."""
        self.blocks[block] = {
            name: np.array(array)
            for name, array in arrays.items()
            if name.startswith(("dual.", "weights."))
        }
        self.inner.keep(block, arrays)
        return float(arrays["objective"][0])

    def move_inner(self) -> None:
        """Give the inner nodes the weights of the next sweep."""
        if self.inner.weights.n_rows:
            classes = None if self.blocked.nested else self._kept_weights()
            self.inner.move(classes)

    def _kept_weights(self) -> CompressedRows:
        """The weights of the classes, in their order."""
        n_columns = self.inner.weights.n_columns
        rows = [CompressedRows.of_arrays(kept, n_columns, "weights.") for kept in self.blocks]
        return self._in_order(rows)

    def _in_order(self, parts: list[CompressedRows]) -> CompressedRows:
        order = np.argsort(np.concatenate(self.blocked.blocks))
        return CompressedRows.stacked(parts, self.inner.weights.n_columns).take(order)

    def class_weights(self, problem: Problem) -> PathSums:
        """The weights of the classes as the last sweep left them, in their order."""
        if not self.blocked.nested:
            return PathSums.alone(self._kept_weights())
        inner, parent = self.inner.weights, self.blocked.class_parent
        if any("weights.start" in kept for kept in self.blocks):
            added = self._kept_weights()
        else:
            rows = (
                dual_sum(problem, kept, place, class_)
                for classes, kept in zip(self.blocked.blocks, self.blocks, strict=True)
                for place, class_ in enumerate(classes.tolist())
            )
            added = self._in_order([CompressedRows.of(rows, problem.n_columns)])
        return PathSums(
            CompressedRows.stacked([inner.own, added], problem.n_columns),
            np.concatenate([inner.parent, parent]),
            inner.n_rows + np.arange(parent.size),
        )


def train(
    problem: Problem,
    blocked: BlockedClasses,
    loss: LossName,
    effort: Effort,
    run: Run,
    warnings: tuple[str, ...] = (),
) -> Trained:
    """The classifier, which warns where the sweeps ended before the objective settled."""
    fit = minimize(problem, blocked, loss, effort, run.crew, run.progress, run.checkpoint)
    n_sweeps = len(fit.objectives)
    kept = (
        "Classes were trained in blocks: weights below a thousandth of a class's largest are left "
        "out, the others kept to three digits.",
    )
    unsettled = (f"Not settled after {n_sweeps} sweeps; raise 'max_iter' or 'tol'.",) * (
        not fit.converged
    )
    risen = (
        f"Sweeps ended when one raised the objective, by {fit.rise:.1g} of it: blocks are not "
        "exact enough for this 'tol'.",
    ) * (fit.rise > 0.0)
    return Trained(
        weights=fit.weights,
        link="softmax" if loss == "hinge" and problem.one_each else "logistic",
        metrics={"objective": fit.objectives[-1], "n_iter": float(n_sweeps)},
        curves={"objective": list(enumerate(fit.objectives))},
        warnings=(*warnings, *kept, *unsettled, *risen),
    )
