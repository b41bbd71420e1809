"""What methods share that learn from known clusters, from their inputs to their result.

Start at `method`.

- `inputs`: roles and parameters; the known rows as clusters, rows that are linked, and rows apart.
- `transformation`: rows on one scale, and what is learned, applied to them.
- `validation`: candidates compared on known clusters that they have not seen, and the choice.
- `method`: the base of the methods: prepare, learn, find the new clusters, give the result.
"""
