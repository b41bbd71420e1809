"""Namings: names for the nodes of a tree, from what the rows under them have in common.

`routes`: the operations; `schemas`: what goes over the wire.
"""
