"""Leaves of a tree as points of the Poincaré ball. Start at `fit`.

- `effort`: the plain values derived from the parameters.
- `similarity`: similarities of points, from features or a matrix.
- `ancestors`, `triples`, `objective`: the relaxed cost that steps lower.
- `training`, `tree_cost`: runs of steps, and the cost by which their trees are compared.
- `decoding`: from leaves to a tree.
- `placing`: new points in the tree.
- `fit`: the whole fit, which calls the rest in order.
"""
