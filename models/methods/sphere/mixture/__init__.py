"""What all mixtures on the sphere share, for every kind of inference; start with `passes`.

- `rows`: unit rows, dense or sparse, in memory or not. `passes`: their posteriors, as sums; `loops`
  compiled, `pass_gpu` on a GPU, `pass_crew` by several workers.
- `mixture`: a mixture and its maximum-likelihood update.
- `climb`: how a run climbs its objective, and its checkpoint. `runs`: the best of several runs.
- `stochastic`: rows in random batches, and how a run climbs by these.
- `method`: the base of the methods. `parameters`: those that they share.
- `result`: the tree, model, metrics and warnings of a fit, and the names of clusters by distinctive
  features; `in_sample` judges rows by their likelihood.
"""
