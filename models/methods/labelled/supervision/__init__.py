"""What methods share that learn from known clusters, from their inputs to their result.

Start at `method`.

- `inputs`: roles and parameters; the known rows as clusters, rows that are linked, and rows apart.
- `transformation`: rows on one scale, and what is learned, applied to them.
- `validation`: candidates compared on known clusters that they have not seen, and the choice.
- `agreement`: candidates compared by the new clusters that they find.
- `tcs_options`: the parameters of `tcs`, and which go together.
- `method`: the base of the methods: prepare, learn, find the new clusters, give the result.
"""
