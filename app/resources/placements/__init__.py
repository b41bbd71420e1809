"""Placements: classes and subtrees of a hierarchy that seem out of place by a tree of the classes.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `picture`: its drawing.
"""
