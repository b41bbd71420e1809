"""Merges of clusters in SciPy's numbering, compiled by numba."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def root(link, at):
    """The end of the links from `at`, which are shortened on the way."""
    while link[at] != at:
        link[at] = link[link[at]]
        at = link[at]
    return at


@njit(cache=True, nogil=True)
def merge(edges, link, node, size, merges):
    """Fill `merges`, (N - 1, 2), in SciPy's numbering, for the edges of a tree in their order, and
    `size`, (N - 1,), with the points under each; `link` and `node`, (N,), start as 0 .. N - 1."""
    n_points = len(link)
    for number in range(n_points - 1):
        one, other = root(link, edges[number, 0]), root(link, edges[number, 1])
        merges[number, 0] = min(node[one], node[other])
        merges[number, 1] = max(node[one], node[other])
        total = 0
        for part in (node[one], node[other]):
            total += 1 if part < n_points else size[part - n_points]
        size[number] = total
        link[one] = other
        node[other] = n_points + number
