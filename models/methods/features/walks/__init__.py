"""Trees of points by walks among neighbours, and the consensus of several, for `point-tree`.

- `consensus`: which trees are made, and the tree that they agree on; start here.
- `grouping`: points merged into few enough groups.
- `similarities`: walks along a graph of neighbours.
- `loops`: what is compiled.
"""
