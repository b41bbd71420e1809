"""The features that a model's transformation stretches: numbers, a table, a picture.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `picture`: its drawing.
"""
