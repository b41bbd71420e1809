"""A grown PERCH tree as a `Tree`."""

from __future__ import annotations

from typing import Literal

import numpy as np

from models.arrays import Float, Int, row_blocks
from models.methods.features.boxes.loops.layout import HOME, LEFT, NONE, OWNER, PARENT, SIZE, Grown
from models.methods.features.boxes.state import boxes_in_use
from models.tree.build import from_parents
from models.tree.tree import Tree


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
