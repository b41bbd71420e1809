"""The compiled loops of `models.methods.features.linkage`.

- `edges`: merging along the edges of a graph.
- `rounds`: merging along them in rounds, nearly in the order of the closest.
- `pairs`: merging where all pairs are compared and not all may merge.
- `nodes`: what a merge does to the open nodes of a known tree.
"""
