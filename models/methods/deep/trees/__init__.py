"""Cluster trees in the embedding of an autoencoder; start with `fit`.

- `fit`: from rows to the tree, its model, pictures and warnings; `parameters`.
- `training`: pretraining, then the joint training of network and tree, epoch by epoch.
- `cluster_tree`: a tree that grows and is pruned, and its nodes; `leaf_steps`: how its centres and
  weights learn from batches.
- `placing`: rows at their leaves, with probabilities; images of nodes.
"""
