"""Hierarchies learned together with a representation: deep networks for vectors and images.

- `deepect`: a tree of cluster centres grown in the embedding of an autoencoder; `trees` has what it
  is made of.
- `networks`: what these methods are made of.
"""
