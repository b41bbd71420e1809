"""Compiled loops of the metrics; numba types them. Start with `trees`.

Only what computes metrics imports them.

- `trees`: over leaves and classes, sums over subtrees, pairs of cells of two trees, triples.
- `nodes`: up the heavy paths of a tree, for the report on nodes.
"""
