"""Maximum-margin clustering. Files here are methods: `hmmc` (hierarchical), `mmc` (flat).

- `splitting`: one split of points into clusters with a margin, and the tree grown from splits.
"""
