"""Classifiers into a hierarchy or a graph of classes, and the flat ones they are measured against.

Start at `mlr`, the simplest.

- `rr_svm`, `rr_lr`: recursive regularization, with the hinge and the logistic loss.
- `hblr`, `corrmnl`: Bayesian logistic regression with a prior down the hierarchy.
- `td_svm`, `hsvm`, `ot`: SVMs at the nodes; from the root down, by paths, and orthogonal.
- `mlr`, `rmlr`: flat multiclass logistic regression, `rmlr` for very many classes.
- `bsvm`, `blr`, `msvm`: flat, each class against the rest by two losses, and the multiclass SVM.

What they are made of:
- `classes`: the classes of the rows, the structure over them, and answers from scores.
- `recursive`: the penalty over a tree or a graph, and the two losses with it.
- `bayes`: the inferences of `hblr`.
- `softmax`: the objective of multiclass logistic regression and its minimisation.
- `structured`, `sampling`: SVMs whose constraints run along the tree; the chains of `corrmnl`.
"""
