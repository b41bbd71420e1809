"""Compiled loops of consensus trees.

- `insertion`: clusters that fit are put into a tree one after the other.
- `transfer`: the least distance of each cluster to the clusters of another tree.
"""
