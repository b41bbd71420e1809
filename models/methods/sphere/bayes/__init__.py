"""Bayesian mixtures: priors, posteriors and variational inference; start with `variational`.

- `priors`: the priors and their empirical Bayes; the posteriors of the weights.
- `concentrations`: the posteriors of the concentrations, and the density of new rows under a
  posterior.
- `variational`: coordinate ascent of the lower bound, also by batches.
- `merging`: the same with merges of clusters; the number of clusters that hold rows.
"""
