"""Which classes of a tree are taken for which.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `picture`: its drawing.
- `merges`: what it would gain and lose to make one class of several.
"""
