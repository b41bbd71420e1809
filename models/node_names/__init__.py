"""Names for the nodes of any tree, from what its rows have in common.

Start with `evidence`: what there is to say of nodes, by labels, terms, central items or features.

- `by_input`: nodes named in the same job, by an input.
- `options`: the request.
- `evidence`: what is found for each node, and the name that it makes.
"""
