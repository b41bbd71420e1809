"""Agglomerative clustering by linkage, for `hac` and `scc`; start with `all_pairs`.

- `all_pairs`: distances or similarities between all pairs, merged; warnings where the order of the
  points decides. Ward's and other formulas are in `models.numerics.agglomeration`.
- `default_linkage`: what `hac` takes where none is chosen.
- `graph_linkage`: points joined to their nearest neighbours, merged along the edges of that graph;
  `graph_rounds`: in rounds, each merge within (1 + epsilon) of the best.
- `constraints`: what a user knows of the merges, and the tree of merges of groups; `clades`: the
  clades of a known tree.
- `constrained_merges`: merging under constraints, among all pairs and along a graph;
  `constrained_rounds`: what may merge in the rounds of `scc`.
- `loops`: the compiled merging.
"""
