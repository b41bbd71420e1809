"""The compiled half of a split; start with `objective`.

- `objective`: the squared hinge of points against weights, and its gradient.
- `descent`: the proximal Newton steps on the weights.
- `screening`: the features or directions along which points split best.
"""
