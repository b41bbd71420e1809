"""Compiled loops of `models.graphs`; numba types them.

- `boxes`: the search tree of points, and neighbours found in it; start here.
- `joins`: edges between groups, and steps of a tree that grows from a point.
- `reach`: groups joined along the edges of a graph.
"""
