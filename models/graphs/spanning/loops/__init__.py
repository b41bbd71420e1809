"""The compiled loops of spanning trees; start with `joins`.

- `boxes`: a search tree of boxes over points.
- `tiles`: distances of a row to the points of a leaf, in vectors.
- `neighbours`: the nearest neighbours of each point.
- `pairs`: the shortest edge between two groups.
- `joins`: groups joined by their shortest edges, and the merges along a tree.
"""
