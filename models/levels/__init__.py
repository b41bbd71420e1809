"""The few cuts of a tree that stand out, and how strong they are against chance.

Start with `suggested_cuts`.

- `suggested_cuts`: where a criterion peaks over the number of clusters, and the criterion by
  merge heights.
- `divided`: whether a partition is more than parts of rows without structure.
- `layers`: nested layers by the sizes over which clusters persist, with noise.
- `silhouette`: the criterion by features, against chance and by the valleys between clusters.
"""
