"""Posteriors of logistic models whose weights have priors down a tree.

Start at `inferences`.

- `inferences`: partial MAP, the quicker, with the mode of the weights; variational inference, with
  normal posteriors of the weights and a lower bound of the evidence; sweeps with checkpoints.
- `precisions`: of the priors: their own priors from data, and their posteriors.
- `newton`: the most probable weights for given precisions, inner nodes eliminated.
- `likelihood`: softmax or logistic, to second order; its bounds for normal scores.
"""
