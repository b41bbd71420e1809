"""Bayesian mixtures: priors, posteriors and variational inference; start with `variational`.

- `priors`: the priors and their empirical Bayes.
- `proportions`, `concentrations`: the posteriors of weights and of concentrations.
- `variational`: coordinate ascent of the lower bound, also by batches; `merging` with merges of
  clusters.
- `occupied`: the number of clusters, where inference determines it.
- `predictive`: the density of new rows under a posterior.
"""
