"""The minimum spanning tree of points, exact.

- `tree`: the tree of points by a search tree; start here.
- `rows`: the edges and the merges along them; the tree by distances that no search tree serves.
- `groups`: edges between groups that lie apart.
- `loops`: what is compiled.
"""
