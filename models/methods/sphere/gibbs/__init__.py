"""Collapsed Gibbs sampling, for `bvmf`; start with `gibbs`.

- `gibbs`: the state of a chain, the posterior that it gives, and sweeps with a given number of
  clusters; `loops` compiled.
- `dirichlet_process`: chains that infer the number of clusters, by the moves of `split_merge`.
"""
