"""Recursive regularization: a class's weights are drawn to its parent's or neighbours' weights.

Start at `penalty`.

- `inputs`: inputs and parameters of the methods.
- `penalty`: the quadratic penalty over a tree or a graph, and solutions of its linear systems.
- `logistic`: the logistic loss with it, by Newton's method.
- `hinge`: the hinge loss with it, by dual coordinate descent; `loops` is its compiled part.
- `interior`: SVMs on columns that are far from 0 or large, by an interior point.
- `classifier`: the base of the two methods.
- `blocks`: both by blocks of classes, for problems too large for one process.
"""
