"""Agglomerative clustering by linkage, for `hac`; start with `all_pairs`.

- `all_pairs`: distances or similarities between all pairs, merged; Ward's and other formulas are
  in `models.numerics.agglomeration`.
- `graph_linkage`: points joined to their nearest neighbours, merged along the edges of that graph.
- `loops`: the compiled merging of a graph.
"""
