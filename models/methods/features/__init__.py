"""Hierarchies from features, distances or similarities. Files here are methods.

Start with `hac`.

Bottom-up: `hac` (all linkages), `point_tree` (what walks and linkages agree on), `scc` (components
of nearest neighbours), `hdbscan` (density), `birch` and `perch` (point by point), `layers` (few
nested clusterings). Top-down: `bisecting_kmeans`, `hkm`, `hsc`. What they are made of:

- `walks`: walks among neighbours, and the consensus of trees, for `point-tree`.
- `linkage`: agglomeration of matrices and of graphs, for `hac`.
- `growing`: which leaf is split next, and how, for `hkm`, `hsc` and `bisecting_kmeans`.
- `density`: the condensed tree of `hdbscan`, and new rows in it.
- `summaries`: rows summed up in subclusters, which add up, for `birch`.
- `boxes`: the tree of bounding boxes that `perch` grows.
"""
