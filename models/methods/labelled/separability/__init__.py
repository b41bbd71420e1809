"""Known clusters far apart for their spread: the metric nearest to the identity that does it.

Start at `pairs`.

- `pairs`: a linear constraint on the metric for each two clusters.
- `nearest`: the nearest metric that keeps all of them, by a dual or by a cone solver.
"""
