"""Trees grown from the root: leaves are split on trial and the best of them for good.

- `frontier`: the leaves and their trial splits; start here.
- `means`: a split by k-means.
- `spectral`: a split by spectral clustering.
"""
