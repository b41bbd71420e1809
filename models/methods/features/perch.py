"""PERCH: a binary tree grown point by point, with rotations that keep it pure.

A new point becomes the sibling of its nearest leaf. Then, from that leaf up, a subtree whose points
are all nearer to all of its aunt than to any of its sibling is *masked*: sibling and aunt are
exchanged. If all points of a cluster are nearer to each other than to any other point, each cluster
is a subtree, whatever the order of the points. With `balance`, sibling and aunt are also exchanged
where that makes the tree more balanced and a point of the subtree is nearer to a point of the aunt
than to one of the sibling, which splits no such cluster; trees are shallower and, on most real
data, slightly less pure.

Points are inserted in an order drawn from the seed, or in the order of their rows (`order`). Rows
of equal points are siblings at height 0. With `max_leaves`, whenever there are more leaves, the
node with the smallest bounding box among those whose two children are leaves becomes a leaf with
all their points.

`diameter` is the diagonal of a node's bounding box. Heights are the diameter times the number of
points, so that cutting the tree into k clusters follows PERCH's own rule: collapse the node of
lowest cost until k are left. With `heights: diameter` nodes are collapsed as by `max_leaves`.

An earlier job that was `growable` may be given as `base`: its tree is grown further.

Source: Kobren, Monath, Krishnamurthy and McCallum, "A Hierarchical Algorithm for Extreme
Clustering" (2017), sections 3 to 5. The paper defines masking by one point of the subtree
that is nearer to a point of the aunt than to one of the sibling, which makes chains of data without
such clusters; the authors' program requires it of all points, by bounds, and so does this one, but
exactly. The program's bounds, from the corners of boxes, do not hold beyond one column; the bounds
of `boxes.loops.layout` do.

Cost: a search for the nearest earlier point of each point. Bounding boxes rule out most points
where clusters are well separated or columns are few; elsewhere all are compared: N^2 D / 2
multiplications, about 0.5 s for 10,000 points of 64 columns, 35 s for 100,000, 7 s for 10,000 of
1,280, on one core; threads share them. Memory: 3 N D values in single or double precision (N D and
4 L D with `max_leaves` L) and about 200 bytes a point; the model keeps N D values.

Measured: CPU time as N^1.3 D^0.4, from 2,000 x 32 to four times each, iterations bounded (`python
-m bench costs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from models.arrays import Int, row_blocks
from models.clusters.placing import at_leaves
from models.errors import UsageError
from models.inputs.checks import require_points, require_squares, require_width
from models.inputs.data import Data, Earlier, require_finite
from models.method import Fitted, Input, Method, Model, Paper, Predictions, Run, Shapes
from models.parameters import Params, Seed
from models.running.budget import Cost
from models.running.progress import subprogress
from models.tree.tree import Tree


def canonical(points: npt.NDArray[Any]) -> Int:
    """(n_points,) row numbers sorted by a 64-bit hash of the rows: by content, not by position.

    Equal rows, and different rows of equal hash (about one pair in 2^64), keep their order. Reads
    the points by blocks. O(N (D + log N)).
    """
    n_points, n_columns = points.shape
    hashes = np.empty(n_points, dtype=np.uint64)
    multipliers = np.random.default_rng(0).integers(2**63, size=n_columns, dtype=np.uint64) * 2 + 1
    for block in row_blocks(n_points, n_columns, 1 << 20):
        # Adding 0 turns -0.0 into 0.0.
        bits = (points[block].astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(32)
        hashes[block] = (bits * multipliers).sum(axis=1)
    return np.argsort(hashes, kind="stable")


def precision(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """float32 where it represents all values of the type, otherwise float64."""
    small = dtype.itemsize <= 2 and dtype.kind in "iuf"
    return np.float32 if small or dtype.kind == "b" or dtype == np.float32 else np.float64


def gathered(points: npt.NDArray[Any], order: Int) -> npt.NDArray[Any]:
    """`points[order]` in its `precision`, read once, by blocks."""
    ordered = np.empty(points.shape, dtype=precision(points.dtype))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    for block in row_blocks(len(points), points.shape[1], 1 << 20):
        ordered[place[block]] = points[block]
    return ordered


TRIES, LOOKS, BOUNDS, AGAIN = 64, 32, 64, 1.1
"""Effort of the search for rotations; see `boxes.loops.rotation.Rule`."""


class PerchParams(Params):
    max_leaves: int | None = Field(
        None,
        ge=2,
        le=10_000_000,
        description=(
            "Largest number of leaves; with more, the node with the smallest bounding box among "
            "those whose children are leaves becomes a leaf. Default: a leaf for each point."
        ),
    )
    balance: bool = Field(
        False,
        description="Whether to also rotate for balance: trees are shallower, often less pure.",
    )
    order: Literal["shuffled", "given"] = Field(
        "shuffled",
        description=(
            "Order in which points are inserted: 'shuffled' by the seed, whatever the order of "
            "the rows, or as 'given'."
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
            "Keep what a later job needs to continue this one with more points (`base`): the "
            "points and about 120 bytes for each."
        ),
    )
    seed: Seed = 0


class Perch(Method[PerchParams]):
    """See the module's docstring."""

    title = "PERCH"
    paper = Paper("A Hierarchical Algorithm for Extreme Clustering", 2017, "KDD, sections 3 to 5")
    Params = PerchParams
    cost = Cost(3e-7, rows=1.3, columns=0.5)
    inputs = {
        "features": Input(description="One row per point."),
        "names": Input(required=False, one_per="row", description="One name per point."),
        "base": Input(
            required=False,
            description=(
                "An earlier job, run with `growable`, whose points come before these: the tree "
                "holds all points, the earlier job's first."
            ),
        ),
    }
    outputs = ("tree", "model")
    placing = "the leaf of the nearest point of the fit"
    advice = "Set 'max_leaves' or send the features in single precision."

    def _memory(self, shapes: Shapes, params: PerchParams) -> int:
        if len(shapes.get("features", ())) != 2:
            return 0
        n_points, n_columns = shapes["features"]
        n_boxes = n_points
        if params.max_leaves is not None:
            n_boxes = min(n_points, 2 * params.max_leaves + 2)
        # At least single precision; the model keeps the points.
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
        # Compiled code, which the catalogue must not load.
        from models.methods.features.boxes import state
        from models.methods.features.boxes.loops.layout import (
            N_BALANCED,
            N_LEAVES,
            N_MASKED,
            N_OPEN,
        )
        from models.methods.features.boxes.loops.rotation import Rule
        from models.methods.features.boxes.state import tree_of

        features = data.dense("features")
        run.progress(0.0, "reading points")
        order = np.arange(len(features))
        if params.order == "shuffled":
            order = canonical(features)[run.rng.permutation(len(features))]
        points, earlier_state, order = _started(data.earlier(), gathered(features, order), order)
        saved = run.checkpoint.load()
        if saved is not None:
            earlier_state = saved
        most_leaves = params.max_leaves or len(points) + 1
        start = 0 if earlier_state is None else int(earlier_state["n_inserted"][0])
        if earlier_state is None:
            boxes = state.empty(points, most_leaves)
        else:
            boxes = state.unpacked(points, earlier_state, most_leaves)
        rule = Rule(most_leaves, BOUNDS, 0, TRIES if params.balance else 0, LOOKS, AGAIN)

        def keep(n_inserted: int) -> None:
            run.checkpoint.save(state.packed(boxes, n_inserted))

        progress = subprogress(run.progress, 0.05, 0.95)
        by_tree = state.grow(boxes, start, rule, run.threads, progress, keep)
        run.progress(0.95, "building the tree")
        tree = tree_of(boxes, order, _names(data, params, len(features)), params.heights)
        model = {**state.packed(boxes, len(points)), "points": points, "row": order}
        counts = boxes.counts
        return Fitted(
            tree=tree,
            model=Model(arrays=model),
            metrics={
                "n_masking_rotations": float(counts[N_MASKED]),
                "n_balance_rotations": float(counts[N_BALANCED]),
                "found_by_boxes": by_tree,
            },
            state=model if params.growable else None,
            warnings=(
                *_open_warnings(int(counts[N_OPEN])),
                *_leaf_warnings(int(counts[N_LEAVES]), params),
            ),
        )

    def _predict(self, model: Model, tree: Tree, data: Data) -> Predictions:
        """Leaf of the nearest point, ties to the earliest; every probability is 1."""
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
        return at_leaves(self.id, tree, leaf)


def _started(
    earlier: Earlier | None, points: npt.NDArray[Any], order: Int
) -> tuple[npt.NDArray[Any], Mapping[str, npt.NDArray[Any]] | None, Int]:
    """The points of an earlier job followed by these; its state; the row of each point."""
    if earlier is None:
        return points, None, order
    old = earlier.state
    row = np.concatenate([old["row"], len(old["row"]) + order])
    return np.concatenate([old["points"], points]), old, row


def _names(data: Data, params: PerchParams, n_points: int) -> list[str] | None:
    """Names of all points, an earlier job's first; None where leaves hold several points."""
    if params.max_leaves is not None:
        if "names" in data:
            raise UsageError(
                "Input 'names' has one name for each point, but with 'max_leaves' a leaf holds "
                "several points. Leave one of the two out.",
                code="wrong-input",
                role="names",
            )
        return None
    earlier = data.earlier()
    if earlier is None:
        return data.leaf_names(n_points, "point")
    earlier_names = [str(name) for name in earlier.tree.name[earlier.tree.leaf_of_point]]
    if "names" in data:
        return earlier_names + data.leaf_names(n_points, "point")
    return earlier_names + [str(len(earlier_names) + row) for row in range(n_points)]


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
    earlier_params = PerchParams.model_validate(earlier.params)
    for name in ("max_leaves", "balance"):
        if getattr(earlier_params, name) != getattr(params, name):
            raise UsageError(
                f"Parameter {name!r} is {getattr(params, name)!r}; the job in 'base' had "
                f"{getattr(earlier_params, name)!r}, and it must be the same.",
                code="wrong-parameter",
                parameter=name,
            )


def _open_warnings(n_open: int) -> tuple[str, ...]:
    if not n_open:
        return ()
    return (
        f"In {n_open} case(s) it was not decided whether a subtree is masked, and the subtree was "
        "not rotated: the decision would have taken longer than the rest of the run.",
    )


def _leaf_warnings(n_leaves: int, params: PerchParams) -> tuple[str, ...]:
    if params.max_leaves is None or n_leaves >= params.max_leaves:
        return ()
    return (
        f"The tree has {n_leaves} leaves, not max_leaves = {params.max_leaves}: there are no more "
        "distinct points.",
    )
