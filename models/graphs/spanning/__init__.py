"""The minimum spanning tree of points, exact.

- `tree`: the tree, and the merges of single linkage along it.
- `rows`: the tree by distances that no search tree serves.
- `groups`: edges between groups that lie apart.
- `loops`: what is compiled.
"""
