"""Agglomerative clustering by linkage, for `hac` and `scc`; start with `all_pairs`.

- `all_pairs`: distances or similarities between all pairs, merged; Ward's and other formulas are
  in `models.numerics.agglomeration`.
- `automatic`: the linkage by default; `ties`: warnings where the order of the points decides.
- `graph_linkage`: points joined to their nearest neighbours, merged along the edges of that graph.
- `constraints`: what a user knows of the merges; `clades`: the clades of a known tree.
- `constrained_pairs`, `constrained_edges`: merging under constraints, among all pairs and along a
  graph; `grouped_tree`: the tree of merges of groups.
- `constrained_rounds`: what may merge in the rounds of `scc`.
- `loops`: the compiled merging.
"""
