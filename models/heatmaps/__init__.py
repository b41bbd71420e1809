"""Heatmaps: a matrix whose rows are clusters or leaves of a tree, in the order of the tree.

- `heatmap`: which heatmap, and its terms; a part of one at a level of detail; the trees on the
  sides. Start here.
- `drawing`: makes one: the nodes that are rows and the points under each; sums, means and medians
  of features by group; the columns that tell the groups apart, and their order.
- `gaps`: statistics of features with empty values.
- `measured`: distances between clusters as means over the pairs of their points.
"""
