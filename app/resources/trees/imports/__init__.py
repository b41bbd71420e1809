"""Imported trees: ground-truth hierarchies and other tools' trees.

`routes`: the operations.
"""
