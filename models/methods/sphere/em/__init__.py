"""Expectation maximization, for `vmf`; start with `em`.

- `em`: runs of EM, soft or hard, and the number of clusters by a criterion; the same by
  batches of rows.
"""
