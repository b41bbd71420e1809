"""Models: the fitted arrays as a file, and their use on new rows.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `features`: the features that tell a node's children apart.
- `paths`: clusters over time.
- `stretches`: how features are stretched.
- `transformations`: rows transformed, as a new dataset.
"""
