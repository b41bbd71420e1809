"""Hierarchies learned together with a representation: deep networks for vectors and images.

- `deepect`: a tree of cluster centres grown in the embedding of an autoencoder; `trees` and
  `networks` have what it is made of.
- `treevae`: a tree of latent variables, grown while it is trained; `variational` has what it is
  made of.
"""
