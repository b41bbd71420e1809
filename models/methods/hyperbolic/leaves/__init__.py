"""Leaves of a tree as points of the Poincaré ball. Start at `fit`.

- `parameters`: the parameters, and the values that follow from them.
- `similarity`: similarities of points, from features or a matrix.
- `training`, `ancestors`: runs of steps on triples, and the relaxed cost that these lower.
- `tree_cost`: the cost by which their trees are compared.
- `decoding`: from leaves to a tree.
- `placing`: new points in the tree.
- `fit`: the whole fit, which calls the rest in order.
"""
