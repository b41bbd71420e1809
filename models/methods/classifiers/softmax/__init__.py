"""Multiclass logistic regression and the ways to minimise its objective.

Start at `objective`, which all of them share.

- `objective`: the objective, its gradient, what a minimisation gives; L-BFGS on all weights.
- `bounds`: upper bounds of the log partition function that fall apart into classes, and the weights
  of a block of classes that minimise one.
- `sweeps`: block descent on a bound: the weights of all classes, then the shifts of the rows,
  from an accelerated start.
- `admm`: the alternating direction method of multipliers.
"""
