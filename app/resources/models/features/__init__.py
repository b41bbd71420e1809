"""The features that distinguish a tree's nodes, as a table.

`routes`: the operations; `schemas`: what goes over the wire.
"""
