"""The classes of a classifier: read from labels and a hierarchy, and given as answers.

Start at `classifier`, the base of the family's methods; it says how sure scores and probabilities
are, where the weights have a posterior.

- `inputs`: inputs and parameters that all have.
- `problem`: what a classifier is trained on: rows, labels matched to the leaves of a hierarchy.
- `structure`: the tree or the graph over the classes, as the solvers use it; sums along paths.
- `coordinates`: columns of any offset and size, turned and scaled for the solvers.
- `dual_fit`: the end of a training that has a duality gap.
- `compressed`: weights of very many classes, with what matters of them.
- `answers`: from features to scores, and from these to labels, probabilities and paths.
- `validation`: what is chosen on held-out rows: the weight of the loss, probabilities, cut-offs.
- `cut_offs`: RCut and SCut: which labels a row gets where it may have several.
"""
