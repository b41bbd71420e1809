"""PERCH: a binary tree grown point by point, with rotations that keep it pure.

A new point becomes the sibling of its nearest leaf. Then, from that leaf up, a subtree whose points
are all nearer to all of its aunt than to any of its sibling is *masked*: sibling and aunt change
places. If all points of a cluster are nearer to each other than to any other point, each cluster is
a subtree, in whatever order points come. With `balance`, sibling and aunt also change places where
that evens out the tree and a point of the subtree is nearer to one of the aunt than to one of the
sibling, which tears no such cluster; trees are shallower and, on most real data, a little less
pure.

Points come in an order drawn by the seed, or as their rows do (`order`). Rows of equal points are
siblings at height 0. With `max_leaves`, as soon as there are more leaves, the node with the
smallest bounding box, of those whose two children are leaves, becomes a leaf with all their points.

`diameter` is the diagonal of a node's bounding box. Heights are that times the number of points, so
cutting the tree into k clusters is PERCH's own choice of k: collapse the node of the lowest cost
until k are left. With `heights: diameter` that order is the one of `max_leaves`.

An earlier job that was `growable` may be given as `base`: its tree goes on growing.

Source: Kobren, Monath, Krishnamurthy and McCallum, "A Hierarchical Algorithm for Extreme
Clustering" (2017), sections 3 to 5. The definition of masking there asks for one point of the
subtree that is nearer to one of the aunt than to one of the sibling, which on data without such
clusters makes chains; the authors' program asks for all, by bounds, and so does this, but exactly.
Its bounds, from the corners of boxes, do not hold beyond one column; `boxes.loops.distances` has
ones that do.

Cost: the nearest of the points so far for each one. Bounding boxes rule out most of them where
clusters lie apart or columns are few; where they do not, all are looked at: N^2 D / 2
multiplications, about 0.5 s for 10,000 points of 64 columns, 35 s for 100,000, 7 s for 10,000 of
1,280, on one core; more threads share it. Memory: 3 N D values in single or double precision (N D
and 4 L D with `max_leaves` L) and about 200 bytes a point; the model keeps N D.

In which order points come, whatever order their rows are in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.arrays import Int, row_blocks
from models.checks import require_points, require_squares, require_width
from models.data import Data, Earlier, require_finite
from models.errors import UsageError
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.parameters import Params, Seed
from models.progress import subprogress
from models.tree.tree import Tree
from models.tree.walk import paths


def canonical(points: npt.NDArray[Any]) -> Int:
    """(n_points,) rows sorted by a 64-bit sum of their bits: by what they hold, not where they are.

    Equal rows, and different ones of one sum (about one pair in 2^64), keep the order they have.
    Reads blocks of rows. O(N (D + log N)).
    """
    n_points, n_columns = points.shape
    sums = np.empty(n_points, dtype=np.uint64)
    odd = np.random.default_rng(0).integers(2**63, size=n_columns, dtype=np.uint64) * 2 + 1
    for block in row_blocks(n_points, n_columns, 1 << 20):
        # Adding 0 makes -0.0 equal 0.0 in bits too.
        bits = (points[block].astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(32)
        sums[block] = (bits * odd).sum(axis=1)
    return np.argsort(sums, kind="stable")


def precision(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """float32 where that holds all values of the type, else float64."""
    small = dtype.itemsize <= 2 and dtype.kind in "iuf"
    return np.float32 if small or dtype.kind == "b" or dtype == np.float32 else np.float64


def gathered(points: npt.NDArray[Any], order: Int) -> npt.NDArray[Any]:
    """`points[order]` in its `precision`, read once, by blocks."""
    found = np.empty(points.shape, dtype=precision(points.dtype))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    for block in row_blocks(len(points), points.shape[1], 1 << 20):
        found[place[block]] = points[block]
    return found


TRIES, LOOKS, BOUNDS, AGAIN = 64, 32, 64, 1.1
"""How hard rotations are looked for, see `boxes.loops.rotation.Rule`."""


class PerchParams(Params):
    max_leaves: int | None = Field(
        None,
        ge=2,
        le=10_000_000,
        description=(
            "Most leaves; where there would be more, the node with the smallest bounding box of "
            "those whose children are leaves becomes a leaf. Default: a leaf for each point."
        ),
    )
    balance: bool = Field(
        False,
        description="Whether to rotate for balance as well: shallower trees, often less pure.",
    )
    order: Literal["shuffled", "given"] = Field(
        "shuffled",
        description=(
            "In which order points come: 'shuffled' by the seed, whatever the order of the rows, "
            "or as 'given'."
        ),
    )
    heights: Literal["cost", "diameter"] = Field(
        "cost",
        description=(
            "Height of a node: 'cost' is the diagonal of its bounding box times its number of "
            "points, 'diameter' the diagonal alone. Cutting into k clusters opens the highest."
        ),
    )
    growable: bool = Field(
        False,
        description=(
            "Keep what a later job needs to go on from this one with more points (`base`): the "
            "points and about 120 bytes each."
        ),
    )
    seed: Seed = 0


class Perch(Method[PerchParams]):
    """See the module's docstring."""

    title = "PERCH"
    paper = Paper("A Hierarchical Algorithm for Extreme Clustering", 2017, "KDD, sections 3 to 5")
    Params = PerchParams
    inputs = {
        "features": Input(description="One row per point."),
        "names": Input(required=False, description="One name per point."),
        "base": Input(
            required=False,
            description=(
                "An earlier job, run with `growable`, whose points come before these: the tree of "
                "all of them, theirs first."
            ),
        ),
    }
    outputs = ("tree", "model")
    advice = "Set 'max_leaves', or give the features in single precision."

    def _memory(self, shapes: Shapes, params: PerchParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_columns = shapes["features"]
        n_boxes = n_points
        if params.max_leaves is not None:
            n_boxes = min(n_points, 2 * params.max_leaves + 2)
        # In single precision at least; the model keeps the points.
        return (n_points + 2 * n_boxes) * n_columns * 4 + 120 * n_points + 170 * n_boxes

    def _check(self, data: Data, params: PerchParams) -> None:
        features = require_points(data)
        earlier = data.earlier()
        if earlier is not None:
            _check_base(earlier, features.shape[1], params)
        _names(data, params, len(features))
        require_finite(features, "features")
        require_squares(features)

    def _fit(self, data: Data, params: PerchParams, run: Run) -> Fitted:
        # Compiled code: loaded by what computes, not by what reads the catalogue.
        from models.methods.features.boxes import state
        from models.methods.features.boxes.loops.layout import (
            N_BALANCED,
            N_LEAVES,
            N_MASKED,
            N_OPEN,
        )
        from models.methods.features.boxes.loops.rotation import Rule
        from models.methods.features.boxes.tree import tree_of

        features = data.dense("features")
        run.progress(0.0, "reading points")
        order = np.arange(len(features))
        if params.order == "shuffled":
            order = canonical(features)[run.rng.permutation(len(features))]
        points, kept, order = _started(data.earlier(), gathered(features, order), order)
        saved = run.checkpoint.load()
        if saved is not None:
            kept = saved
        most_leaves = params.max_leaves or len(points) + 1
        start = 0 if kept is None else int(kept["n_inserted"][0])
        if kept is None:
            grown = state.empty(points, most_leaves)
        else:
            grown = state.unpacked(points, kept, most_leaves)
        rule = Rule(most_leaves, BOUNDS, 0, TRIES if params.balance else 0, LOOKS, AGAIN)

        def keep(n_inserted: int) -> None:
            run.checkpoint.save(state.packed(grown, n_inserted))

        progress = subprogress(run.progress, 0.05, 0.95)
        by_tree = state.grow(grown, start, rule, run.threads, progress, keep)
        run.progress(0.95, "building the tree")
        tree = tree_of(grown, order, _names(data, params, len(features)), params.heights)
        model = {**state.packed(grown, len(points)), "points": points, "row": order}
        told = grown.told
        return Fitted(
            tree=tree,
            model=Model(arrays=model),
            metrics={
                "n_masking_rotations": float(told[N_MASKED]),
                "n_balance_rotations": float(told[N_BALANCED]),
                "found_by_boxes": by_tree,
            },
            state=model if params.growable else None,
            warnings=(
                *_said_of_open(int(told[N_OPEN])),
                *_said_of_few(int(told[N_LEAVES]), params),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest point, of equally near ones the one that came first. That decides it:
        every probability is 1."""
        from models.methods.features.boxes import state

        features = data.dense("features")
        points = model.arrays["points"]
        require_width(features, points.shape[1])
        require_finite(features, "features")
        if features.size:
            require_squares(features)
        kind = np.result_type(points.dtype, precision(features.dtype))
        grown = state.unpacked(points.astype(kind, copy=False), model.arrays, len(points) + 1)
        near = state.find(grown, np.ascontiguousarray(features, dtype=kind))
        leaf = tree.leaf_of_point[model.arrays["row"][near]].astype(np.int64)
        start, node = paths(tree, leaf)
        return Predictions(leaf, start, node, np.ones(len(node)))


def _started(
    earlier: Earlier | None, points: npt.NDArray[Any], order: Int
) -> tuple[npt.NDArray[Any], Mapping[str, npt.NDArray[Any]] | None, Int]:
    """The points of an earlier job and these after them; its tree; the row of each point."""
    if earlier is None:
        return points, None, order
    old = earlier.state
    row = np.concatenate([old["row"], len(old["row"]) + order])
    return np.concatenate([old["points"], points]), old, row


def _names(data: Data, params: PerchParams, n_points: int) -> list[str] | None:
    """Names of all points, those of an earlier job first; None where leaves hold several."""
    if params.max_leaves is not None:
        if "names" in data:
            raise UsageError(
                "Input 'names' has one name for each point; with 'max_leaves' leaves hold several. "
                "Leave one of the two out.",
                code="wrong-input",
                role="names",
            )
        return None
    earlier = data.earlier()
    if earlier is None:
        return data.leaf_names(n_points, "point")
    before = [str(name) for name in earlier.tree.name[earlier.tree.leaf_of_point]]
    if "names" in data:
        return before + data.leaf_names(n_points, "point")
    return before + [str(len(before) + row) for row in range(n_points)]


def _check_base(earlier: Earlier, n_columns: int, params: PerchParams) -> None:
    if earlier.method != Perch.id or not earlier.state:
        raise UsageError(
            "Input 'base' must be a job of method 'perch' that was run with `growable`.",
            code="wrong-input",
            role="base",
        )
    if earlier.state["points"].shape[1] != n_columns:
        raise UsageError(
            f"Input 'features' has {n_columns} columns; the points of the job in 'base' have "
            f"{earlier.state['points'].shape[1]}.",
            code="wrong-shape",
            role="features",
        )
    before = PerchParams.model_validate(earlier.params)
    for name in ("max_leaves", "balance"):
        if getattr(before, name) != getattr(params, name):
            raise UsageError(
                f"Parameter {name!r} is {getattr(params, name)!r}; the job in 'base' had "
                f"{getattr(before, name)!r}, and it must be the same.",
                code="wrong-parameter",
                parameter=name,
            )


def _said_of_open(n_open: int) -> tuple[str, ...]:
    if not n_open:
        return ()
    return (
        f"{n_open} time(s) it was left open whether a subtree is masked, and it was not rotated: "
        "deciding it would have taken longer than all else.",
    )


def _said_of_few(n_leaves: int, params: PerchParams) -> tuple[str, ...]:
    if params.max_leaves is None or n_leaves >= params.max_leaves:
        return ()
    return (
        f"The tree has {n_leaves} leaves, not max_leaves = {params.max_leaves}: there are no more "
        "distinct points.",
    )
