"""Classifiers into a hierarchy or a graph of classes, and the flat ones they are measured against.

Start at `mlr`, the simplest.

- `rr_svm`, `rr_lr`: recursive regularization over a hierarchy or a graph.
- `hblr`, `corrmnl`: Bayesian logistic regression with a prior down the hierarchy.
- `td_svm`, `hsvm`, `ot`: SVMs at the nodes, from the root down, by paths, and orthogonal.
- Flat: `bsvm`, `blr` (one against the rest), `msvm`, `mlr`, `rmlr` (for very many classes).

What they are made of:
- `classes`: the classes of the rows, the structure over them, and answers from scores.
- `recursive`, `bayes`, `structured`, `softmax`: the trainings of the four lines above.
- `sampling`: the chains of `corrmnl`.
"""
