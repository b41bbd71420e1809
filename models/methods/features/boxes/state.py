"""The state of a PERCH tree: created, grown, saved, restored, and given as a `Tree`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from models.arrays import Arrays, Float, Int, row_blocks
from models.methods.features.boxes.loops.insertion import advance
from models.methods.features.boxes.loops.layout import (
    BOUNDED,
    FREE,
    HOME,
    LEFT,
    N_BOXES,
    N_COUNTS,
    N_FREE,
    N_HEAP,
    NONE,
    OWNER,
    PARENT,
    PLACE,
    RIGHT,
    ROOT,
    SIZE,
    Grown,
)
from models.methods.features.boxes.loops.rotation import Rule, review_all, wrap_all
from models.methods.features.boxes.loops.search import scan, search
from models.running.progress import Progress
from models.tree.build import from_parents
from models.tree.tree import Tree

BLOCK = 256
"""Number of points inserted at a time."""

OPENED = 32
"""A tree search may open one node per this many points; beyond that a full scan is faster."""

PROBES = 4
"""Number of trial tree searches per block, to test whether they have become faster."""

PAIRS, MORE_PAIRS = 1_000_000, 2
"""Limit on the pairs of points compared to decide masking: a base, and a number for each pair of
inserted points. For any data, masking thus takes at most a few times as long as the searches."""


def empty(points: npt.NDArray[Any], most_leaves: int) -> Grown:
    """A tree without points.

    points : (n_points, D) float32 or float64, the points to be inserted, in order.
    """
    n_points, n_columns = points.shape
    bounded = most_leaves < n_points
    # Inner and collapsed nodes, with an additional one during an insertion.
    n_boxes = max(1, min(2 * most_leaves + 2, n_points - 1))
    t = Grown(
        points=points,
        box=np.empty((n_boxes, 2, n_columns), dtype=points.dtype),
        link=np.full((n_boxes, 6), NONE, dtype=np.int64),
        above=np.full((n_boxes + n_points, 3), NONE, dtype=np.int64),
        chain=np.full((n_points, 3), NONE, dtype=np.int64),
        lists=np.full((2, n_boxes), NONE, dtype=np.int64),
        counts=np.zeros(N_COUNTS, dtype=np.int64),
        key=np.empty(2 * n_boxes + 8),
        room=np.empty((4, max(2 * n_boxes, n_points) + 8), dtype=np.int64),
    )
    t.counts[ROOT] = NONE
    t.counts[BOUNDED] = bounded
    return t


def packed(t: Grown, n_inserted: int) -> dict[str, npt.NDArray[Any]]:
    """The tree without its points, for `unpacked`; boxes and the heap can be recomputed."""
    return {
        "link": t.link[: t.counts[N_BOXES]],
        "above": t.above,
        "chain": t.chain,
        "free": t.lists[FREE, : t.counts[N_FREE]],
        "told": t.counts,
        "n_inserted": np.array([n_inserted], dtype=np.int64),
    }


def unpacked(points: npt.NDArray[Any], saved: Arrays, most_leaves: int) -> Grown:
    """The tree restored from `packed`.

    points : its points and possibly more, as in `empty`. O(n_points D).
    """
    t = empty(points, most_leaves)
    chain, above = saved["chain"], saved["above"]
    old_boxes, n_boxes = len(above) - len(chain), len(t.link)
    # Leaves are numbered after the boxes.
    used = int(saved["told"][N_BOXES])
    t.link[:used] = saved["link"]
    t.above[:used] = above[:used]
    t.above[n_boxes : n_boxes + len(chain)] = above[old_boxes:]
    t.chain[: len(chain)] = chain
    bounded = t.counts[BOUNDED]
    t.counts[:] = saved["told"]
    t.counts[BOUNDED], t.counts[N_HEAP] = bounded, 0
    t.lists[FREE, : saved["free"].size] = saved["free"]
    for ids in (
        t.link[:used, LEFT],
        t.link[:used, RIGHT],
        t.chain[:, HOME],
        t.counts[ROOT : ROOT + 1],
    ):
        ids[ids >= old_boxes] += n_boxes - old_boxes
    t.link[:used, PLACE] = NONE
    wrap_all(t, boxes_in_use(t))
    review_all(t)
    return t


def boxes_in_use(t: Grown) -> Int:
    """The boxes of inner and collapsed nodes, children before their parents, which are larger."""
    used = np.zeros(len(t.link), dtype=bool)
    used[: t.counts[N_BOXES]] = True
    used[t.lists[FREE, : t.counts[N_FREE]]] = False
    boxes = np.flatnonzero(used)
    return boxes[np.argsort(t.above[boxes, SIZE], kind="stable")]


def grow(
    t: Grown,
    start: int,
    rule: Rule,
    threads: int,
    progress: Progress,
    keep: Callable[[int], None],
) -> float:
    """Insert the points from number `start` on; returns the share placed by tree searches.

    keep : called regularly with the number of inserted points.

    The nearest neighbour of a point does not depend on the tree. If the boxes rule out too few
    points, blocks of new points are therefore compared with all earlier ones on `threads` threads.
    Both searches are exact and agree.
    """
    n_points = len(t.points)
    near = np.empty(BLOCK, dtype=np.int64)
    away = np.empty(BLOCK)
    by_tree, n_by_tree = True, 0
    with ThreadPoolExecutor(threads) as pool:
        for begin in range(start, n_points, BLOCK):
            progress(begin / n_points, "inserting points", f"{begin:,} of {n_points:,}")
            if begin > start:
                keep(begin)
            end = min(begin + BLOCK, n_points)
            looks = begin // OPENED + OPENED
            rows = t.points[begin:end]
            now = rule._replace(most_pairs=PAIRS + MORE_PAIRS * begin * begin)
            if not by_tree:
                probes = rows[:PROBES]
                by_tree = begin > 0 and not search(t, probes, looks, near[:PROBES], away[:PROBES])
            near[:], away[:] = NONE, np.inf
            seen = 0 if by_tree else begin
            _scan_in_shares(pool, threads, rows, t.points, seen, near, away)
            given_up = advance(t, begin, end, seen, near, away, looks, now)
            if by_tree:
                n_by_tree += end - begin - given_up
                by_tree = 2 * given_up < end - begin
    return n_by_tree / max(1, n_points - start)


def _scan_in_shares(
    pool: ThreadPoolExecutor,
    threads: int,
    rows: npt.NDArray[Any],
    points: npt.NDArray[Any],
    n_points: int,
    near: Int,
    away: npt.NDArray[np.float64],
) -> None:
    cuts = np.linspace(0, len(rows), threads + 1).astype(int)
    shares = [slice(a, b) for a, b in pairwise(cuts.tolist()) if b > a]
    scans = [
        pool.submit(scan, rows[share], points, 0, n_points, near[share], away[share])
        for share in shares
    ]
    for future in scans:
        future.result()


def find(t: Grown, rows: npt.NDArray[Any]) -> Int:
    """(n_rows,) the nearest point of each row, ties to the earliest.

    The search uses the tree where that suffices, otherwise a full scan.
    """
    n_points = len(t.points)
    near = np.full(len(rows), NONE, dtype=np.int64)
    away = np.full(len(rows), np.inf)
    for begin in range(0, len(rows), BLOCK):
        block = slice(begin, min(begin + BLOCK, len(rows)))
        looks = n_points // OPENED + OPENED
        probes = slice(begin, min(begin + PROBES, len(rows)))
        search(t, rows[probes], looks, near[probes], away[probes])
        if (near[probes] >= 0).all():
            search(t, rows[block], looks, near[block], away[block])
        open_rows = np.flatnonzero(near[block] < 0) + begin
        if open_rows.size:
            scanned, far = near[open_rows], np.full(open_rows.size, np.inf)
            scan(rows[open_rows], t.points, 0, n_points, scanned, far)
            near[open_rows] = scanned
    return near


def tree_of(
    t: Grown, row: Int, names: list[str] | None, heights: Literal["cost", "diameter"]
) -> Tree:
    """The tree over the rows; `row[i]` is the row of point i.

    names : one for each row, which then has its own leaf; rows of equal points are siblings at
        height 0. None: a leaf holds all of its points, and leaves are numbered from the largest on,
        ties ordered by their first rows.

    Column `diameter` is the diagonal of a node's bounding box, an upper bound on the distance of
    any two of its points. O(n_points D).
    """
    inner = boxes_in_use(t)
    inner = inner[t.link[inner, LEFT] >= 0]
    n_inner = inner.size
    home = t.chain[t.chain[:, OWNER], HOME]
    # Inner nodes come first, then nodes without children: collapsed nodes and leaves.
    nodes = np.concatenate([inner, np.unique(home)])
    number = np.full(len(t.above) + 1, NONE, dtype=np.int64)
    number[nodes] = np.arange(nodes.size)
    parent = number[t.above[nodes, PARENT]]
    diameter = _diameters(t, nodes)
    size = t.above[nodes, SIZE]
    leaf = np.empty(len(row), dtype=np.int64)
    leaf[row] = number[home]
    name = np.full(nodes.size, None, dtype=object)
    if names is None:
        first = np.full(nodes.size, len(row), dtype=np.int64)
        np.minimum.at(first, leaf, np.arange(len(row)))
        order = np.lexsort((first[n_inner:], -size[n_inner:])) + n_inner
        name[order] = [str(rank) for rank in range(order.size)]
    else:
        alone = size[leaf] == 1
        name[leaf[alone]] = [names[i] for i in np.flatnonzero(alone)]
        # Each of the other rows gets its own leaf under the node that holds its point.
        several = np.flatnonzero(~alone)
        parent = np.concatenate([parent, leaf[several]])
        diameter = np.concatenate([diameter, np.zeros(several.size)])
        size = np.concatenate([size, np.ones(several.size, dtype=np.int64)])
        name = np.concatenate([name, np.array([names[i] for i in several], dtype=object)])
        leaf[several] = nodes.size + np.arange(several.size)
    height = diameter * size if heights == "cost" else diameter
    return from_parents(parent, height, name, leaf, extra={"diameter": diameter})


def _diameters(t: Grown, nodes: Int) -> Float:
    diameter = np.zeros(nodes.size)
    boxed = np.flatnonzero(nodes < len(t.link))
    for block in row_blocks(boxed.size, t.box.shape[2], 1 << 20):
        at = boxed[block]
        low, high = t.box[nodes[at], 0], t.box[nodes[at], 1]
        sides = high.astype(np.float64) - low
        diameter[at] = np.sqrt(np.einsum("nd,nd->n", sides, sides))
    return diameter
