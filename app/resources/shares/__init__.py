"""Shares: links that show a tree to whoever has them, until they end or are revoked.

`routes`: the operations; `schemas`: what goes over the wire.
"""
