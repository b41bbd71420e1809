"""The methods and their building blocks; nothing here knows of HTTP, Celery, Redis or files.

Start with `method`, the contract of every method, and `methods/partitions/kmeans.py`, a whole one.

- `method`: the contract of a method; `registry` finds all in `methods`, by family.
- `data`, `rows`, `images`, `label_sets`: inputs by role, matrices read by rows, images as rows,
  labels where a row may have several; `label_nodes`, `known_clusters`: what labels mean.
- `parameters`: fields that several methods share; `checks`, `errors`, `memory`: what is refused.
- `arrays`, `progress`, `crew`: array types, progress, who computes the pieces of a fit.
- `device`, `packages`, `compiled`, `loops`: torch's device, optional packages, what numba compiles.
- `tree`: the one result of all methods; `naming`, `node_names`; `item_table`, `items`: its points.
- `cluster_paths`, `stretches`, `node_pictures`, `confusions`, `class_merges`, `class_scores`: what
  models tell. `calibration`, `drift`, `maps`, `heatmaps`: sure answers, what moved, points shown.
- `metrics`, `consensus`, `editions`: evaluations of a tree, one of several, a person's changes.
- `preprocess`, `documents`: features prepared before a fit; words of documents.
- `clusters`, `graphs`, `numerics`: what methods of several families share.
"""
