"""Collapsed Gibbs sampling, for `bvmf`; start with `gibbs`.

- `chain`: the state of a chain, and the posterior that it gives.
- `gibbs`: sweeps with a given number of clusters; `loops` compiled.
- `dirichlet_process`: chains that infer the number of clusters, by the moves of `split_merge`,
  which `move_scores` scores.
"""
