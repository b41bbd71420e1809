"""The paths of a model's clusters over time: numbers, a table, a picture.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `clusters`: chosen clusters, a few periods at a time.
"""
