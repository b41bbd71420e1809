"""Multiclass logistic regression and the ways to minimise its objective.

Start at `objective`, which all of them share.

- `objective`: the objective, its gradient, and what a minimisation gives.
- `bounds`: upper bounds of the log partition function that fall apart into classes.
- `class_step`: the weights of a block of classes that minimise a bound.
- `sweeps`: block descent on a bound: the weights of all classes, then the shifts of the rows,
  from an accelerated start.
- `gradient_steps`: L-BFGS on all weights at once.
- `admm`: the alternating direction method of multipliers.
"""
