"""What the mixtures on the sphere share, for every kind of inference; start with `passes`.

- `rows`: unit rows, dense or sparse, in memory or not. `passes`: their posteriors, as sums; `loops`
  compiled, `pass_gpu` on a GPU, `pass_crew` by several workers.
- `mixture`: a mixture and its maximum-likelihood update. `em`: EM, for `vmf`, and the number of
  clusters by a criterion.
- `runs`: how a run climbs its objective, its checkpoint, the best of several.
- `stochastic`: rows in random batches, and how a run climbs by these.
- `method`: the base of the methods, with the parameters that they share.
- `result`: the tree, model, metrics and warnings of a fit, the names of clusters by distinctive
  features, and rows judged by their likelihood.
"""
