"""A tree of Gaussian embeddings with an encoder, routers and decoders, trained by its bound.

Start with `growth`, the phases in which a tree is trained and grown.

- `layers`: weights by name, and the layers that they make.
- `topology`: the shape of a tree that grows.
- `network`: encoder, routers, transformations and decoders of all nodes.
- `densities`: closed forms for Gaussians, decisions, and data.
- `bound`: the evidence lower bound over all paths.
- `phases`: the training of all networks, or of those that a split adds.
- `growth`: a tree grown leaf by leaf, with checkpoints; `parameters`.
- `scaling`: rows as the networks take them.
- `placing`: the networks as arrays, and rows placed by them.
- `drawing`: images of nodes.
"""
