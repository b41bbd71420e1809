"""Variational inference with clusters that move with time, for `tvmf`; start with `temporal`.

- `periods`: time stamps and the periods that they fall into; rows in the order of their periods,
  and their predictive density.
- `temporal`: the posterior of all periods and of the weights, and how a run climbs.
- `step_concentration`: C0 estimated.
"""
