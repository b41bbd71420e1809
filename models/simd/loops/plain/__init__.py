"""The operations as loops over single numbers, compiled by numba.

- `rows`, `columns`, `tiles` and `numbers`: each does what the operation of its name in `vectors`
  does, which has the contract, and adds up in the same order.
"""
