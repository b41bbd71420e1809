"""Cluster trees in the embedding of an autoencoder; start with `fit`.

- `fit`: from rows to the tree, its model, pictures and warnings; `parameters`.
- `training`: pretraining, then the joint training of network and tree, epoch by epoch.
- `cluster_tree`: the centres and weights of a tree that grows and is pruned; its nodes, and its
  losses.
- `placing`: rows at their leaves, with probabilities; images of nodes.
"""
