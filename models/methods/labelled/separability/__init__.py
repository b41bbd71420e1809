"""Known clusters far apart for their spread: the metric nearest to the identity that does it.

- `nearest`: a linear constraint on the metric for each two clusters, and the nearest metric that
  keeps all of them, by a dual or by a cone solver.
"""
