"""Likelihoods of known clusters that are not convex in the transformation, and their local minima.

A likelihood gives minus the log probability of the known rows' clusters, whose parameters are the
likeliest ones under the transformation itself, with its whole gradient.

Start at `vmf`, then `minimum`.

- `vmf`: of directions. `gamma`: of positive rows. `low_rank`: of Gaussians, in few columns.
- `minimum`: the local minimum near a start, by L-BFGS, with the penalties that hold a
  transformation.
"""
