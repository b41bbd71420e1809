"""A tree of Gaussian embeddings with an encoder, routers and decoders, trained by its bound.

Start with `growth`, the phases in which a tree is trained and grown.

- `layers`: weights by name, the layers that they make, and closed forms for Gaussians, decisions,
  and data.
- `network`: the shape of a tree that grows; encoder, routers, transformations and decoders.
- `bound`: the evidence lower bound over all paths, node by node; `batched`: all nodes at once, as
  they are trained.
- `phases`: the training of all networks, or of those that a split adds.
- `growth`: a tree grown leaf by leaf, with checkpoints; `parameters`.
- `placing`: rows as the networks take them, the networks as arrays, rows placed by them, and images
  of nodes.
"""
