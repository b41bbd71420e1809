"""Positions of nodes in a drawing: geometry in the unit square, no shapes, no colours.

Works on the columns `parent` and `height` alone (parents before children, root first), so a whole
tree and a folded part of one are laid out by the same code. Nothing recurses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Scale = Literal["height", "sqrt", "rank", "depth", "level"]
"""What `y` shows: the `height` itself; its square root; its rank among the distinct heights; the
number of edges from the root; or the number of levels above the deepest leaf below the node, so
that all leaves stand at the end (a cladogram)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Places in the unit square, each column of shape (n_nodes,).

    x : position across, in left-to-right order of the leaves; an inner node stands midway between
        its first and its last child.
    y : position along, 0 at the highest node (the root), 1 at the lowest.
    left, right : the range of x of the node's subtree; [0, 1] for the root.
    """

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    left: npt.NDArray[np.float64]
    right: npt.NDArray[np.float64]


def layout(
    parent: npt.NDArray[np.integer],
    height: npt.NDArray[np.float64],
    *,
    scale: Scale = "height",
    lowest: float | None = None,
    weight: npt.NDArray[np.float64] | None = None,
) -> Layout:
    """Place the nodes. O(n_nodes).

    Parameters
    ----------
    parent, height : (n_nodes,) as in `Tree`; children of a node are ordered by row number.
    scale : what y shows; if all heights are equal, y is `level`.
    lowest : the height that stands at y = 1 (default: the lowest one given).
    weight : (n_nodes,) positive width of each tip (default 1 each); inner nodes' are not read.
    """
    left, right = _spans(parent, weight)
    return Layout(_across(parent, left, right), along(parent, height, scale, lowest), left, right)


def along(
    parent: npt.NDArray[np.integer],
    height: npt.NDArray[np.float64],
    scale: Scale = "height",
    lowest: float | None = None,
) -> npt.NDArray[np.float64]:
    """(n_nodes,) y of each node in [0, 1]; see `layout`. O(n_nodes), `rank` O(n_nodes log)."""
    if scale == "depth":
        depth = _depth(parent)
        return depth / max(1, int(depth.max()))
    low = float(height.min()) if lowest is None else min(lowest, float(height.min()))
    reach = float(height.max()) - low
    if scale == "level" or reach == 0.0:
        level = _level(parent)
        return 1.0 - level / max(1, int(level[0]))
    # Halved if the difference of two finite heights overflows.
    part = 1.0 if np.isfinite(reach) else 0.5
    share = (height * part - low * part) / (float(height.max()) * part - low * part)
    if scale == "sqrt":
        share = np.sqrt(np.clip(share, 0.0, 1.0))
    elif scale == "rank":
        distinct, rank = np.unique(share, return_inverse=True)
        share = (rank + (distinct[0] > 0.0)) / (len(distinct) - (distinct[0] <= 0.0))
    return np.clip(1.0 - share, 0.0, 1.0)


def readable_scale(parent: npt.NDArray[np.integer], height: npt.NDArray[np.float64]) -> Scale:
    """The simplest scale under which the inner nodes do not crowd at one end.

    `height` if the median inner node below the root is in the middle (0.15 to 0.9 of the root's
    height above the lowest node), else `sqrt` by the same test, else `rank`; `level` if all heights
    are equal. Merge orders 1 .. K-1 are even by themselves and stay `height`.
    """
    inner = np.bincount(parent[1:], minlength=len(parent)) > 0
    inner[0] = False
    if float(height.min()) == float(height.max()):
        return "level"
    if not inner.any():
        return "height"
    share = 1.0 - along(parent, height)[inner]
    middle = float(np.median(share))
    if 0.15 <= middle <= 0.9:
        return "height"
    return "sqrt" if 0.15**2 <= middle < 0.15 else "rank"


def _spans(
    parent: npt.NDArray[np.integer], weight: npt.NDArray[np.float64] | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(n_nodes,) left and right end of each subtree, with tips as wide as their weight."""
    n = len(parent)
    above = parent.tolist()
    tip = np.bincount(parent[1:], minlength=n) == 0
    width = np.where(tip, 1.0 if weight is None else weight, 0.0).tolist()
    for node in range(n - 1, 0, -1):
        width[above[node]] += width[node]
    left = [0.0] * n
    free = [0.0] * n
    for node in range(1, n):
        up = above[node]
        left[node] = free[node] = free[up]
        free[up] += width[node]
    total = width[0]
    start = np.array(left) / total
    return start, np.minimum(start + np.array(width) / total, 1.0)


def _across(
    parent: npt.NDArray[np.integer],
    left: npt.NDArray[np.float64],
    right: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """(n_nodes,) x: tips in the middle of their span, others midway between first and last
    child."""
    above = parent.tolist()
    x = ((left + right) / 2).tolist()
    last: list[float | None] = [None] * len(above)
    first = [0.0] * len(above)
    for node in range(len(above) - 1, -1, -1):
        end = last[node]
        if end is not None:
            x[node] = (first[node] + end) / 2
        up = above[node]
        if up >= 0:
            first[up] = x[node]
            if last[up] is None:
                last[up] = x[node]
    return np.array(x)


def _depth(parent: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    depth = [0] * len(parent)
    above = parent.tolist()
    for node in range(1, len(above)):
        depth[node] = depth[above[node]] + 1
    return np.array(depth, dtype=np.int64)


def _level(parent: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """(n_nodes,) edges on the longest way down to a leaf."""
    level = [0] * len(parent)
    above = parent.tolist()
    for node in range(len(above) - 1, 0, -1):
        level[above[node]] = max(level[above[node]], level[node] + 1)
    return np.array(level, dtype=np.int64)
