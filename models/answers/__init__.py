"""What a fitted model answers beside its tree, by the hooks of `models.method.Method`.

Start with `confusions`.

- `confusions`, `class_merges`, `class_scores`: classes taken for others, merged, scored.
- `cluster_paths`: clusters over time. `stretches`: how features are stretched.
- `node_pictures`: the images that a model makes of nodes.
"""
