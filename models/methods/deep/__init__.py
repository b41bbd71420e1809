"""Hierarchies learned together with a representation, for vectors and images; start with `deepect`.

- `deepect`: a tree of cluster centres grown in the embedding of an autoencoder; `trees` and
  `networks` have what it is made of.
- `treevae`: a tree of latent variables, grown while it is trained; `variational` has what it is
  made of.
"""
