"""Trees grown from the root: leaves are split on trial and the best of them for good.

- `frontier`: the leaves and their trial splits; start here.
- `means`: a split by k-means; `loops` has its loops, compiled.
- `spectral`: a split by spectral clustering.
"""
