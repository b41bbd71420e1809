"""Calibrations: answers of a tree that hold the truth as often as promised.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `picture`: its drawing.
"""
