"""The operations written for LLVM, as numba's intrinsics.

- `rows`, `columns`, `tiles` and `numbers`: the operations, with their contracts.
- `building`: what these are built of; start here.
"""
