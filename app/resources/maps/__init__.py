"""Maps: the points of a tree in the plane, and the node that fits an outline on one.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `picture`: its drawing; `names`: the names on it.
- `submission`: what a map is made of.
"""
