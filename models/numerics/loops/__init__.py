"""Compiled loops of `models.numerics`; numba types them.

- `transport`: exchanges along a balanced assignment.
"""
