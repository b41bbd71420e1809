"""Numerical functions that know nothing of methods or trees; start with `distances`.

- `distances`: condensed distances, metrics; `gower`: distances of rows of columns of several
  kinds; `shared_columns`: of rows with empty values; `row_order`: rows in an order of their values.
- `class_means`: cosines of class means under the covariance within classes.
- `agglomeration`: exact agglomerative clustering of distances and of points.
- `softmax`, `adam`, `proximal`, `transport`: log softmax, the optimizer, penalties and their
  proximal steps, balanced assignment.
- `poincare`: the geometry of the Poincaré ball.
- `sphere`, `bessel`, `bessel_torch`: unit vectors, von Mises-Fisher draws, Bessel functions.
- `loops`: compiled parts.
"""
