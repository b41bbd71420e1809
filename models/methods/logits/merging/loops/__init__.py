"""The compiled loops of `l2h`; start with `rows`.

- `rows`: passes over rows: the list of each row, and exact sums for rows read again.
  They take 64 numbers at a time, by `models.simd`.
- `bounds`: of the errors of weights.
- `few`: the list of each row where classes are few, several rows side by side.
- `pairs`: which classes the rows of each class give probability to.
- `merges`: the decision of each merge, and groups joined.
"""
