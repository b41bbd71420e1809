"""Support vector machines on columns that are far from 0 or large, by an interior point.

Descent in the dual takes a row at a time. Where one direction of the columns is large nearly all
products of rows are equal, and it hardly moves; here all variables move at once, by systems in the
weights that coordinates of the columns make even. Start at `minimize`; `taken` says when.

A row's loss is the largest, over its candidates and 0, of the candidate's loss minus the product of
its direction with the row's scores of nodes (`Margins`). Rows with the same candidates are
together.

`minimize` lowers w' (R x U) w / 2 plus C times the sum of the rows' losses, where R is the
penalty's matrix over nodes and U the inverse squares of the columns' units. Its conditions are
R w U = sum of dual variables times directions and rows; dual variables of a row, that of no
candidate among them, sum to C; each times its slack is mu. Newton steps with a predictor and a
corrector go along with mu to 0, all slacks and variables above 0. Coordinates and units of the
columns make the systems even, so that the number of steps depends on neither offsets nor sizes. The
duality gap of the stated problem tells when to stop, as in `recursive.hinge`.

The unknowns of a system (`joint`, `by_node`) are weights (n_nodes, n_columns) of columns in units:
the matrix is that of the penalty times the columns' factors, plus the sum over rows of M_i times
x_i x_i', where M_i belongs to pairs of nodes.

Source: Mehrotra, "On the Implementation of a Primal-Dual Interior Point Method" (1992); Ferris and
Munson, "Interior-Point Methods for Massive Support Vector Machines" (2002), for systems in the
weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from models.arrays import Float, Int, row_blocks
from models.methods.classifiers.classes.coordinates import TINY, column_units, in_units
from models.methods.classifiers.classes.dual_fit import DualFit
from models.methods.classifiers.classes.problem import Problem
from models.methods.classifiers.classes.structure import ClassTree
from models.methods.classifiers.recursive.penalty import BlockElimination, Penalty
from models.running.progress import Progress


@dataclass(frozen=True, eq=False)
class Margins:
    """Rows with the same candidates.

    rows : (n,) ascending. directions : (n_candidates, n_nodes), with the candidates' scales.
    losses : (n_candidates,).
    """

    rows: Int
    directions: Float
    losses: Float


def against_the_rest(problem: Problem, class_: int, node: int, n_nodes: int) -> list[Margins]:
    """Rows of a class score at least 1 at its node, others at most -1."""
    signs, margins = problem.signs(class_), []
    for sign in (1.0, -1.0):
        direction = np.zeros((1, n_nodes))
        direction[0, node] = sign
        rows = np.flatnonzero(signs == sign)
        if rows.size:
            margins.append(Margins(rows, direction, np.ones(1)))
    return margins


def along_the_tree(
    problem: Problem,
    tree: ClassTree,
    candidates: Literal["paths", "siblings"],
    rescaled: Literal["margin", "slack"],
) -> list[Margins]:
    """The candidates of `structured.loops`: a loss for each row, of one class."""
    on_path = np.zeros((tree.n_nodes, tree.n_nodes))
    for node in range(1, tree.n_nodes):
        on_path[node] = on_path[tree.parent[node]]
        on_path[node, node] = 1.0
    margins = []
    start, row = problem.by_class
    for class_, own in enumerate(tree.node.tolist()):
        rows = row[start[class_] : start[class_ + 1]]
        if candidates == "paths":
            others = np.setdiff1d(tree.node, [own])
            directions = on_path[own] - on_path[others]
            losses = 0.5 * np.abs(directions).sum(axis=1)
        else:
            path = np.flatnonzero(on_path[own])
            pairs = [
                (node, other)
                for node in path.tolist()
                for other in np.flatnonzero(tree.parent == tree.parent[node]).tolist()
                if other != node
            ]
            directions = np.zeros((len(pairs), tree.n_nodes))
            for place, (node, other) in enumerate(pairs):
                directions[place, [node, other]] = 1.0, -1.0
            losses = np.ones(len(pairs))
        if rescaled == "slack":
            directions = directions * losses[:, None]
        if rows.size and losses.size:
            margins.append(Margins(rows, directions, losses))
    return margins


Solve: TypeAlias = Callable[[Float], Float]
"""From a right side to the solution, both (n_nodes, n_columns)."""

RIDGE = 1e-12
"""The share of the diagonal that is added where rounding has made a matrix singular."""


def gram(design: Float | sp.csr_array, factor: Float) -> Float:
    """(n_columns, n_columns) the sum over rows of a factor times x x'. O(N D^2)."""
    if isinstance(design, sp.csr_array):
        scaled = design.multiply(factor[:, None])
        return np.asarray((design.T @ scaled).toarray())
    return np.asarray(design.T @ (design * factor[:, None]))


def joint(matrix: Float, ridge: Float, curvature: Float) -> Solve:
    """The solver of all nodes and columns at once.

    matrix : (n_nodes, n_nodes) of the penalty. ridge : (n_columns,). curvature : (n_nodes,
    n_columns, n_nodes, n_columns) of the rows, changed in place.

    O((T D)^3) for T nodes, O((T D)^2) each.
    """
    n_nodes, n_columns = curvature.shape[:2]
    columns = np.arange(n_columns)
    curvature[:, columns, :, columns] += ridge[:, None, None] * matrix
    whole = curvature.reshape(n_nodes * n_columns, -1)
    size = np.exp2(-np.rint(0.5 * np.log2(np.maximum(np.diagonal(whole), TINY))))
    whole *= size[:, None]
    whole *= size
    try:
        factor = cho_factor(whole, lower=True, check_finite=False)
    except LinAlgError:
        shifted = whole + RIDGE * np.diag(np.diagonal(whole))
        factor = cho_factor(shifted, lower=True, check_finite=False)

    def solve(right: Float) -> Float:
        flat = right.ravel() * size
        first = cho_solve(factor, flat, check_finite=False)
        first += cho_solve(factor, flat - whole @ first, check_finite=False)
        return np.asarray(first * size).reshape(right.shape)

    return solve


def by_node(penalty: Penalty, ridge: Float, curvatures: Float) -> Solve:
    """The solver of a tree's penalty by elimination of nodes.

    ridge : (n_columns,), squares of inverse units. curvatures : (n_classes, n_columns, n_columns)
    of the rows.

    O(T D^3), O(T D^2) each.
    """
    units = 1.0 / np.sqrt(ridge)
    eliminated = BlockElimination(penalty, curvatures * (units[:, None] * units))

    def solve(right: Float) -> Float:
        first = units * eliminated(right * units)
        image = ridge * (penalty.matrix @ first)
        image[penalty.node] += np.matmul(curvatures, first[penalty.node][:, :, None])[:, :, 0]
        return np.asarray(first + units * eliminated((right - image) * units))

    return solve


MOST_STEPS = 200
SHORTEST = 1e-9
PATIENCE = 20
"""Steps end where they are shorter, or so many have not halved the gap: rounding leaves no way on.
"""

NEAREST = 0.99
"""The share of the way to the nearest bound that a step takes at most."""

MOST_VALUES = 1 << 24
"""The most values of the matrix of a system (128 MiB)."""


class Form(Protocol):
    """A penalty of the weights of nodes, of the columns as they came; its dual is `form`."""

    @property
    def n_nodes(self) -> int: ...

    @property
    def dense(self) -> Float:
        """(n_nodes, n_nodes) the matrix of the penalty, or with the signs that it has."""
        ...

    def value(self, weights: Float) -> float: ...

    def form(self, sums: Float) -> float: ...

    def fitted(self, sums: Float) -> Self:
        """The penalty with its best signs for these sums."""
        ...


def taken(problem: Problem, n_values: int) -> bool:
    """Whether the interior point is the way: columns are uneven, so that descent by rows would
    hardly move, and a system of so many values has room."""
    return n_values <= MOST_VALUES and problem.uneven


def fit_bytes(problem: Problem, n_values: int, n_nodes: int, n_margins: int) -> int:
    """About how many bytes `minimize` takes besides the design.

    n_values : of a system. n_margins : candidates of all rows.
    """
    of_rows = problem.n_rows * (2 * problem.n_columns + 4 * n_nodes) + 24 * n_margins
    return 8 * of_rows + 24 * n_values


class _Group:
    """The variables of rows with the same candidates.

    dual, slack : (n, n_candidates + 1), above 0, that of no candidate last. loss : (n,) of the
    rows, from above.
    """

    def __init__(self, margins: Margins, C: float) -> None:
        n_rows, n_candidates = margins.rows.size, margins.losses.size
        self.margins, self._C = margins, C
        self._losses = np.append(margins.losses, 0.0)
        self._loss = np.full(n_rows, 1.0 + float(margins.losses.max()))
        self.dual = np.full((n_rows, n_candidates + 1), C / (n_candidates + 1))
        self.slack = self._loss[:, None] - self._losses
        self._towards = self._missed = self._ratio = np.zeros((0, 0))
        self._loss_step = np.zeros(0)

    def ahead(self, scores: Float) -> Float:
        """(n, n_candidates + 1) the products of directions with scores of nodes."""
        ahead = np.zeros_like(self.dual)
        ahead[:, :-1] = scores[self.margins.rows] @ self.margins.directions.T
        return ahead

    def loss(self, scores: Float) -> float:
        """The sum of the losses of the rows."""
        return float((self._losses - self.ahead(scores)).max(axis=1).sum())

    def linear(self) -> float:
        return float((self.dual @ self._losses).sum())

    def spread(self, values: Float, coefficients: Float) -> None:
        """Add values of candidates to the coefficients (n_rows, n_nodes) of rows in nodes."""
        coefficients[self.margins.rows] += values[:, :-1] @ self.margins.directions

    def begin(self, scores: Float) -> None:
        """A step from the scores of the weights."""
        self._missed = self._loss[:, None] + self.ahead(scores) - self._losses - self.slack
        self._ratio = self.dual / self.slack

    def hold(self) -> None:
        """Take losses and slacks as they are."""
        self._missed = np.zeros_like(self._missed)

    def curvature(self, rows: slice) -> tuple[slice, Float]:
        """Which of the group's rows lie within these, and (n, n_nodes, n_nodes) of each."""
        first, last = np.searchsorted(self.margins.rows, [rows.start, rows.stop])
        ratio = self._ratio[first:last]
        share = ratio[:, :-1] / ratio.sum(axis=1)[:, None]
        matrix = -share[:, :, None] * ratio[:, None, :-1]
        # Sums of the others, by which nothing cancels.
        places = np.arange(share.shape[1])
        n_all = ratio.shape[1]
        matrix[:, places, places] = share * (ratio @ (1.0 - np.eye(n_all)[:, :-1]))
        directions = self.margins.directions
        return slice(first, last), np.asarray(directions.T @ (matrix @ directions))

    def toward(self, target: Float) -> Float:
        """Aim at these products of variables and slacks; the right side's part, by candidate."""
        self._towards = target / self.slack - self.dual
        right = self._towards - self._ratio * self._missed
        return np.asarray(right - self._ratio * self._for_sum(right)[:, None])

    def _for_sum(self, change: Float) -> Float:
        """(n,) the change of losses with which these of variables keep the sum C."""
        lacking = self._C - self.dual.sum(axis=1)
        return np.asarray((change.sum(axis=1) - lacking) / self._ratio.sum(axis=1))

    def change(self, scores: Float) -> tuple[Float, Float]:
        """The changes of variables and slacks with a change of scores."""
        moved = self.ahead(scores) + self._missed
        self._loss_step = self._for_sum(self._towards - self._ratio * moved)
        slack = self._loss_step[:, None] + moved
        return self._towards - self._ratio * slack, slack

    def move(self, step: float, dual: Float, slack: Float) -> None:
        self._loss = self._loss + step * self._loss_step
        self.dual = self.dual + step * dual
        self.slack = self.slack + step * slack


def minimize(
    problem: Problem,
    margins: list[Margins],
    form: Form,
    C: float,
    tol: float,
    progress: Progress,
) -> DualFit:
    """The weights of all nodes; steps end when the duality gap is `tol` times the objective.

    Cost: tens of steps, of O(N D^2 P + (T D)^3) for T nodes, P pairs of which matter to rows; for a
    tree of classes against the rest O(N D^2 K + T D^3). Memory: `fit_bytes`.
    """
    units = column_units(problem.design, least=1.0 / np.sqrt(C * problem.n_rows))
    design = in_units(problem.design, units)
    ridge = np.broadcast_to(1.0 / units**2, problem.n_columns)
    groups = [_Group(some, C) for some in margins]
    weights = np.zeros((form.n_nodes, problem.n_columns))
    best, least = weights, np.inf
    objectives: list[float] = []
    duals: list[float] = []
    gaps: list[float] = []
    while True:
        scores = np.asarray(design @ weights.T)
        sums = _sums(design, groups, [group.dual for group in groups], form.n_nodes)
        value = form.value(weights / units) + C * sum(group.loss(scores) for group in groups)
        if value < least:
            best, least = weights, value
        objectives.append(value)
        duals.append(sum(group.linear() for group in groups) - form.form(sums * units))
        gap = least - max(duals)
        gaps.append(gap)
        progress(1.0 - 1.0 / (1.0 + 0.1 * len(duals)), "fitting", f"gap {gap / least:.2g}")
        stuck = len(gaps) > PATIENCE and not gap < 0.5 * gaps[-PATIENCE - 1]
        if gap <= tol * least or stuck or len(duals) > MOST_STEPS:
            break
        form = form.fitted(form.dense @ (weights / units))
        with np.errstate(all="ignore"):
            weights, moved = _step(design, groups, form, ridge, weights, scores, sums)
        if not moved:
            break
    n_support = sum(int((group.dual / C > group.slack)[:, :-1].sum()) for group in groups)
    return DualFit(best / units, least, gap, objectives, duals, n_support, gap <= tol * least)


def _sums(
    design: Float | sp.csr_array, groups: list[_Group], values: list[Float], n_nodes: int
) -> Float:
    """(n_nodes, n_columns) the sums of values of candidates times directions and rows."""
    coefficients = np.zeros((design.shape[0], n_nodes))
    for group, some in zip(groups, values, strict=True):
        group.spread(some, coefficients)
    return np.asarray((design.T @ coefficients).T)


def _step(
    design: Float | sp.csr_array,
    groups: list[_Group],
    form: Form,
    ridge: Float,
    weights: Float,
    scores: Float,
    sums: Float,
) -> tuple[Float, bool]:
    """A step of all variables of the groups, in place; the weights, and whether they moved."""
    for group in groups:
        group.begin(scores)
    solve = _solver(design, groups, form, ridge)

    def directions(
        targets: list[Float], weights: Float, sums: Float
    ) -> tuple[Float, list[tuple[Float, Float]]]:
        parts = [group.toward(target) for group, target in zip(groups, targets, strict=True)]
        right = sums - ridge * (form.dense @ weights)
        change = solve(right + _sums(design, groups, parts, form.n_nodes))
        moved = np.asarray(design @ change.T)
        return change, [group.change(moved) for group in groups]

    def move(step: float, changes: list[tuple[Float, Float]]) -> None:
        for group, (dual, slack) in zip(groups, changes, strict=True):
            group.move(step, dual, slack)

    pairs = [(group.dual, group.slack) for group in groups]
    n_pairs = sum(dual.size for dual, _ in pairs)
    mean = sum(float(np.vdot(dual, slack)) for dual, slack in pairs) / n_pairs
    _, changes = directions([np.zeros_like(dual) for dual, _ in pairs], weights, sums)
    step = _reach(pairs, changes, 1.0)
    after = sum(
        float(np.vdot(dual + step * dual_change, slack + step * slack_change))
        for (dual, slack), (dual_change, slack_change) in zip(pairs, changes, strict=True)
    )
    center = (after / n_pairs / mean) ** 3 * mean
    targets = [center - dual * slack for dual, slack in changes]
    change, changes = directions(targets, weights, sums)
    step = _reach(pairs, changes, NEAREST)
    if not np.isfinite(change).all() or not step > SHORTEST:
        return weights, False
    move(step, changes)
    weights = weights + step * change
    # Rounding of the step is as much as its ratios are large; what it leaves of the condition of
    # the weights counts by the squares of units, so that a second step mends that alone.
    pairs = [(group.dual, group.slack) for group in groups]
    for group in groups:
        group.hold()
    duals = [group.dual for group in groups]
    sums = _sums(design, groups, duals, form.n_nodes)
    change, changes = directions([dual * slack for dual, slack in pairs], weights, sums)
    step = _reach(pairs, changes, NEAREST)
    if np.isfinite(change).all():
        move(step, changes)
        weights = weights + step * change
    return weights, True


def _reach(
    pairs: list[tuple[Float, Float]], changes: list[tuple[Float, Float]], share: float
) -> float:
    """The length of a step that takes this share of the way to the nearest bound, at most 1."""
    nearest = max(
        float((-change / value).max(initial=0.0))
        for own, other in zip(pairs, changes, strict=True)
        for value, change in zip(own, other, strict=True)
    )
    return min(1.0, share / nearest) if nearest > 0.0 else 1.0


def _solver(design: Float | sp.csr_array, groups: list[_Group], form: Form, ridge: Float) -> Solve:
    (n_rows, n_columns), n_nodes = design.shape, form.n_nodes
    if isinstance(form, Penalty) and form.parent is not None:
        curvatures = np.zeros((form.node.size, n_columns, n_columns))
        place = np.zeros(n_nodes, dtype=np.int64)
        place[form.node] = np.arange(form.node.size)
        for group in groups:
            # Directions of classes against the rest have one node.
            node = int(np.flatnonzero(group.margins.directions[0])[0])
            _, of_rows = group.curvature(slice(0, n_rows))
            curvatures[place[node]] += gram(design[group.margins.rows], of_rows[:, node, node])
        return by_node(form, ridge, curvatures)
    curvature = np.zeros((n_nodes, n_columns, n_nodes, n_columns))
    for rows in row_blocks(n_rows, n_nodes**2, 1 << 22):
        pairs = np.zeros((rows.stop - rows.start, n_nodes, n_nodes))
        for group in groups:
            own, matrices = group.curvature(rows)
            pairs[group.margins.rows[own] - rows.start] += matrices
        for one in range(n_nodes):
            for other in range(one + 1):
                if pairs[:, one, other].any():
                    curvature[one, :, other, :] += gram(design[rows], pairs[:, one, other])
    for one in range(n_nodes):
        for other in range(one):
            curvature[other, :, one, :] = curvature[one, :, other, :].T
    return joint(form.dense, ridge, curvature)
