"""Support of nodes: the fit again on resampled or disturbed inputs, or with other seeds.

Every replicate is a piece of the job, so several workers share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from pydantic import ConfigDict, Field, model_validator

from models.arrays import Arrays, Float
from models.consensus import items
from models.consensus.items import ENOUGH
from models.errors import UsageError
from models.inputs.data import Data, Value
from models.inputs.rows import Rows, widened
from models.parameters import Exact
from models.registry import method
from models.roles import ROLES
from models.running import budget
from models.running.progress import Crew, Piece, Progress, subprogress
from models.tree.tree import Tree, sizes
from workers.model import MethodStep
from workers.work.drawn_rows import drawn, n_points_of, numbered, pair_roles
from workers.work.plan import Plan, run_plan

AT_ONCE = 50
"""Replicates between two looks at whether more are needed."""
TRANSFER_STEPS = 1_000_000_000_000
"""The most steps of the transfer support: about ten minutes."""
NOISY_ROWS = 1024
"""Rows whose noise is drawn together."""


class Support(Exact):
    """How the support of a tree's nodes is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    replicates: int = Field(100, ge=1, le=1000, description="How often the method is run again.")
    resample: Literal["rows", "columns", "subsamples", "noise", "seeds"] = Field(
        "rows",
        description="What varies: `rows` or `columns` of the features are drawn with replacement, "
        "`subsamples` are a `share` of the rows without, `noise` is added to the features or "
        "logits, or only the `seeds` of the methods differ.",
    )
    share: float = Field(
        0.5, gt=0, lt=1, description="For `subsamples`: the share of the rows that is drawn."
    )
    noise: float = Field(
        0.1,
        gt=0,
        le=10,
        description="For `noise`: the standard deviation of the normal noise, where that of the "
        "values of a column is 1.",
    )
    measure: items.Support = Field(
        "share",
        description="For hierarchies. `share`: of the runs that have exactly the cluster of a node "
        "(Felsenstein). `transfer`: how few rows would have to move for that, as 1 - the mean "
        "share (Lemoine et al. 2018), which does not fall to 0 for a few rows that stray.",
    )
    stop: bool = Field(
        False,
        description="Whether to stop before all `replicates`, after 50 or a multiple of it, once "
        "more of them would hardly change the support: 99 of 100 random halves correlate by .99 "
        "with the others (Pattengale et al. 2010).",
    )
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Seed of the draws.")

    @model_validator(mode="after")
    def _possible(self) -> Support:
        for name, of in (("share", "subsamples"), ("noise", "noise")):
            is_given = getattr(self, name) != type(self).model_fields[name].default
            if is_given and self.resample != of:
                raise ValueError(f"{name} is that of {of}: give `resample` {of} too")
        return self


class Replicates:
    """The replicates of one fit."""

    def __init__(
        self, options: Support, plan: Plan, values: Mapping[str, Value], threads: int
    ) -> None:
        if "base" in values:
            whole = method(plan.method).ungrown(Data(values))
            if whole is None:
                raise UsageError(
                    f"Support cannot be found for a job of {plan.method!r} that goes on from an "
                    "earlier one: a fit on all rows at once gives another tree.",
                    code="wrong-input",
                    role="base",
                )
            values = whole.values
        if "documents" in values:
            raise UsageError(
                "Support cannot be found from documents, whose words change with them; it can from "
                "counts, given as 'graph' or 'features'.",
                code="wrong-input",
                role="documents",
            )
        self._options, self._plan, self._threads = options, plan, threads
        self._values = numbered(plan.method, values)
        self._spread: dict[str, list[Float]] = {}

    def pieces(self) -> list[Piece]:
        return [{"replicate": number} for number in range(self._options.replicates)]

    def compute(self, piece: Piece, progress: Progress) -> Arrays:
        """The tree of one replicate, and the row of each of its points.

        No rows if the fit failed.
        """
        number = int(piece["replicate"])
        rng = np.random.default_rng([self._options.seed, number])
        values, row = self._drawn(number, rng)
        plan = self._plan
        if self._options.resample == "seeds":
            plan = _seeded(plan, number + 1)
        try:
            tree = run_plan(plan, values, progress, self._threads).fitted.tree
        except UsageError as error:
            none = np.empty(0, dtype=np.int32)
            why = np.frombuffer(str(error).encode(), dtype=np.uint8)
            return {"parent": none, "leaf_of_point": none, "row": none.astype(np.int64), "why": why}
        return {"parent": tree.parent, "leaf_of_point": tree.leaf_of_point, "row": row}

    def supported(
        self, tree: Tree, crew_of: Callable[[Progress], Crew], progress: Progress
    ) -> tuple[Tree, dict[str, Any], list[str]]:
        """The tree with a column `support`, what is known of the replicates, and warnings.

        crew_of : gives the crew that computes some pieces. Raises UsageError `too-large`.
        """
        # Compiled loops, which the API does without.
        from models.consensus.support import SupportCount

        options, warnings = self._options, []
        self._require_possible(tree)
        if options.measure == "transfer" and tree.kind == "partition":
            warnings.append(
                "The support of a partition's clusters is their mean Jaccard index; `measure` is "
                "that of a hierarchy."
            )
        count = SupportCount(tree, options.measure, keep=options.stop)
        pieces, why = self.pieces(), []
        step, done, halves = AT_ONCE if options.stop else len(pieces), 0, None
        while done < len(pieces) and not (halves is not None and halves[1] >= ENOUGH):
            some = pieces[done : done + step]
            end = done + len(some)
            part = subprogress(progress, done / len(pieces), end / len(pieces))
            for _, arrays in crew_of(part).compute(some):
                if arrays["row"].size:
                    count.add(_bare(arrays, tree.kind), arrays["row"])
                else:
                    why.append(arrays["why"].tobytes().decode())
            done = end
            if options.stop:
                halves = count.halves(np.random.default_rng(options.seed))
        if why:
            warnings.append(
                f"{len(why)} of {done} replicates could not be fitted and do not count in the "
                f"support: {why[0]}"
            )
        if options.stop and (halves is None or halves[1] < ENOUGH):
            warnings.append(
                f"After {done} replicates the support would still change with more of them."
            )
        facts = {
            "replicates": done - len(why),
            "failed": len(why),
            "halves": None if halves is None else {"correlation": halves[0], "alike": halves[1]},
        }
        return replace(tree, extra={**tree.extra, "support": count.support}), facts, warnings

    def _require_possible(self, tree: Tree) -> None:
        options = self._options
        steps = options.replicates * tree.n_nodes * (tree.n_nodes + tree.n_points)
        if options.measure == "transfer" and tree.kind == "hierarchy" and steps > TRANSFER_STEPS:
            raise UsageError(
                "The transfer support of a tree so large takes hours; take the share, fewer "
                "replicates, or fewer points.",
                code="too-large",
                parameter="support",
            )
        if options.stop:
            n_bytes = 12 * options.replicates * tree.n_nodes
            budget.require("support with `stop`", n_bytes, "Take fewer replicates, or no `stop`.")

    def _drawn(
        self, number: int, rng: np.random.Generator
    ) -> tuple[dict[str, Value], npt.NDArray[np.int64]]:
        """The values of a replicate, and the row of each point."""
        options = self._options
        if options.resample != "noise":
            return _resampled(self._values, options.resample, options.share, rng)
        values, row = _resampled(self._values, "seeds", options.share, rng)
        if not self._spread:
            self._spread = _spreads(values)
        seed = (options.seed, number)
        for role, spread in self._spread.items():
            values[role] = _noisy(values[role], [options.noise * each for each in spread], seed)
        return values, row


def _bare(arrays: Arrays, kind: Literal["hierarchy", "partition"]) -> Tree:
    """A tree with only its shape and its points."""
    parent, leaf = arrays["parent"], arrays["leaf_of_point"]
    n = len(parent)
    return Tree(
        parent=parent,
        height=np.zeros(n),
        size=sizes(parent, leaf),
        name=np.full(n, None, dtype=object),
        leaf_of_point=leaf,
        kind=kind,
    )


def _seeded(plan: Plan, by: int) -> Plan:
    """The plan with `by` added to each step's seed. Raises UsageError if no step has one."""

    def moved(params: Mapping[str, Any]) -> dict[str, Any]:
        return {**params, "seed": params["seed"] + by} if "seed" in params else dict(params)

    if not any("seed" in step.params for step in plan.steps):
        raise UsageError(
            f"Method {plan.method!r} draws nothing, so other seeds give the same tree; resample "
            "rows or columns.",
            code="wrong-parameter",
            parameter="support",
        )
    then = None
    if plan.then is not None:
        then = MethodStep(method=plan.then.method, params=moved(plan.then.params))
    return Plan(plan.method, moved(plan.params), plan.preprocess, then)


def _resampled(
    values: Mapping[str, Value], how: str, share: float, rng: np.random.Generator
) -> tuple[dict[str, Value], npt.NDArray[np.int64]]:
    """The values with rows or columns drawn anew, and the row of each point."""
    edges = pair_roles(values)
    n_points = n_points_of(values, edges)
    if how == "seeds":
        return dict(values), np.arange(n_points)
    if how == "columns":
        return _columns(values, rng), np.arange(n_points)
    if how == "subsamples":
        row = np.sort(rng.choice(n_points, max(1, round(share * n_points)), replace=False))
    else:
        row = np.sort(rng.integers(0, n_points, n_points))
    return drawn(values, row, edges, n_points), row


def _columns(values: Mapping[str, Value], rng: np.random.Generator) -> dict[str, Value]:
    features = values.get("features")
    if not isinstance(features, (np.ndarray, sp.csr_array)) or features.ndim != 2:
        raise UsageError(
            "Columns can only be drawn from a single matrix of features held in memory.",
            code="wrong-parameter",
            parameter="support",
        )
    n = features.shape[1]
    return {**values, "features": features[:, np.sort(rng.integers(0, n, n))]}


def _spreads(values: Mapping[str, Value]) -> dict[str, list[Float]]:
    """The standard deviation of each column of the matrices that noise is added to, by role.

    Raises UsageError where there is none, or one that is sparse.
    """
    spreads = {}
    for role in (role.name for role in ROLES.values() if role.noisy):
        value = values.get(role)
        matrices = value if isinstance(value, tuple) else (value,)
        if value is None:
            continue
        if not all(isinstance(matrix, (np.ndarray, Rows)) for matrix in matrices):
            raise UsageError(
                f"Noise cannot be added to sparse {role}, whose zeros it would fill; resample rows "
                "or columns.",
                code="wrong-parameter",
                parameter="support",
            )
        spreads[role] = [_spread(matrix) for matrix in matrices]
    if not spreads:
        raise UsageError(
            "Noise is added to features or logits, and the job has neither; resample rows.",
            code="wrong-parameter",
            parameter="support",
        )
    return spreads


def _spread(matrix: Any) -> Float:
    """The standard deviation of each column, or of each place of an image, over the numbers that
    are finite: logits of -inf are classes that a row cannot have."""
    rows = matrix if isinstance(matrix, Rows) else None
    n, mean, squares = np.zeros((3, *matrix.shape[1:]))
    for start in range(0, matrix.shape[0], NOISY_ROWS):
        stop = start + NOISY_ROWS
        part = (rows.values(start, stop) if rows else matrix[start:stop]).astype(np.float64)
        known = np.isfinite(part)
        own = known.sum(axis=0)
        part_mean = np.where(known, part, 0.0).sum(axis=0) / np.maximum(1, own)
        apart = part_mean - mean
        squares += (np.where(known, part - part_mean, 0.0) ** 2).sum(axis=0)
        squares += apart**2 * n * own / np.maximum(1, n + own)
        n += own
        mean += apart * own / np.maximum(1, n)
    return np.asarray(np.sqrt(squares / np.maximum(1, n)))


def _noisy(value: Any, scale: list[Float], seed: tuple[int, int]) -> Value:
    """The value with noise. scale : its standard deviation in each column of each matrix."""
    several = isinstance(value, tuple)
    matrices = value if several else (value,)
    noisy = tuple(
        _Noisy(matrix, own, (*seed, number))
        if isinstance(matrix, Rows)
        else matrix + own * np.random.default_rng((*seed, number)).normal(size=matrix.shape)
        for number, (matrix, own) in enumerate(zip(matrices, scale, strict=True))
    )
    return noisy if several else noisy[0]


class _Noisy(Rows):
    """Rows of another matrix with noise, that of a row the same whenever it is read."""

    def __init__(self, rows: Rows, scale: Float, seed: tuple[int, ...]) -> None:
        self._rows, self._scale, self._seed = rows, scale, seed
        self.shape, self.far = rows.shape, rows.far
        self.dtype = np.dtype(np.float64 if rows.dtype == np.float64 else np.float32)

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        stop = min(stop, self.shape[0])
        return self._with_noise(self._rows.values(start, stop), np.arange(start, stop))

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        values = self._rows.take(rows)
        return self._with_noise(widened(values) if self._rows.bfloat16 else values, rows)

    def _with_noise(
        self, values: npt.NDArray[Any], rows: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        noisy = np.empty(values.shape, dtype=self.dtype)
        begin = 0
        for block in np.unique(rows // NOISY_ROWS).tolist():
            end = int(np.searchsorted(rows, (block + 1) * NOISY_ROWS))
            rng = np.random.default_rng((*self._seed, block))
            noise = rng.normal(size=(NOISY_ROWS, self.shape[1]))
            own = noise[rows[begin:end] - block * NOISY_ROWS]
            noisy[begin:end] = values[begin:end] + self._scale * own
            begin = end
        return noisy
