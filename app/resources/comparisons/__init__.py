"""Comparisons: several methods and seeds on the same inputs, one table.

`routes`: the operations; `schemas`: what goes over the wire.
"""
