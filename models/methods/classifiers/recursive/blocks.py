"""Recursive regularization on a tree by blocks of classes, for problems too large for one process.

Given the weights of the inner nodes, classes are independent of each other, so blocks of them are
pieces that any worker computes; given the classes, the weights of all inner nodes follow in closed
form. The two take turns. Weights of inner nodes are kept as `CompressedRows`, a class by its dual
variables (hinge) or as such rows too (logistic). A sweep is saved when it ends, and a lost worker
costs its block.

Source: Gopal, "Large-scale Structured Learning" (2014), §2.4.3 and §3.3.3. There odd and even
levels take turns; here all inner nodes move at once, which needs fewer turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from models.arrays import Arrays, Float, Int
from models.errors import UsageError
from models.method import SHARED, Checkpoint, Crew, Piece, Run
from models.methods.classifiers.classes.class_tree import ClassTree
from models.methods.classifiers.classes.classifier import Trained
from models.methods.classifiers.classes.compressed import NEGLIGIBLE, CompressedRows
from models.methods.classifiers.classes.problem import Problem, has_constant
from models.methods.classifiers.recursive import hinge, logistic
from models.methods.classifiers.recursive.penalty import Penalty
from models.progress import Progress, silent, subprogress

LossName: TypeAlias = Literal["hinge", "logistic"]

ROUNDS = 8
"""How often at most a class looks for the rows that matter to it in one sweep."""

COLUMNS = 4096
"""Columns of inner nodes that are solved for at a time."""

FIRST_TOL = {"hinge": 0.1, "logistic": 1e-3}
"""How exactly the classes of the first sweep are trained; each sweep a third of the one before, to
a hundredth."""


@dataclass(frozen=True)
class BlockFit:
    """weights : of the classes, in their order. objectives : after each sweep."""

    weights: CompressedRows
    objectives: list[float]
    converged: bool


@dataclass(frozen=True, eq=False)
class BlockedTree:
    """A tree cut into blocks of classes with parents in common.

    tree : whose root is no class. size : number of classes in a block.
    """

    tree: ClassTree
    size: int

    @cached_property
    def inner(self) -> Int:
        """(n_inner,) the nodes that are no class, parents first."""
        return np.setdiff1d(np.arange(self.tree.n_nodes), self.tree.node)

    @cached_property
    def above_class(self) -> Int:
        """(n_classes,) the place of each class's parent among the inner nodes."""
        return np.searchsorted(self.inner, self.tree.parent[self.tree.node])

    @cached_property
    def above_inner(self) -> Int:
        """(n_inner,) the place of each inner node's parent, -1 for the root."""
        above = self.tree.parent[self.inner]
        return np.where(above < 0, -1, np.searchsorted(self.inner, above))

    @cached_property
    def order(self) -> Int:
        """The classes by parent; a block is a part of them."""
        return np.argsort(self.above_class, kind="stable")

    @property
    def n_blocks(self) -> int:
        return -(-self.tree.n_classes // self.size)

    def families(self, block: int) -> Iterator[tuple[int, Int]]:
        """The parents of a block's classes, as places among the inner nodes, with the classes."""
        classes = self.order[block * self.size : (block + 1) * self.size]
        parents = self.above_class[classes]
        cuts = [0, *(np.flatnonzero(np.diff(parents)) + 1).tolist(), classes.size]
        for begin, end in pairwise(cuts):
            yield int(parents[begin]), classes[begin:end]


def minimize(
    problem: Problem,
    blocked: BlockedTree,
    *,
    tol: float,
    max_iter: int,
    C: float,
    crew: Crew,
    loss: LossName,
    progress: Progress,
    checkpoint: Checkpoint,
) -> BlockFit:
    """Sweeps end when one lowers the objective by `tol` times it, or after `max_iter`.

    The pieces are those of `piece`. Cost of a sweep: that of the classes, each O(nnz) times a few
    passes; memory a block's, and the weights of inner nodes twice.
    """
    state = _State.start(problem, blocked, checkpoint)
    n_blocks, converged = blocked.n_blocks, False
    while not converged and len(state.objectives) < max_iter:
        n_sweeps = len(state.objectives)
        allowed = FIRST_TOL[loss] * max(0.01, 3.0**-n_sweeps)
        pieces: list[Piece] = [
            {"C": C, "block": block, "sweep": n_sweeps, "tol": allowed} for block in range(n_blocks)
        ]
        sums, objective = [], state.inner_penalty(blocked)
        for number, arrays in crew.compute(pieces, state.shared()):
            objective += float(arrays["objective"][0])
            sums.append((arrays["parent"], CompressedRows.of_arrays(arrays, problem.n_columns)))
            state.blocks[number] = {
                name.removeprefix("state."): np.array(array)
                for name, array in arrays.items()
                if name.startswith("state.")
            }
        progress(1.0 - 1.0 / (2.0 + 0.2 * n_sweeps), "fitting", f"objective {objective:.6g}")
        previous = state.objectives[-1] if state.objectives else np.inf
        state.objectives.append(objective)
        converged = previous - objective <= tol * objective
        if not converged and n_sweeps + 1 < max_iter:
            state.inner = _inner_weights(blocked, sums, problem.n_columns)
            checkpoint.save(state.arrays())
    weights = _class_weights(problem, blocked, state, loss)
    return BlockFit(weights, state.objectives, converged)


def piece(problem: Problem, blocked: BlockedTree, loss: LossName, piece: Piece) -> Arrays:
    """Train the classes of one block.

    Returns their state, the sums of their weights by parent as `CompressedRows`, and what they add
    to the objective.
    """
    block, shared = int(piece["block"]), piece[SHARED]
    inner = CompressedRows.of_arrays(shared, problem.n_columns, "inner.")
    state = {
        name.removeprefix(f"{block}."): array
        for name, array in shared.items()
        if name.startswith(f"{block}.")
    }
    train = _train_hinge if loss == "hinge" else _train_logistic
    C, allowed, sweep = float(piece["C"]), float(piece["tol"]), int(piece["sweep"])
    return train(problem, blocked, C, block, inner, state, allowed, sweep)


def _train_hinge(
    problem: Problem,
    blocked: BlockedTree,
    C: float,
    block: int,
    inner: CompressedRows,
    state: Arrays,
    allowed: float,
    sweep: int,
) -> Arrays:
    descent = hinge.Descent(problem, C)
    rows, values, sizes = [], [], []
    parents, totals, objective, number = [], [], 0.0, 0
    for parent, classes in blocked.families(block):
        above = inner.row(parent)
        total = np.zeros(problem.n_columns)
        for class_ in classes.tolist():
            sign, alpha = problem.signs(class_), np.zeros(problem.n_rows)
            weights = above.copy()
            if state:
                own = slice(int(state["start"][number]), int(state["start"][number + 1]))
                row, value = state["row"][own], state["value"][own].astype(np.float64)
                alpha[row] = value
                weights += problem.design[row].T @ (value * sign[row])
            seed = 1000 * class_ + 10 * sweep
            _, lost = descent.improve(sign, 1.0, weights, alpha, allowed, seed, ROUNDS)
            objective += lost + 0.5 * float(((weights - above) ** 2).sum())
            total += weights
            row = np.flatnonzero(alpha)
            rows.append(row.astype(np.int32))
            values.append(alpha[row])
            sizes.append(row.size)
            number += 1
        parents.append(parent)
        totals.append(CompressedRows.of([total], problem.n_columns))
    return {
        **CompressedRows.stacked(totals, problem.n_columns).arrays(),
        "parent": np.array(parents),
        "objective": np.array([objective]),
        "state.start": np.concatenate([[0], np.cumsum(sizes)]),
        "state.row": np.concatenate(rows),
        "state.value": np.concatenate(values),
    }


def _train_logistic(
    problem: Problem,
    blocked: BlockedTree,
    C: float,
    block: int,
    inner: CompressedRows,
    state: Arrays,
    allowed: float,
    sweep: int,
) -> Arrays:
    families = list(blocked.families(block))
    classes = np.concatenate([own for _, own in families])
    above = np.concatenate([np.tile(inner.row(parent), (own.size, 1)) for parent, own in families])
    part = _of_classes(problem, classes)
    if state:
        kept = CompressedRows.of_arrays(state, problem.n_columns)
        start = np.stack([kept.row(number) for number in range(kept.n_rows)]) - above
    else:
        start = np.zeros_like(above)
        if has_constant(problem.design):
            start[:, -1] = logistic.log_odds(part) - above[:, -1]
    identity = Penalty(sp.csr_array(sp.eye_array(classes.size)), np.arange(classes.size))
    fit = logistic.minimize(
        part,
        identity,
        C,
        tol=allowed,
        max_iter=50,
        progress=silent,
        checkpoint=Checkpoint(),
        offset=logistic.scores_of(problem.design, above),
        start=start,
    )
    weights = above + fit.weights
    ends = np.cumsum([own.size for _, own in families])
    totals = [
        weights[end - own.size : end].sum(axis=0)
        for end, (_, own) in zip(ends.tolist(), families, strict=True)
    ]
    return {
        **CompressedRows.of(totals, problem.n_columns).arrays(),
        "parent": np.array([parent for parent, _ in families]),
        "objective": np.array([fit.objective]),
        **CompressedRows.of(weights, problem.n_columns).arrays("state."),
    }


def _of_classes(problem: Problem, classes: Int) -> Problem:
    """The problem of some classes against the rest; rows may have none of them."""
    number = np.full(problem.n_classes, -1, dtype=np.int64)
    number[classes] = np.arange(classes.size)
    code = number[problem.code]
    kept = np.concatenate([[0], np.cumsum(code >= 0)])
    return replace(
        problem,
        start=kept[problem.start],
        code=code[code >= 0],
        n_classes=classes.size,
        tree=None,
    )


class _State:
    """inner : weights of the inner nodes. blocks : what each block keeps."""

    def __init__(self, inner: CompressedRows, blocks: list[Arrays]) -> None:
        self.inner, self.blocks = inner, blocks
        self.objectives: list[float] = []

    @classmethod
    def start(cls, problem: Problem, blocked: BlockedTree, checkpoint: Checkpoint) -> _State:
        saved = checkpoint.load()
        n_columns, n_inner = problem.n_columns, blocked.inner.size
        if saved is None:
            row = np.zeros(n_columns)
            if has_constant(problem.design):
                row[-1] = -1.0
            first = CompressedRows.of([row], n_columns)
            inner = first.take(np.zeros(n_inner, dtype=np.int64))
            return cls(inner, [{} for _ in range(blocked.n_blocks)])
        blocks: list[dict[str, np.ndarray]] = [{} for _ in range(blocked.n_blocks)]
        for name, array in saved.items():
            number, _, rest = name.partition(".")
            if number.isdecimal():
                blocks[int(number)][rest] = array
        state = cls(CompressedRows.of_arrays(saved, n_columns, "inner."), list(blocks))
        state.objectives = saved["objectives"].tolist()
        return state

    def shared(self) -> Arrays:
        """What the pieces of a sweep read."""
        own = {
            f"{number}.{name}": array
            for number, arrays in enumerate(self.blocks)
            for name, array in arrays.items()
        }
        return {**self.inner.arrays("inner."), **own}

    def arrays(self) -> Arrays:
        return {**self.shared(), "objectives": np.array(self.objectives)}

    def inner_penalty(self, blocked: BlockedTree) -> float:
        """Half the squared distances of inner nodes from their parents, of the root from 0."""
        matrix = self.inner.matrix().astype(np.float64)
        below = np.flatnonzero(blocked.above_inner >= 0)
        apart = matrix[below] - matrix[blocked.above_inner[below]]
        root = matrix[np.flatnonzero(blocked.above_inner < 0)]
        return 0.5 * float((apart.data**2).sum() + (root.data**2).sum())


def _inner_weights(
    blocked: BlockedTree, sums: list[tuple[Int, CompressedRows]], n_columns: int
) -> CompressedRows:
    """The best weights of the inner nodes, given the sums of their classes' weights.

    O(n_inner D), by columns.
    """
    n_inner = blocked.inner.size
    parent = np.concatenate([parents for parents, _ in sums])
    rows = CompressedRows.stacked([part for _, part in sums], n_columns).matrix()
    place = sp.csr_array(
        (np.ones(parent.size, dtype=np.float32), (parent, np.arange(parent.size))),
        shape=(n_inner, parent.size),
    )
    right = sp.csc_array(place @ rows)
    pivot = np.asarray(1.0 + blocked.tree.n_children[blocked.inner], dtype=np.float64)
    above = blocked.above_inner
    for node in range(n_inner - 1, 0, -1):
        pivot[above[node]] -= 1.0 / pivot[node]
    largest = np.zeros(n_inner)
    for columns in _column_blocks(n_columns):
        solved = _eliminated(right[:, columns].toarray(), pivot, above)
        np.maximum(largest, np.abs(solved).max(axis=1), out=largest)
    parts = []
    for columns in _column_blocks(n_columns):
        solved = _eliminated(right[:, columns].toarray(), pivot, above)
        solved[np.abs(solved) <= NEGLIGIBLE * largest[:, None]] = 0.0
        parts.append(sp.csr_array(solved.astype(np.float32)))
    return CompressedRows.of_matrix(sp.csr_array(sp.hstack(parts, format="csr")))


def _column_blocks(n_columns: int) -> Iterator[slice]:
    for first in range(0, n_columns, COLUMNS):
        yield slice(first, min(first + COLUMNS, n_columns))


def _eliminated(right: Float, pivot: Float, above: Int) -> Float:
    """The solution of the inner nodes' system, from the leaves to the root and back."""
    values = right.astype(np.float64)
    for node in range(values.shape[0] - 1, 0, -1):
        values[above[node]] += values[node] / pivot[node]
    values[0] /= pivot[0]
    for node in range(1, values.shape[0]):
        values[node] = (values[node] + values[above[node]]) / pivot[node]
    return values


def _class_weights(
    problem: Problem, blocked: BlockedTree, state: _State, loss: LossName
) -> CompressedRows:
    """The weights of the classes as the last sweep left them, in the order of classes."""
    parts = []
    for block, kept in enumerate(state.blocks):
        if loss == "logistic":
            parts.append(CompressedRows.of_arrays(kept, problem.n_columns))
            continue
        number = 0
        for parent, classes in blocked.families(block):
            above = state.inner.row(parent)
            for class_ in classes.tolist():
                own = slice(int(kept["start"][number]), int(kept["start"][number + 1]))
                row, value = kept["row"][own], kept["value"][own]
                change = problem.design[row].T @ (value * problem.signs(class_)[row])
                parts.append(CompressedRows.of([above + change], problem.n_columns))
                number += 1
    return CompressedRows.stacked(parts, problem.n_columns).take(np.argsort(blocked.order))


def blocked_of(problem: Problem, contract: bool, size: int) -> BlockedTree:
    """The problem's tree in blocks. Raises UsageError for a graph."""
    if problem.tree is None:
        raise UsageError(
            "Parameter 'block_size' needs a hierarchy; over a graph all classes are trained at "
            "once.",
            code="wrong-input",
            parameter="block_size",
        )
    return BlockedTree(problem.tree.contracted() if contract else problem.tree, size)


def train(
    problem: Problem,
    blocked: BlockedTree,
    loss: LossName,
    run: Run,
    *,
    C: float,
    tol: float,
    max_iter: int,
) -> Trained:
    """The classifier, which warns where the sweeps ended before the objective settled."""
    fit = minimize(
        problem,
        blocked,
        tol=tol,
        max_iter=max_iter,
        C=C,
        crew=run.crew,
        loss=loss,
        progress=subprogress(run.progress, 0.02, 0.95),
        checkpoint=run.checkpoint,
    )
    n_sweeps = len(fit.objectives)
    kept = (
        "Classes were trained in blocks: weights below a thousandth of a class's largest are left "
        "out, the others kept to three digits.",
    )
    unsettled = (f"Not settled after {n_sweeps} sweeps; raise 'max_iter' or 'tol'.",) * (
        not fit.converged
    )
    return Trained(
        weights=fit.weights,
        link="softmax" if loss == "hinge" and problem.one_each else "logistic",
        metrics={"objective": fit.objectives[-1], "n_iter": float(n_sweeps)},
        curves={"objective": list(enumerate(fit.objectives))},
        warnings=(*kept, *unsettled),
    )
