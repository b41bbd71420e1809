"""Directions from the means and spreads of known clusters.

- `fisher`: generalized eigenvectors.
"""
