"""The classes of a classifier: read from labels and a hierarchy, and given as answers.

Start at `classifier`, the base of the family's methods; it says how sure scores and probabilities
are, where the weights have a posterior.

- `inputs`: inputs and parameters that all have.
- `arrangement`: labels matched to the leaves of a hierarchy.
- `class_tree`, `class_graph`: the structure over the classes, as the solvers use it; sums along
  the paths of a tree.
- `problem`: the rows, their classes and that structure: what a classifier is trained on.
- `coordinates`: columns of any offset and size, turned and scaled for the solvers.
- `dual_fit`: the end of a training that has a duality gap.
- `compressed`: weights of very many classes, with what matters of them.
- `scorer`: from features to scores, of classes or down the tree.
- `answers`: from scores to labels, probabilities and paths.
- `validation`: what is chosen on held-out rows: the weight of the loss, probabilities, cut-offs.
"""
