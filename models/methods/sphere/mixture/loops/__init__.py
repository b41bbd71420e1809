"""The compiled loops of the mixtures on the sphere; start with `sweeps`.

- `constants`: log C_D(kappa), the normalizing constant of a von Mises-Fisher distribution.
- `sweeps`: posteriors and sums of a block of rows, dense or sparse, and predictive densities.
"""
