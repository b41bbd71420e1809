"""Editions: what people change of a tree, without changing the tree.

`routes`: the operations; `schemas`: what goes over the wire.
"""
