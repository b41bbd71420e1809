"""Graphs over points; start with `neighbours`.

- `neighbours`: the nearest neighbours of each point, exact or from cells, and their graph, joined
  to one piece.
- `cells`: the neighbours among many points, and among rows too many to be held.
- `lengths`: distances between pairs of rows.
- `nearest_points`: the points of a fit that are nearest to new rows.
- `measured`: points that are compared by pairs: items, and features with empty values.
- `spanning`: the minimum spanning tree of all points; `loops`: what of it is compiled.
- `reachability`: the same along the graph of neighbours, of many points.
- `spectra`: leading eigenvectors of an affinity graph.
"""
