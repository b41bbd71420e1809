"""Mixtures of von Mises-Fisher distributions: clusters of rows of length 1; start with `vmf`.

Methods:

- `vmf`: the mixture by EM. `bvmf`: the Bayesian mixture, which can infer the number of clusters.
- `hvmf`: clusters at the leaves of a hierarchy. `tvmf`: clusters that move with time.

What they are made of, each room importing only from those above it:

- `mixture`: rows, passes over them, EM, how a run climbs, restarts, batches, results.
- `bayes`: priors, posteriors and variational inference.
- `gibbs`: Gibbs sampling, for `bvmf`. `nested`: for `hvmf`. `time`: for `tvmf`.
"""
