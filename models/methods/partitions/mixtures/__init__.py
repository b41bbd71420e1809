"""Mixture models and their fits.

- `gaussian`: Gaussians, by scikit-learn's EM.
- `multinomial`: multinomials, by EM to a mode of the posterior.
- `topics`: latent Dirichlet allocation, by scikit-learn.
"""
