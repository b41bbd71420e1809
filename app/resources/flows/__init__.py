"""The clusters of several levels, and how rows flow from level to level.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `picture`: its drawing.
"""
