"""What `hdbscan` is made of.

- `condensed`: the condensed tree, and the tree of its chosen clusters; start here.
- `placing`: new rows in it.
"""
