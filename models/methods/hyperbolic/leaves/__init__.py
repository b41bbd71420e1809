"""Leaves of a tree as points of the Poincaré ball. Start at `fit`.

- `parameters`: the parameters, and the values that follow from them.
- `similarity`: similarities of points, the cost by which trees over them are compared, and new
  points in a tree.
- `decoding`: from leaves to a tree, by their lowest common ancestors.
- `fit`: the whole fit: runs of steps on triples, the relaxed cost that these lower, the result.
"""
