"""A growing tree as arrays, for compiled functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Int = npt.NDArray[np.int64]

NONE = -1

LEFT, RIGHT, HEAD, SOME, PLACE, WAIT = range(6)
"""Columns of `Grown.link`."""

PARENT, SIZE, LAST = range(3)
"""Columns of `Grown.above`."""

FOLLOW, OWNER, HOME = range(3)
"""Columns of `Grown.chain`."""

HEAP, FREE = range(2)
"""Rows of `Grown.lists`."""

ROOT, N_BOXES, N_FREE, N_HEAP, N_LEAVES, N_MASKED, N_BALANCED, N_PAIRS, N_OPEN, BOUNDED = range(10)
N_COUNTS = 10
"""Indices of `Grown.counts`: the root; boxes ever used; free boxes; nodes in the heap; leaves;
rotations for masking and for balance; pairs of points compared to decide masking; undecided cases;
and whether the number of leaves is limited, so that the heap is maintained."""


class Grown(NamedTuple):
    """The tree as arrays. Node v < n_boxes is boxed; node n_boxes + i is the leaf of point i.

    points : (n_points, n_columns) in order of insertion.
    box : (n_boxes, 2, n_columns) smallest and largest values under each boxed node.
    link : (n_boxes, 6) children, `LEFT` and `RIGHT`, NONE for a collapsed node, whose points are a
        chain from `HEAD` on; `SOME` point under the node; its `PLACE` in the heap, NONE outside;
        `WAIT`: the number of points its parent must have before balance is tried again there.
    above : (n_boxes + n_points, 3) `PARENT`, NONE for the root; `SIZE`, the number of points under
        the node; `LAST` point of the chain of a node without children. Points equal to a leaf's are
        in its chain.
    chain : (n_points, 3) the point to `FOLLOW`, NONE at the chain's end; the `OWNER`, a point that
        represents the chain; and, for an owner, its `HOME`, the node of the chain.
    lists : (2, n_boxes) `HEAP`: nodes whose children are leaves, smallest box first; `FREE` boxes
        for reuse.
    counts : (N_COUNTS,) counts, and the root.
    key, room : workspace of searches.
    """

    points: npt.NDArray[Any]
    box: npt.NDArray[Any]
    link: Int
    above: Int
    chain: Int
    lists: Int
    counts: Int
    key: npt.NDArray[np.float64]
    room: Int


@njit(cache=True)
def n_boxes(t):
    return t.link.shape[0]


@njit(cache=True)
def is_end(t, v):
    """Whether a node has no children."""
    return v >= n_boxes(t) or t.link[v, LEFT] < 0


@njit(cache=True)
def first(t, v):
    """First point of a node without children."""
    return v - n_boxes(t) if v >= n_boxes(t) else t.link[v, HEAD]


@njit(cache=True)
def some(t, v):
    """A point under a node."""
    return v - n_boxes(t) if v >= n_boxes(t) else t.link[v, SOME]


@njit(cache=True)
def box_of(t, v):
    """Smallest and largest values under a node."""
    if v >= n_boxes(t):
        point = t.points[v - n_boxes(t)]
        return point, point
    return t.box[v, 0], t.box[v, 1]


@njit(cache=True)
def sibling(t, v):
    above = t.above[v, PARENT]
    return t.link[above, RIGHT] if t.link[above, LEFT] == v else t.link[above, LEFT]
