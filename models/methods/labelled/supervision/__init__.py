"""What methods share that learn from known clusters, from their inputs to their result.

Start at `method`.

- `inputs`: roles and parameters.
- `known`: the known rows as clusters, rows that are linked, and rows apart.
- `preparation`: rows on one scale, wide ones cut to a few columns.
- `transformation`: what is learned, applied to rows; directions in which known rows differ at all.
- `method`: the base of the methods: prepare, learn, find the new clusters, give the result.
"""
