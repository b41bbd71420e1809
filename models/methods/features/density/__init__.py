"""What `hdbscan` is made of.

- `condensed`: the condensed tree, and the tree of its chosen clusters; start here.
- `clustering`: which clusters are chosen; `loops` for merges at one distance.
- `placing`: new rows in it.
"""
