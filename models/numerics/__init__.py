"""Numerical functions that know nothing of methods or trees; start with `distances`.

- `distances`: condensed distances, metrics, rows with empty values; `gower`: distances of rows of
  columns of several kinds.
- `rows`: log softmax, rows in an order of their values, cosines of class means under the covariance
  within classes.
- `agglomeration`: exact agglomerative clustering of distances and of points; `merges`: the groups
  that merges make, and how trees agree on them.
- `descent`, `transport`: the optimizer, penalties and their proximal steps; balanced assignment.
- `poincare`: the geometry of the Poincaré ball.
- `sphere`, `bessel_torch`: unit vectors, von Mises-Fisher draws, Bessel functions.
- `loops`: compiled parts.
"""
