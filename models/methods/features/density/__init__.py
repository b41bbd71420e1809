"""What `hdbscan` is made of.

- `clusters`: the condensed tree, which clusters are chosen, and their tree; start here.
- `loops`: merges at one distance and walks in the tree, compiled.
- `placing`: new rows in the clusters; the cluster nearest to a row of noise.
"""
