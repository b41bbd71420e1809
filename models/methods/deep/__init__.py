"""Hierarchies learned together with a representation: deep networks for vectors and images.

- `treevae`: a tree of latent variables, grown while it is trained.
- `variational`: what `treevae` is made of.
"""
