"""Posteriors of logistic models whose weights have priors down a tree.

Start at `partial_map`, the quicker of the two inferences.

- `partial_map`: the mode of the weights, the posterior of the precisions.
- `variational`: normal posteriors of the weights as well, and a lower bound of the evidence.
- `alternation`: sweeps until an inference settles, with checkpoints.
- `precisions`: of the priors: their own priors from data, and their posteriors.
- `newton`: the most probable weights for given precisions.
- `elimination`: inner nodes eliminated from the penalty of a tree of weights.
- `likelihood`: softmax or logistic, to second order.
- `quadratic_bound`: bounds of the likelihood for normal scores.
- `design`: products with dense or sparse rows.
"""
