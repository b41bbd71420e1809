"""Classifiers into a hierarchy or a graph of classes, and the flat ones they are measured against.

Start at `mlr`, the simplest.

- `mlr`: multiclass logistic regression.
- `hblr`: Bayesian logistic regression with a prior down the hierarchy.

What they are made of:
- `classes`: the classes of the rows, the structure over them, and answers from scores.
- `bayes`: the inferences of `hblr`.
"""
