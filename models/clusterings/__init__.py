"""Several flat clusterings of the same rows, from few clusters to many: the graph between them.

Start with `graph`.

- `levels`: the clusterings, as they come from a table of labels or from cuts of trees.
- `graph`: the clusters of all levels, how rows flow from level to level, how stable each is; the
  graph as a tree, each cluster under the one that most of its rows come from.
"""
