"""Drifts: two samples of rows compared in a tree, and what moved from one to the other.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `picture`: its drawing.
"""
