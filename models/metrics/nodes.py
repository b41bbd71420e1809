"""A report on every node of a tree: its purity, its largest class and its most typical points.

Everything is counted from the leaves up along heavy paths (`loops.nodes`, `loops.nodes`), at
any depth and for any number of classes: O(N log N) time and O(N + n_nodes) memory for the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from models.arrays import Float, Int, Matrix, read_only
from models.errors import UsageError
from models.inputs.frames import Frame
from models.inputs.label_sets import LabelSets
from models.metrics import flat
from models.metrics.inputs import classes_of, features_of
from models.metrics.lca_order import LeafOrder
from models.metrics.loops import nodes
from models.running.progress import Progress, silent
from models.tree.tree import Tree

POOL = 64
"""The number of points compared for each node, as long as the nearest to its mean are among
them."""
MOST_VALUES = 40_000_000_000
"""The largest number of values read to verify that, some tens of seconds."""


@dataclass(frozen=True)
class NodeReport:
    """Columns of (n_nodes,) each.

    size : points under the node.
    class_name : the classes to which `majority` refers; None without labels, like all columns that
        need them.
    purity : share of the largest class; NaN without points.
    entropy : entropy of the classes, in nats; NaN without points.
    n_classes : number of classes that have points under the node.
    majority : number of the largest class, ties going to the first in sorted order; -1 without
        points.
    exemplars : (n_nodes, n) the points nearest to the mean of all, nearest first, -1 where there
        are fewer; None where no features were given.
    warnings : one sentence each.
    """

    size: Int
    class_name: list[int] | list[str] | None = None
    purity: Float | None = None
    entropy: Float | None = None
    n_classes: Int | None = None
    majority: Int | None = None
    exemplars: Int | None = None
    warnings: tuple[str, ...] = ()


def report_on_nodes(
    tree: Tree,
    *,
    labels: npt.NDArray[Any] | Sequence[Any] | LabelSets | None = None,
    features: Matrix | None = None,
    n_exemplars: int = 3,
    progress: Progress = silent,
) -> NodeReport:
    """Describe every node by the classes and the features of the points under it.

    labels, features : as in `models.metrics.catalogue.evaluate`; at least one of them. Exemplars
        need dense features.
    n_exemplars : largest number of exemplars of a node.

    Exemplars take O(N D log N) on a balanced tree and about as much on deep ones (see
    `loops.nodes`), and a copy of features that are neither float32 nor float64. Beyond
    `MOST_VALUES`, exemplars may be the nearest of some points instead of all, which gives a
    warning.

    Raises UsageError `wrong-input` without labels and features, and as `evaluate` for either.
    """
    if labels is None and features is None:
        raise UsageError(
            "A report on every node needs labels or features.", code="wrong-input", role="labels"
        )
    leaves = LeafOrder.of(tree)
    columns: dict[str, Any] = {}
    if labels is not None:
        progress(0.0, "classes of nodes")
        columns |= _classes(tree, leaves, labels)
    warnings: tuple[str, ...] = ()
    if features is not None:
        rows = features_of(features, tree.n_points)
        if sp.issparse(rows):
            warnings = ("Exemplars need dense features; these are sparse, so there are none.",)
        else:
            progress(0.3, "exemplars of nodes")
            framed = Frame.of(rows).rows(rows)
            assert isinstance(framed, np.ndarray)
            columns["exemplars"], n_unsure = _exemplars(tree, leaves, framed, n_exemplars)
            if n_unsure:
                warnings = (
                    f"The exemplars of {n_unsure} nodes are the nearest of some of their points, "
                    "not of all: that would take too long in a tree this deep.",
                )
    return NodeReport(tree.size, **columns, warnings=warnings)


def _classes(
    tree: Tree, leaves: LeafOrder, labels: npt.NDArray[Any] | Sequence[Any] | LabelSets
) -> dict[str, Any]:
    classes = classes_of(labels, tree.n_points)
    cells = flat.contingency(
        leaves.start[tree.leaf_of_point], classes.code, tree.n_leaves, max(classes.n_classes, 1)
    )
    place = np.searchsorted(cells.cluster, np.arange(tree.n_leaves + 1))
    start, end = place[leaves.start], place[leaves.end]
    most, majority, n_classes = (np.empty(tree.n_nodes, dtype=np.int64) for _ in range(3))
    entropy = np.empty(tree.n_nodes, dtype=np.float64)
    nodes.class_counts(
        tree.parent,
        nodes.heavy_children(tree.parent, start, end),
        start,
        end,
        cells.class_,
        cells.count,
        most,
        majority,
        n_classes,
        entropy,
    )
    purity = np.full(tree.n_nodes, np.nan)
    np.divide(most, tree.size, out=purity, where=tree.size > 0)
    return {
        "class_name": classes.name,
        "purity": purity,
        "entropy": entropy,
        "n_classes": n_classes,
        "majority": majority,
    }


def _exemplars(
    tree: Tree, leaves: LeafOrder, features: npt.NDArray[Any], n_exemplars: int
) -> tuple[Int, int]:
    """The exemplars, and the number of nodes for which they may not be the nearest."""
    place = leaves.start[tree.leaf_of_point]
    order = np.argsort(place, kind="stable")
    first = np.searchsorted(place[order], np.arange(tree.n_leaves + 1))
    start, end = first[leaves.start], first[leaves.end]
    narrow = features.dtype.itemsize <= 4 and features.dtype.kind == "f"
    chosen = np.empty((tree.n_nodes, n_exemplars), dtype=np.int64)
    heavy = nodes.heavy_children(tree.parent, start, end)
    rows = np.ascontiguousarray(features, dtype=np.float32 if narrow else np.float64)
    n_unsure = nodes.nearest(
        *map(read_only, (tree.parent, heavy, start, end, order, rows)),
        max(POOL, 4 * n_exemplars),
        MOST_VALUES // (features.shape[1] + 16),
        chosen,
    )
    return chosen, n_unsure
