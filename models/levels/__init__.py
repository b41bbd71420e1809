"""The few cuts of a tree that stand out, and how strong they are against chance.

Start with `suggested_cuts`.

- `suggested_cuts`: where a criterion peaks over the number of clusters.
- `silhouette`, `silhouette_valleys`, `silhouette_chance`: the criterion by features.
- `height_gaps`: the criterion by merge heights.
"""
