"""Labels of a tree's points or leaves: numbered, and counted under a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Int, Int32
from models.errors import UsageError
from models.tree.leaf_ranges import spans
from models.tree.tree import Tree

if TYPE_CHECKING:
    import pyarrow as pa


_SLICE = 1 << 15
"""The number of texts converted at a time, while the interpreter lock is held."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels by number, the most frequent first, equally frequent ones in sorted order.

    of : whether there is a label per row or per leaf, in the order of the leaves' node ids.
    code : (n,) number of the label of each row or leaf, -1: none.
    text : (n_labels,) the labels, an Arrow array.
    times : (n_labels,) number of rows or leaves with each label.
    in_order : (n_labels,) position of each label in sorted order.
    """

    of: Literal["row", "leaf"]
    code: Int32
    text: pa.StringArray
    times: npt.NDArray[np.int64]
    in_order: npt.NDArray[np.int64]

    @property
    def n_labels(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True)
class Mix:
    """The labels under a node.

    n : number of points (or leaves) with a label. n_labels : number of different labels.
    purity, entropy : share of the most frequent label, and entropy in nats; None if n is 0.
    most : the most frequent labels, as number, times and share.
    """

    n: int
    n_labels: int
    purity: float | None
    entropy: float | None
    most: list[tuple[int, int, float]]


def labels(tree: Tree, values: npt.NDArray[Any] | Sequence[str | None]) -> Labels:
    """Number `values`, one per row of the tree or else per leaf: integers, texts, None for none.

    If a tree has as many rows as leaves they are taken by row. Raises UsageError `wrong-shape` for
    another length. O(n log n), releasing the interpreter lock in between.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(values) not in (tree.n_points, tree.n_leaves):
        raise UsageError(
            f"There are {len(values)} labels; the tree has {tree.n_points} rows and "
            f"{tree.n_leaves} leaves, and takes one label for each row or each leaf.",
            code="wrong-shape",
        )
    coded = _arrow(values).dictionary_encode()
    first = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
    times = np.bincount(first[first >= 0], minlength=len(coded.dictionary))
    order = pc.sort_indices(
        pa.table({"times": times, "label": coded.dictionary}),
        sort_keys=[("times", "descending"), ("label", "ascending")],
    )
    label = coded.dictionary.take(order)
    # One bin more: rows without a label have the number -1.
    number = np.full(len(label) + 1, -1, dtype=np.int32)
    number[order.to_numpy()] = np.arange(len(label))
    return Labels(
        "row" if len(values) == tree.n_points else "leaf",
        number[first],
        label.cast(pa.string()),
        times[order.to_numpy()],
        _inverse(pc.sort_indices(label).to_numpy().astype(np.int64)),
    )


def mix(tree: Tree, labels: Labels, node: int, most: int = 20, *, leaves: Int | None = None) -> Mix:
    """The labels under a node, the `most` frequent by number. O(n).

    leaves : rows of the leaves in the order of labels per leaf; None: in row order.
    """
    if labels.of == "row":
        inside = labels.code[spans(tree).rows(tree, node)]
    else:
        place = spans(tree).start[tree.leaves if leaves is None else leaves]
        begin = int(spans(tree).start[node])
        within = (place >= begin) & (place < begin + int(spans(tree).count[node]))
        inside = labels.code[within]
    times = np.bincount(inside[inside >= 0], minlength=labels.n_labels)
    n = int(times.sum())
    if n == 0:
        return Mix(0, 0, None, None, [])
    order = np.argsort(-times, kind="stable")[:most]
    share = times[times > 0] / n
    return Mix(
        n,
        int(np.count_nonzero(times)),
        float(share.max()),
        # Not -0.0 where there is one label.
        max(0.0, -float(share @ np.log(share))),
        [(int(code), int(times[code]), float(times[code] / n)) for code in order if times[code]],
    )


def leaf_codes(tree: Tree, labels: Labels) -> Int32:
    """(n_leaves,) the most frequent label of each leaf's rows, by node id; -1 without any.

    Ties go to the first in sorted order. O(n_points log n_points).
    """
    if labels.of == "leaf":
        return labels.code
    code = np.full(tree.n_nodes, -1, dtype=np.int32)
    known = np.flatnonzero(labels.code >= 0)
    leaf, label = tree.leaf_of_point[known], labels.code[known]
    code[leaf] = label
    if np.any(code[leaf] != label):
        pair, times = np.unique(
            leaf * np.int64(labels.n_labels) + labels.in_order[label], return_counts=True
        )
        leaf, place = np.divmod(pair, labels.n_labels)
        # The last of a leaf's pairs in this order is its most frequent label.
        best = np.lexsort((-place, times, leaf))
        last = best[np.flatnonzero(np.diff(leaf[best], append=-1))]
        code[leaf[last]] = _inverse(labels.in_order)[place[last]]
    return code[tree.leaves]


def _arrow(values: npt.NDArray[Any] | Sequence[str | None]) -> pa.Array:
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype.kind in "iub":
        return pa.array(values)
    parts = [
        pa.array(values[start : start + _SLICE], pa.string())
        for start in range(0, len(values), _SLICE)
    ]
    return pa.chunked_array(parts, pa.string()).combine_chunks()


def _inverse(order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place
