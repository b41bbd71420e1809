"""The loops of `class_trees` that numba compiles.

- `ranks`: the range of rows, and the sums over them.
"""
