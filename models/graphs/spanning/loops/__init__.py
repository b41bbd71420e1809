"""The compiled loops of spanning trees; start with `joins`.

- `boxes`: a search tree of boxes over points.
- `neighbours`: the nearest neighbours of each point.
- `pairs`: the shortest edge between two groups.
- `joins`: groups joined by their shortest edges.
- `rows`: a tree that grows point by point.
"""
