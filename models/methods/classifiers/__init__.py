"""Classifiers into a hierarchy or a graph of classes, and the flat ones they are measured against.

Start at `mlr`, the simplest.

Over a hierarchy or a graph:
- `rr_svm`, `rr_lr`: recursive regularization, with the hinge and the logistic loss.
- `hblr`: Bayesian logistic regression with a prior down the hierarchy.

Flat:
- `bsvm`, `blr`: each class against the rest, by a linear SVM and by logistic regression.
- `mlr`: multiclass logistic regression.
- `rmlr`: the same for very many classes, by bounds that fall apart into classes.

What they are made of:
- `classes`: the classes of the rows, the structure over them, and answers from scores.
- `recursive`, `bayes`, `softmax`: the trainings of the three lines above.
"""
