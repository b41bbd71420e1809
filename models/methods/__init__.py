"""The methods, a folder for each family; start with `partitions`.

Every file directly in a family's folder is one method, which `models.registry` finds; the folders
below a family hold what its methods are made of.

- `logits`: hierarchies over the classes of soft assignments.
- `features`: hierarchies over points.
- `clusterings`: trees made of flat clusterings that any tool has found.
- `partitions`: flat clusters, as trees of depth one.
- `margins`: maximum-margin clusters and hierarchies.
- `hyperbolic`: hierarchies by embeddings in the Poincaré ball.
- `sphere`: mixtures of von Mises-Fisher distributions.
- `tasks`: predictors of several tasks that learn how the tasks relate.
- `classifiers`: classifiers into a hierarchy or a graph of classes.
- `deep`: hierarchies learned together with a representation, by deep networks.
- `labelled`: new clusters like those that a user knows.
"""
