"""The methods and their building blocks; nothing here knows of HTTP, Celery, Redis or files.

Start with `method`, the contract of every method, and `methods/partitions/kmeans.py`, a whole one.

- `method`: the contract of a method; `registry` finds all methods; `methods` holds them by family.
- `parameters`: the base of all parameters, and fields that several methods share.
- `data`, `rows`, `images`, `label_sets`: inputs by role, matrices read by rows, images as rows,
  labels where a row may have several; `label_nodes`, `known_clusters`: what labels mean.
- `checks`, `errors`, `memory`: checks of points, errors, and jobs refused for lack of memory.
- `arrays`, `progress`, `device`, `compiled`: array types, progress, torch's device, numba's cache.
- `tree`: the one result of all methods, and all that is done with it; `naming`, `node_names`.
- `cluster_paths`, `stretches`, `node_pictures`, `confusions`, `class_merges`, `class_scores`: what
  models tell. `calibration`: answers as deep as they are sure. `drift`: what moved in a tree.
- `metrics`, `consensus`: the metrics that evaluate a tree; one tree from several.
- `preprocess`, `documents`: features prepared before a fit, and words of documents.
- `clusters`, `graphs`, `numerics`: what methods of several families share.
"""
