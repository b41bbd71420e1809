"""Two trees of the same rows, or of leaves of the same names, side by side.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `pairs`: which rows or leaves of the two are the same, and which moved.
- `forms`: how it is served, by suffix or `Accept`.
- `picture`: its drawing.
"""
