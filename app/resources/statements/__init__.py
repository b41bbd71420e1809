"""Statements about a tree, as labels of its rows.

`routes`: the operations; `schemas`: what goes over the wire; `submission`: statements as labels of
rows.
"""
