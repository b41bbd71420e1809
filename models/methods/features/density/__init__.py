"""What `hdbscan` is made of.

- `condensed`: the condensed tree, and the tree of its chosen clusters; start here.
- `clustering`: which clusters are chosen; `loops` for merges at one distance and walks in the tree.
- `nearest`: the cluster nearest to a row of noise.
- `placing`: new rows in it.
"""
