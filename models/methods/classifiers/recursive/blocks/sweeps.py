"""The turns of classes and inner nodes, and what is kept between them.

Weights that a sweep starts from are kept as `CompressedRows`, and with the hinge loss the dual
variables of the classes. A sweep is saved when it ends, and a lost worker costs its block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Int, row_blocks
from models.method import Checkpoint, Crew, Piece, Run
from models.methods.classifiers.classes.classifier import Trained
from models.methods.classifiers.classes.compressed import NEGLIGIBLE, CompressedRows
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.recursive.blocks.block import dual_sum, first_row, under
from models.methods.classifiers.recursive.blocks.blocked_classes import BlockedClasses
from models.methods.classifiers.recursive.inputs import Effort, LossName
from models.progress import Progress

MOST_VALUES = 1 << 23
"""Weights of inner nodes that are solved for at a time (64 MiB)."""

FIRST_TOL = {"hinge": 0.1, "logistic": 1e-3}
"""How exactly the classes of the first sweep are trained; each sweep a third of the one before."""

TIGHTEST = 1e-3
"""The share of this that remains in the end."""


@dataclass(frozen=True)
class BlockFit:
    """The end of the sweeps.

    weights : of the classes, in their order. objectives : after each sweep.
    converged : whether the objective settled, as far as it does.
    rise : the share by which the last sweep raised it, if that ended the sweeps; else 0.
    """

    weights: CompressedRows
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
    the classes are trained as exactly as they ever are, or after `max_iter`.

    The pieces are those of `block.piece`. Cost of a sweep: that of the classes, each O(nnz) times a
    few passes, and on a graph a copy of the compressed weights for each colour; memory a block's,
    and the weights of inner nodes twice.
    """
    state, converged, rise = State.start(problem, blocked, checkpoint), False, 0.0
    while not converged and len(state.objectives) < effort.max_iter:
        exact = _tightening(len(state.objectives)) == TIGHTEST
        objective = sweep(state, effort, FIRST_TOL[loss], crew, progress)
        previous = state.objectives[-1] if state.objectives else np.inf
        state.objectives.append(objective)
        converged = abs(previous - objective) <= effort.tol * objective
        if exact and not converged and objective > previous:
            converged, rise = True, (objective - previous) / objective
        if not converged and len(state.objectives) < effort.max_iter:
            state.move_inner()
            checkpoint.save(state.arrays())
    return BlockFit(state.class_weights(problem), state.objectives, converged, rise)


def _tightening(n_sweeps: int) -> float:
    """How exactly the next sweep trains its classes, as a share of the first one."""
    return float(max(TIGHTEST, 3.0**-n_sweeps))


def sweep(state: State, effort: Effort, first_tol: float, crew: Crew, progress: Progress) -> float:
    """Train each block once; returns the objective."""
    n_sweeps, n_blocks, n_done = len(state.objectives), len(state.blocked.blocks), 0
    allowed, inner = first_tol * _tightening(n_sweeps), state.inner_penalty()
    # In the order of blocks, whichever ends first: a kill must not change the sums' rounding.
    objectives = np.zeros(n_blocks)
    for blocks in state.blocked.turns:
        pieces: list[Piece] = [
            {
                "C": effort.C,
                "block": block,
                "sweep": n_sweeps,
                "tol": allowed,
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
    """inner : weights of the inner nodes. blocks : what each block keeps."""

    def __init__(
        self, blocked: BlockedClasses, inner: CompressedRows, objectives: list[float]
    ) -> None:
        self.blocked, self.inner, self.objectives = blocked, inner, objectives
        self.blocks: list[Arrays] = [{} for _ in blocked.blocks]
        self._sums: dict[int, tuple[Int, CompressedRows]] = {}

    @classmethod
    def start(cls, problem: Problem, blocked: BlockedClasses, checkpoint: Checkpoint) -> State:
        saved, n_columns = checkpoint.load(), problem.n_columns
        if saved is None:
            first = CompressedRows.of([first_row(problem)], n_columns)
            n_inner = blocked.penalty.inner.size
            return cls(blocked, first.take(np.zeros(n_inner, dtype=np.int64)), [])
        inner = CompressedRows.of_arrays(saved, n_columns, "inner.")
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
        return {**self.inner.arrays("inner."), **own}

    def arrays(self) -> Arrays:
        return {**self.shared(), "objectives": np.array(self.objectives)}

    def keep(self, block: int, arrays: Arrays) -> float:
        """Take what a piece returned; gives its part of the objective."""
        self.blocks[block] = {
            name: np.array(array)
            for name, array in arrays.items()
            if name.startswith(("dual.", "weights."))
        }
        if "parent" in arrays:
            sums = CompressedRows.of_arrays(arrays, self.inner.n_columns, "sums.")
            self._sums[block] = np.asarray(arrays["parent"]), sums
        return float(arrays["objective"][0])

    def inner_penalty(self) -> float:
        """The penalty's part of the objective that is the inner nodes' own."""
        penalty = self.blocked.penalty
        weights = self.inner.matrix().astype(np.float64)
        form = penalty.matrix[penalty.inner][:, penalty.inner] @ weights
        return 0.5 * float((weights * form).sum())

    def move_inner(self) -> None:
        """Give the inner nodes the best weights for those of the classes. O(n_inner D)."""
        if not self.inner.n_rows:
            return
        pull, n_columns = self._pull(), self.inner.n_columns
        largest, parts = np.zeros((self.inner.n_rows, 1)), []
        # From the constant on, whose weights are large, so that little is kept that will go.
        blocks = list(row_blocks(n_columns, self.inner.n_rows, MOST_VALUES))
        for block in reversed(blocks):
            columns = pull[:, block].toarray()
            weights = self.blocked.penalty.solve_inner(columns)
            size = np.abs(weights)
            np.maximum(largest, size.max(axis=1, keepdims=True), out=largest)
            weights[size <= NEGLIGIBLE * largest] = 0.0
            parts.append(sp.csr_array(weights.astype(np.float32)))
        whole = sp.csr_array(sp.hstack(parts[::-1], format="csr"))
        whole.data[np.abs(whole.data) <= NEGLIGIBLE * np.repeat(largest, np.diff(whole.indptr))] = 0
        whole.eliminate_zeros()
        self.inner = CompressedRows.of_matrix(whole)

    def _pull(self) -> sp.csc_array:
        """(n_inner, n_columns) how the classes pull at the inner nodes."""
        if not self._sums:
            return sp.csc_array(-(self.blocked.to_inner @ self._kept_weights().matrix()))
        parents, sums = zip(*(self._sums[block] for block in sorted(self._sums)), strict=True)
        parent = np.concatenate(parents)
        place = sp.csr_array(
            (np.ones(parent.size, dtype=np.float32), (parent, np.arange(parent.size))),
            shape=(self.inner.n_rows, parent.size),
        )
        rows = CompressedRows.stacked(list(sums), self.inner.n_columns)
        return sp.csc_array(place @ rows.matrix())

    def _kept_weights(self) -> CompressedRows:
        """The weights of the classes, in their order."""
        n_columns = self.inner.n_columns
        rows = [CompressedRows.of_arrays(kept, n_columns, "weights.") for kept in self.blocks]
        return self._in_order(rows)

    def _in_order(self, parts: list[CompressedRows]) -> CompressedRows:
        order = np.argsort(np.concatenate(self.blocked.blocks))
        return CompressedRows.stacked(parts, self.inner.n_columns).take(order)

    def class_weights(self, problem: Problem) -> CompressedRows:
        """The weights of the classes as the last sweep left them, in their order."""
        if any("weights.start" in kept for kept in self.blocks):
            return self._kept_weights()
        rows = []
        for classes, kept in zip(self.blocked.blocks, self.blocks, strict=True):
            for place, class_ in enumerate(classes.tolist()):
                ((_, parent, _),) = self.blocked.neighbors(class_)
                pull = self.inner.row(parent) + dual_sum(problem, kept, place, class_)
                weights = pull / self.blocked.stiffness[class_]
                rows.append(CompressedRows.of([weights], problem.n_columns))
        return self._in_order(rows)


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
