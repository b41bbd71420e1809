"""Heatmaps: a matrix whose rows are clusters or leaves of a tree, in the order of the tree.

Start with `drawing`, which makes one as `options` say.

- `options`: which heatmap, and its terms.
- `drawing`: the nodes that are rows and the points under each; sums, means and medians of features
  by group; the columns that tell the groups apart, and their order.
- `measured`: distances between clusters as means over the pairs of their points.
- `joins`: the trees on the sides.
- `tiles`: a part of a heatmap at a level of detail.
"""
