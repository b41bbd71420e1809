"""Attachments: the items that a tree's rows or leaves are, beside the tree.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`: how it is served, by suffix or `Accept`.
- `submission`: what items are ranked by.
"""
