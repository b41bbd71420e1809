"""The methods and what they are made of; nothing here knows of HTTP, Celery, Redis or files.

Start with `method`, what every method is, and `methods/partitions/kmeans.py`, a complete one.

- `method`: the contract of a method; `registry` finds all methods; `methods` holds them by family.
- `parameters`: the base of all parameters, and fields that several methods share.
- `data`, `rows`: the inputs of a job by role, and matrices that are read by rows.
- `checks`, `errors`, `memory`: what is refused of points, of requests, and for lack of memory.
- `arrays`, `progress`, `device`, `compiled`: array types, progress, torch's device, numba's cache.
- `tree`: the one result of all methods, and everything that is done with it; `naming` names nodes;
  `cluster_paths`: how the clusters of a model over time move.
- `metrics`: what a tree is evaluated by.
- `preprocess`, `documents`: features prepared before a fit, and words of documents.
- `clusters`, `graphs`, `numerics`: what methods of several families share.
"""
