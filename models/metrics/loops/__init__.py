"""Compiled loops of the metrics; numba types them. Start with `trees`.

Only what computes metrics imports them.

- `trees`: over leaves and classes, and sums over subtrees.
- `pairs`: over pairs of cells of two trees.
- `triples`: over triples of points.
- `nodes`: up the heavy paths of a tree, for the report on nodes.
"""
