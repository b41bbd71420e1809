"""The loops over leaves, classes, pairs and triples that metrics need, compiled by numba; serial.

The cells of a class (the leaves that hold points of it, from left to right) and the nodes at which
neighbouring cells meet form the subtree of that class. `purity` and `distance` complete its nodes
from the bottom up, in one pass with a stack: open nodes lie on the path from the root to the
current cell, so row numbers ascend in the stack, and a node is complete when a meeting above it is
read. `squared_gap` goes over pairs of cells of two trees, `least_costs` and `least_of_triangles`
over triples of points.

Compiled for these types when the module is imported, or taken from numba's cache, so a process
forked from one that has imported it compiles nothing. Only what computes metrics imports it.
"""

from __future__ import annotations

import numpy as np
from numba import types

from models.running.loops import njit

_INTS = types.Array(types.int64, 1, "C", readonly=True)
_INT32S = types.Array(types.int32, 1, "C", readonly=True)
_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_ROWS = types.Array(types.float64, 2, "C", readonly=True)
_SUMS = types.float64[:, ::1]
_MADE = types.int64[::1]


@njit([types.UniTuple(_MADE, 2)(_INT32S)], cache=True, nogil=True)
def intervals(parent):
    """The leaves under node v have the numbers `start[v]` to `end[v]` - 1, from left to right.

    parent : (n_nodes,) as in `Tree`. Returns `start` and `end`. O(n_nodes).
    """
    n_nodes = parent.size
    width = np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes - 1, 0, -1):
        width[node] = max(width[node], 1)
        width[parent[node]] += width[node]
    width[0] = max(width[0], 1)
    start = np.zeros(n_nodes, dtype=np.int64)
    end = np.zeros(n_nodes, dtype=np.int64)
    end[0] = width[0]
    free = np.zeros(n_nodes, dtype=np.int64)
    for node in range(1, n_nodes):
        start[node] = free[node] = free[parent[node]]
        free[parent[node]] += width[node]
        end[node] = free[parent[node]]
    return start, end


@njit([types.void(_INT32S, types.boolean[::1])], cache=True, nogil=True)
def mark_above(parent, marked):
    """Also mark every node above a marked one. O(n_nodes)."""
    for node in range(parent.size - 1, 0, -1):
        if marked[node]:
            marked[parent[node]] = True


@njit(cache=True, inline="always")
def _longest(class_start):
    """The largest number of cells of a class."""
    longest = 0
    for c in range(class_start.size - 1):
        longest = max(longest, class_start[c + 1] - class_start[c])
    return longest


@njit([types.float64(_INTS, _INTS, _INTS, _INTS)], cache=True, nogil=True)
def purity(class_start, count, meet, size):
    """Sum, over nodes and classes, of the pairs of the class that meet at the node times the share
    of the class among the points under it. Pairs within a cell are not counted.

    class_start : (n_classes + 1,) first cell of each class.
    count : (n_cells,) points in each cell.
    meet : (n_cells,) lowest node over a cell and the next, which may be of another class.
    size : (n_nodes,) points under each node.

    O(n_cells).
    """
    total = 0.0
    longest = _longest(class_start)
    node = np.empty(longest, dtype=np.int64)
    inside = np.empty(longest, dtype=np.int64)
    pairs = np.empty(longest, dtype=np.int64)
    for c in range(class_start.size - 1):
        last = class_start[c + 1] - 1
        top = -1
        for cell in range(class_start[c], last + 1):
            # Points under the open node's last child, once that is complete.
            below = count[cell]
            above = meet[cell] if cell < last else -1
            while top >= 0 and node[top] > above:
                pairs[top] += inside[top] * below
                below += inside[top]
                total += pairs[top] * (below / size[node[top]])
                top -= 1
            if above < 0:
                break
            if top >= 0 and node[top] == above:
                pairs[top] += inside[top] * below
                inside[top] += below
            else:
                top += 1
                node[top], inside[top], pairs[top] = above, below, 0
    return total


@njit([types.float64(_INTS, _INTS, _INTS, _INTS, _INTS, _FLOATS)], cache=True, nogil=True)
def distance(class_start, count, place_depth, meet, depth, value):
    """Sum of `value[edges between the two]` over pairs of points of one class in different cells.

    class_start, count, meet : as in `purity`.
    place_depth : (n_cells,) depth of each cell's leaf.
    depth : (n_nodes,) edges to the root.
    value : (2 * greatest depth + 1,) by number of edges.

    Under each open node the points are counted by depth; joining two such counts takes the product
    of their lengths. O(n_cells min(cells of a class, distinct depths of leaves)).
    """
    total = 0.0
    longest = _longest(class_start)
    node = np.empty(longest, dtype=np.int64)
    begin = np.empty(longest + 1, dtype=np.int64)
    # The counts of all open nodes in sequence, each by ascending depth, starting at `begin`.
    deep = np.empty(longest, dtype=np.int64)
    many = np.empty(longest, dtype=np.float64)
    deep_joined = np.empty(longest, dtype=np.int64)
    many_joined = np.empty(longest, dtype=np.float64)
    for c in range(class_start.size - 1):
        last = class_start[c + 1] - 1
        top = -1
        end = 0
        begin[0] = 0
        for cell in range(class_start[c], last + 1):
            deep[end], many[end] = place_depth[cell], count[cell]
            end += 1
            above = meet[cell] if cell < last else -1
            while top >= 0 and node[top] >= above:
                # Join the last child, begin[top + 1] to end, to the counts of the node.
                first, middle = begin[top], begin[top + 1]
                twice = 2 * depth[node[top]]
                for i in range(first, middle):
                    part = 0.0
                    for j in range(middle, end):
                        part += many[j] * value[deep[i] + deep[j] - twice]
                    total += many[i] * part
                i, j, n = first, middle, 0
                while i < middle or j < end:
                    at = min(deep[i] if i < middle else deep[j], deep[j] if j < end else deep[i])
                    amount = 0.0
                    if i < middle and deep[i] == at:
                        amount += many[i]
                        i += 1
                    if j < end and deep[j] == at:
                        amount += many[j]
                        j += 1
                    deep_joined[n], many_joined[n] = at, amount
                    n += 1
                for i in range(n):
                    deep[first + i], many[first + i] = deep_joined[i], many_joined[i]
                end = first + n
                top -= 1
            if above >= 0:
                # A node that was open already opens again, with its counts as its first child's.
                top += 1
                node[top] = above
                begin[top + 1] = end
    return total


@njit([types.float64(_SUMS, _INT32S, _INTS, _ROWS)], cache=True, nogil=True)
def add_points(total, leaf, factor, rows):
    """Add points to the sums of their leaves; the sum, over pairs of points in one leaf, of their
    product times the leaf's factor.

    total : (n_nodes, d), changed. leaf : (n,) leaf of each point. factor : (n_nodes,). rows : (n,
    d). O(n d).
    """
    products = 0.0
    for i in range(leaf.size):
        node = leaf[i]
        product = 0.0
        for j in range(rows.shape[1]):
            product += total[node, j] * rows[i, j]
            total[node, j] += rows[i, j]
        products += product * factor[node]
    return products


@njit([types.float64(_SUMS, _INT32S, _INTS)], cache=True, nogil=True)
def add_children(total, parent, factor):
    """Add leaves' sums up to the root; the sum, over pairs of points in different leaves, of their
    product times the factor of their lowest common ancestor.

    total : (n_nodes, d), 0 except for leaves, changed. parent, factor : (n_nodes,). O(n_nodes d).
    """
    products = 0.0
    for node in range(parent.size - 1, 0, -1):
        over = parent[node]
        product = 0.0
        for j in range(total.shape[1]):
            product += total[over, j] * total[node, j]
            total[over, j] += total[node, j]
        products += product * factor[over]
    return products


_TOP = np.int64(1 << 62)

_REORDERED = {"reassoc", "contract", "nsz", "nnan"}
"""Sums in any order; values are finite."""


@njit(
    [
        types.float64(
            *(_INTS, _INTS, _INTS, _FLOATS),
            *(_INTS, _FLOATS, _FLOATS, _FLOATS),
            *(_INTS, _FLOATS, _FLOATS, _FLOATS, _FLOATS),
        )
    ],
    cache=True,
    nogil=True,
    fastmath=_REORDERED,
)
def squared_gap(
    row_of_cell,
    member,
    start,
    count,
    meet,
    up,
    add,
    rate,
    row_meet,
    row_up,
    row_add,
    row_rate,
    alone,
):
    """Sum, over pairs of points in different cells, of two trees' squared difference of numbers.

    A cell is the set of points that share a leaf in both trees; a row is a leaf of the other tree
    that has points. Cells and rows are ordered from left to right in their tree. A tree's number
    for two leaves is `up` of their lowest common ancestor, times the lesser of their `rate`s, plus
    both their `add`s.

    row_of_cell, count : (n_cells,) each cell's row and number of points.
    member, start : the cells of row r are `member[start[r]:start[r + 1]]`, ascending.
    meet : (n_cells - 1,) lowest node over each cell and the next. row_meet : (n_rows - 1,).
    up, row_up : by node. add, rate : (n_cells,). row_add, row_rate : (n_rows,).
    alone : (n_rows,) the other tree's number for two points in one leaf.

    O(n_cells^2 + n_rows^2), about a nanosecond each.
    """
    n_rows = row_add.size
    number_of_row = np.empty(n_rows, dtype=np.float64)
    total = 0.0
    for row in range(n_rows):
        least = _TOP
        for at in range(row + 1, n_rows):
            least = min(least, row_meet[at - 1])
            share = min(row_rate[row], row_rate[at])
            number_of_row[at] = row_up[least] * share + row_add[row] + row_add[at]
        least = _TOP
        for at in range(row - 1, -1, -1):
            least = min(least, row_meet[at])
            share = min(row_rate[row], row_rate[at])
            number_of_row[at] = row_up[least] * share + row_add[row] + row_add[at]
        number_of_row[row] = alone[row]
        for place in range(start[row], start[row + 1]):
            cell = member[place]
            above, rows, counts = meet[cell:], row_of_cell[cell + 1 :], count[cell + 1 :]
            adds, rates = add[cell + 1 :], rate[cell + 1 :]
            own_add, own_rate = add[cell], rate[cell]
            least, high, part = _TOP, 0.0, 0.0
            for at in range(rows.size):
                if above[at] < least:
                    least = above[at]
                    high = up[least]
                gap = high * min(own_rate, rates[at]) + own_add + adds[at] - number_of_row[rows[at]]
                part += counts[at] * (gap * gap)
            total += count[cell] * part
    return total


_SQUARE = types.Array(types.float64, 2, "C", readonly=True)


"""Sums in any order, so that they become vectors; values are finite."""


_TILE_ROWS, _TILE_COLUMNS = 32, 512
"""Rows and columns of a tile of the matrix; two tiles fit in the cache of a core."""


@njit([types.float64(_SQUARE)], cache=True, nogil=True, fastmath=_REORDERED)
def least_costs(weight):
    """Sum, over unordered triples, of the two lesser of their three weights.

    weight : (n, n), of which the part above the diagonal is read. O(n^3), about a fifth of a
    nanosecond a triple.
    """
    total = 0.0
    n = weight.shape[0]
    for left in range(0, n, _TILE_COLUMNS):
        right = min(left + _TILE_COLUMNS, n)
        for top in range(0, right, _TILE_ROWS):
            for middle in range(top, right, _TILE_ROWS):
                for i in range(top, min(top + _TILE_ROWS, right)):
                    for j in range(max(middle, i + 1), min(middle + _TILE_ROWS, right - 1)):
                        first = max(left, j + 1)
                        one, other = weight[i, first:right], weight[j, first:right]
                        own = weight[i, j]
                        part = own * one.size
                        for k in range(one.size):
                            part += one[k] + other[k] - max(max(one[k], other[k]), own)
                        total += part
    return total


@njit([types.float64(_INTS, _INTS, _FLOATS)], cache=True, nogil=True)
def least_of_triangles(start, end, value):
    """Sum, over triangles of a graph, of their least weight.

    start : (n_points + 1,) the edges out of point v are those from `start[v]` to `start[v + 1]`.
    end, value : (n_edges,) the end of an edge, and its weight above 0. Each edge is stored once,
        directed so that there are no cycles.
    O(number of paths of two edges).
    """
    total = 0.0
    n_points = start.size - 1
    reached = np.zeros(n_points, dtype=np.float64)
    for u in range(n_points):
        for first in range(start[u], start[u + 1]):
            reached[end[first]] = value[first]
        for first in range(start[u], start[u + 1]):
            v = end[first]
            for second in range(start[v], start[v + 1]):
                closing = reached[end[second]]
                if closing > 0.0:
                    total += min(value[first], value[second], closing)
        for first in range(start[u], start[u + 1]):
            reached[end[first]] = 0.0
    return total
