"""Aliases: names such as `champion` that are moved from one tree to the next.

Start with `routes`. How an alias stands for an id in other requests: `app.http.aliased`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
"""
