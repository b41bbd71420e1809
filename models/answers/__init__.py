"""What a fitted model answers beside its tree, by the hooks of `models.method.Method`.

- `confusions`: classes taken for others, and merged.
- `beside_tree`: clusters over time, stretched features, images of nodes, scores of classes.
- `learned_steps`: the trees that a fit by steps had on its way.
"""
