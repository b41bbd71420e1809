"""What `hdbscan` is made of.

- `condensed`: the condensed tree, and the tree of its chosen clusters; start here.
- `library`: the clusters that the library hdbscan chooses; `loops` for merges at one distance.
- `placing`: new rows in it.
"""
