"""The methods and their building blocks; nothing here knows of HTTP, Celery, Redis or files.

Start with `method`, the contract of every method, and `methods/partitions/kmeans.py`, a whole one.

- `method`: the contract of a method; `registry` finds all in `methods`, by family, and `plugins` of
  other distributions.
- `roles`, `inputs`: what a role takes, values by role; `parameters`: fields that several methods
  share; `arrays`, `errors`.
- `running`: progress, pieces, memory, device; `compiled`: all that numba compiles.
- `tree`: the one result of all methods; `levels`: cuts that stand out; `node_names`, `items`.
- `answers`: what models tell beside their tree; `calibration`, `drift`, `maps`, `heatmaps`.
- `metrics`, `consensus`, `editions`: evaluations of a tree, one of several, a person's changes;
  `placements`: classes out of place.
- `preprocess`: features prepared before a fit; words of documents.
- `clusterings`: flat clusterings of the same rows at several levels, as a graph and a tree.
- `clusters`, `graphs`, `numerics`, `simd`: what methods of several families share.
"""
