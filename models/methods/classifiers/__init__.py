"""Classifiers into a hierarchy or a graph of classes, and the flat ones they are measured against.

Start at `mlr`, the simplest.

- `mlr`: multiclass logistic regression.
- `rmlr`: the same for very many classes, by bounds that fall apart into classes.

What they are made of:
- `classes`: the classes of the rows, the structure over them, and answers from scores.
- `softmax`: the objective of multiclass logistic regression and its minimisation.
"""
