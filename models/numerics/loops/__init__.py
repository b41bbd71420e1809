"""Compiled loops of `models.numerics`; numba types them. Start with `agglomeration`.

- `agglomeration`: clusters merged by their least distances, and merges in SciPy's numbering.
- `tiles`: distances of a row to 32 points at a time, in vectors.
- `transport`: exchanges along a balanced assignment.
"""
