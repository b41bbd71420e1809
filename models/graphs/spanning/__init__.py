"""The minimum spanning tree of points by Euclidean distance, exact.

- `tree`: the tree, and the merges of single linkage along it.
- `groups`: edges between groups that lie apart.
- `loops`: what is compiled.
"""
